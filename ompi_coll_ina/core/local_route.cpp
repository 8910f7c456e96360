#include "ompi_coll_ina/core/local_route.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "net/local_address.hpp"

namespace ina::core {
namespace {

class Socket {
 public:
  explicit Socket(int family) : fd_(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

// Connecting a UDP socket sends nothing, but makes the kernel choose route and source address.
std::optional<wire::UdpAddress> source_address(const wire::UdpAddress& destination) {
  const Socket socket(destination.is_ipv6 ? AF_INET6 : AF_INET);
  sockaddr_storage to{}, from{};
  const socklen_t to_bytes = destination.to_sockaddr(to);
  socklen_t from_bytes = sizeof from;
  if (socket.fd() < 0 || ::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&to), to_bytes) != 0) return std::nullopt;
  if (::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&from), &from_bytes) != 0) return std::nullopt;
  return wire::UdpAddress::from_sockaddr(from);
}

}  // namespace

std::optional<std::string> device_towards(const wire::UdpAddress& destination) {
  const auto source = source_address(destination);
  auto addresses = net::list_local_addresses();
  if (!source || !addresses) return std::nullopt;
  for (net::LocalAddress& each : *addresses) {
    if (each.address.is_ipv6 == source->is_ipv6 && each.address.ip == source->ip) return std::move(each.device);
  }
  return std::nullopt;
}

}  // namespace ina::core
