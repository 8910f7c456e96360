#include "switch/softswitch/listening.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "net/resolve.hpp"

// From linux/udp.h, which does not go together with the C library's headers.
#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#define UDP_NO_CHECK6_RX 102
#endif

namespace ina::softswitch {

namespace {

constexpr int kBacklog = 128;
constexpr int kDataBufferBytes = 16 << 20;  // asked for; without privilege the kernel gives what net.core.rmem_max and wmem_max allow
constexpr int kPortTries = 64;
constexpr char kUnixPrefix[] = "unix:";

[[noreturn]] void fail(const std::string& what, int error) { throw SetupError(what + ": " + std::strerror(error)); }

bool is_wildcard(const wire::UdpAddress& address) {
  return std::all_of(address.ip.begin(), address.ip.end(), [](std::uint8_t byte) { return byte == 0; });
}

wire::UdpAddress resolve_any(const std::string& text) {
  const net::Resolution resolution = net::resolve(text);
  if (resolution.addresses.empty()) throw SetupError(resolution.error);
  return resolution.addresses.front();
}

wire::UdpAddress resolve(const std::string& text) {
  const wire::UdpAddress address = resolve_any(text);
  if (is_wildcard(address)) {
    throw SetupError(text + " stands for every address, but packets are sealed with the address that they are sent from: name one address of this host");
  }
  return address;
}

wire::UdpAddress local_address(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("cannot read a socket's address", errno);
  return *wire::UdpAddress::from_sockaddr(address);
}

// 0, or the error of bind.
int bind_to(int fd, const wire::UdpAddress& address) {
  sockaddr_storage to{};
  const socklen_t size = address.to_sockaddr(to);
  return ::bind(fd, reinterpret_cast<const sockaddr*>(&to), size) == 0 ? 0 : errno;
}

void set(int fd, int level, int option, int value) {
  if (::setsockopt(fd, level, option, &value, sizeof value) != 0) fail("cannot set an option of the data socket", errno);
}

// A UDP socket whose packets have what the ICRC takes for granted: identification 0 and DF (PROTOCOL.md 1); it stays unconnected, since
// the kernel counts the identification of a connected one.
net::Descriptor data_socket(const wire::UdpAddress& address) {
  net::Descriptor fd(::socket(address.is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) fail("cannot open a UDP socket", errno);
  if (address.is_ipv6) {
    set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
    set(fd.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
    set(fd.get(), IPPROTO_UDP, UDP_NO_CHECK6_TX, 1);
    set(fd.get(), IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);  // else the kernel drops what has checksum 0, as all packets of hosts have
  } else {
    set(fd.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
    set(fd.get(), SOL_SOCKET, SO_NO_CHECK, 1);
  }
  for (const auto& [forced, asked] : {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, std::pair{SO_SNDBUFFORCE, SO_SNDBUF}}) {
    if (::setsockopt(fd.get(), SOL_SOCKET, forced, &kDataBufferBytes, sizeof kDataBufferBytes) != 0) {
      set(fd.get(), SOL_SOCKET, asked, kDataBufferBytes);
    }
  }
  return fd;
}

net::Descriptor stream_socket(int family) {
  net::Descriptor fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) fail("cannot open a stream socket", errno);
  return fd;
}

void listen_on(const net::Descriptor& fd, const std::string& text) {
  if (::listen(fd.get(), kBacklog) != 0) fail("cannot listen on " + text, errno);
}

// 0, or the error of bind.
int open_manager(Listening& listening, const wire::UdpAddress& address) {
  listening.manager = stream_socket(address.is_ipv6 ? AF_INET6 : AF_INET);
  const int one = 1;
  (void)::setsockopt(listening.manager.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (address.is_ipv6) (void)::setsockopt(listening.manager.get(), IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
  return bind_to(listening.manager.get(), address);
}

Listening open_address(const wire::UdpAddress& asked) {
  for (int tries = 0;; ++tries) {
    Listening listening;
    listening.data = data_socket(asked);
    if (const int error = bind_to(listening.data.get(), asked); error != 0) fail("cannot bind udp " + asked.text(), error);
    listening.data_address = local_address(listening.data.get());
    listening.manager_text = listening.data_address.text();
    const int error = open_manager(listening, listening.data_address);
    if (error == EADDRINUSE && asked.port == 0 && tries < kPortTries) continue;
    if (error != 0) fail("cannot bind tcp " + listening.manager_text, error);
    listen_on(listening.manager, "tcp " + listening.manager_text);
    return listening;
  }
}

// A socket file that nobody listens on is left of a process that has died.
void remove_if_stale(const sockaddr_un& address) {
  struct stat status{};
  if (::lstat(address.sun_path, &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) throw SetupError(std::string(address.sun_path) + " exists and is no socket: choose another path");
  const net::Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe) fail("cannot open a stream socket", errno);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    throw SetupError(std::string(address.sun_path) + " is served by another process: choose another path, or end that one");
  }
  if (errno != ECONNREFUSED) fail("cannot tell whether " + std::string(address.sun_path) + " is in use", errno);
  if (::unlink(address.sun_path) != 0) fail("cannot replace the stale socket " + std::string(address.sun_path), errno);
}

void open_manager(Listening& listening, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw SetupError("the path of a UNIX socket has 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes, '" + path + "' has " +
                     std::to_string(path.size()));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  remove_if_stale(address);
  listening.manager = stream_socket(AF_UNIX);
  if (::bind(listening.manager.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail("cannot bind " + (kUnixPrefix + path), errno);
  }
  listening.unix_path = path;
  listening.manager_text = kUnixPrefix + path;
  listen_on(listening.manager, listening.manager_text);
}

Listening open_path(const std::string& path, const std::string& data) {
  Listening listening;
  const wire::UdpAddress asked = resolve(data);
  listening.data = data_socket(asked);
  if (const int error = bind_to(listening.data.get(), asked); error != 0) fail("cannot bind udp " + asked.text(), error);
  listening.data_address = local_address(listening.data.get());
  open_manager(listening, path);
  return listening;
}

}  // namespace

Listening open_listening(const std::string& listen, const std::string& data) {
  if (listen.starts_with(kUnixPrefix)) return open_path(listen.substr(sizeof kUnixPrefix - 1), data);
  return open_address(resolve(listen));
}

Listening open_manager_listening(const std::string& listen) {
  Listening listening;
  if (listen.starts_with(kUnixPrefix)) {
    open_manager(listening, listen.substr(sizeof kUnixPrefix - 1));
    return listening;
  }
  const wire::UdpAddress asked = resolve_any(listen);
  if (const int error = open_manager(listening, asked); error != 0) fail("cannot bind tcp " + asked.text(), error);
  listening.manager_text = local_address(listening.manager.get()).text();
  listen_on(listening.manager, "tcp " + listening.manager_text);
  return listening;
}

}  // namespace ina::softswitch
