#include "ucx_tl/engine/resolve.hpp"

#include <algorithm>
#include <string>

#include "ucx_tl/engine/error.hpp"
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

}  // namespace ina::engine
