// ring_order.hpp: in which order ranks stand in a ring, so that neighbours are on different nodes and a switch between nodes sees all of their packets.
// Used by communicators, alike on all ranks, where the switch is in the wire; a relay sees everything in any order.
// Knows nothing of the network between nodes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ina::core {

// nodes: of each rank; equal numbers are one node. The rank at each position of the ring, rank 0 first; empty: there is no such order, since more than
// half of the ranks are on one node.
[[nodiscard]] std::vector<int> ring_order(std::span<const std::uint32_t> nodes);

}  // namespace ina::core
