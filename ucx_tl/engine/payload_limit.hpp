// payload_limit.hpp: how much of an IP packet is left for the payload of a RoCE packet.
// Used by the transport to choose its path MTU.
// Does not know what a device or a path can carry.
#pragma once

#include <cstdint>

namespace ina::engine {

// The largest payload of a packet with the longest headers (BTH, RETH) in an IP packet of this size: a multiple of 8, at most kMaxMtu.
[[nodiscard]] std::uint32_t payload_limit(std::uint32_t ip_mtu, bool is_ipv6) noexcept;

}  // namespace ina::engine
