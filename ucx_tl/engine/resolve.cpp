#include "ucx_tl/engine/resolve.hpp"

#include <netdb.h>

#include <charconv>
#include <memory>
#include <string>

#include "ucx_tl/engine/error.hpp"

namespace ina::engine {

wire::UdpAddress resolve(std::string_view host_port, bool want_ipv6) {
  const std::string text(host_port);
  if (const auto numeric = wire::UdpAddress::parse(host_port)) {
    if (numeric->port == 0) throw Error(Failure::kInvalid, "'" + text + "' has port 0");
    if (numeric->is_ipv6 != want_ipv6) throw Error(Failure::kInvalid, "'" + text + "' is no " + (want_ipv6 ? "IPv6" : "IPv4") + " address, as the device's is");
    return *numeric;
  }
  const std::size_t colon = host_port.rfind(':');
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const bool has_port = colon != std::string_view::npos && colon != 0 && host_port.find(':') == colon;
  if (!has_port || std::from_chars(text.data() + colon + 1, end, port).ptr != end || colon + 1 == text.size() || port == 0) {
    throw Error(Failure::kInvalid, "'" + text + "' is not HOST:PORT");
  }
  addrinfo hints{};
  hints.ai_family = want_ipv6 ? AF_INET6 : AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const std::string host = text.substr(0, colon);
  const int status = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (status != 0) throw Error(Failure::kInvalid, "cannot resolve '" + host + "': " + gai_strerror(status));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  sockaddr_storage storage{};
  __builtin_memcpy(&storage, found->ai_addr, found->ai_addrlen);
  auto address = wire::UdpAddress::from_sockaddr(storage);
  if (!address) throw Error(Failure::kInvalid, "'" + host + "' has no IP address");
  address->port = port;
  return *address;
}

}  // namespace ina::engine
