#include "ucx_tl/engine/resolve.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <string>

#include "ucx_tl/engine/error.hpp"
#include "net/descriptor.hpp"
#include "net/resolve.hpp"

namespace ina::engine {

wire::UdpAddress resolve(std::string_view host_port, bool want_ipv6) {
  const std::string text(host_port);
  const net::Resolution resolution = net::resolve(host_port);
  if (resolution.addresses.empty()) throw Error(Failure::kInvalid, resolution.error);
  const auto& found = resolution.addresses;
  const auto address = std::find_if(found.begin(), found.end(), [&](const wire::UdpAddress& each) { return each.is_ipv6 == want_ipv6; });
  if (address == found.end()) throw Error(Failure::kInvalid, text + ": has no " + (want_ipv6 ? "IPv6" : "IPv4") + " address, as the device's is");
  if (address->port == 0) throw Error(Failure::kInvalid, text + ": port 0 is nobody's");
  return *address;
}

bool is_of_this_host(wire::UdpAddress address) noexcept {
  address.port = 0;
  sockaddr_storage storage{};
  const socklen_t length = address.to_sockaddr(storage);
  const net::Descriptor probe(socket(address.is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return probe && bind(probe.get(), reinterpret_cast<const sockaddr*>(&storage), length) == 0;
}

}  // namespace ina::engine
