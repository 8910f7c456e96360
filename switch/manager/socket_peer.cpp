#include "switch/manager/socket_peer.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace ina::manager {
namespace {

constexpr int kKeepaliveIdleSeconds = 15;
constexpr int kKeepaliveIntervalSeconds = 5;
constexpr int kKeepaliveProbes = 3;

[[nodiscard]] std::string address_text(const sockaddr_storage& address, socklen_t size) {
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "";
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "unknown";
  if (address.ss_family == AF_INET6) return "[" + std::string(host) + "]:" + port;
  return std::string(host) + ":" + port;
}

void set_option(int socket, int level, int option, int value) {
  // A kernel without one of these options serves as well, only slower to notice: no reason to refuse the host.
  static_cast<void>(setsockopt(socket, level, option, &value, sizeof value));
}

}  // namespace

Client peer_of(int socket) {
  Client client{};
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    client.address = "unknown";
    return client;
  }
  if (address.ss_family != AF_UNIX) {
    client.address = address_text(address, size);
    return client;
  }
  client.address = "unix";
  ucred credentials{};
  socklen_t credentials_size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &credentials_size) == 0) {
    client.uid = credentials.uid;
    client.pid = credentials.pid;
  }
  return client;
}

void prepare_socket(int socket) {
  int family = AF_UNSPEC;
  socklen_t size = sizeof family;
  if (getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 || family == AF_UNIX) return;
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveIdleSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveIntervalSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
}

}  // namespace ina::manager
