#include "ucx_tl/engine/payload_limit.hpp"

#include <algorithm>

#include "ucx_tl/engine/message.hpp"
#include "wire/frame.hpp"

namespace ina::engine {

std::uint32_t payload_limit(std::uint32_t ip_mtu, bool is_ipv6) noexcept {
  const std::size_t ip_bytes = is_ipv6 ? wire::kIpv6HeaderBytes : wire::kIpv4HeaderBytes;
  const auto headers = static_cast<std::uint32_t>(ip_bytes + wire::kUdpHeaderBytes + wire::kBthBytes + wire::kRethBytes + wire::kIcrcBytes);
  if (ip_mtu <= headers) return 0;
  return std::min(kMaxMtu, (ip_mtu - headers) & ~7u);
}

}  // namespace ina::engine
