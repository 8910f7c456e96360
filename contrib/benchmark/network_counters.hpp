// network_counters.hpp: what the kernel has counted of this process's network namespace: devices' packets and bytes, TCP's retransmissions.
// Used by the measuring program, one rank a host. Reads /proc/self/net, which is the namespace's own without /sys being mounted anew.
// Does not count the loopback device, and knows nothing of the packets that a device makes of one large one (segmentation offload).
#pragma once

#include <array>
#include <cstddef>

namespace ina::benchmark {

struct NetworkCounters {
  enum Index : std::size_t { kPackets, kBytes, kTcpRetransmissions, kCount };
  std::array<unsigned long long, kCount> values{};  // sent ones
};

[[nodiscard]] NetworkCounters read_network_counters();

}  // namespace ina::benchmark
