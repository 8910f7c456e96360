#include "ompi_coll_ina/core/ring_order.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>

namespace ina::core {

// The order of the ranks, where it serves: whoever has placed them knows more of the network than this.
// Else ranks node by node, the fullest node first, are laid out on positions 0, 2, 4 ... and then 1, 3, 5 ... Two of one node are next to each other only if the
// node has more than half of all: its ranks stand in a row before they are laid out, so those on even positions and those on odd ones are apart by half of the ring.
std::vector<int> ring_order(std::span<const std::uint32_t> nodes) {
  const std::size_t size = nodes.size();
  std::vector<int> by_node(size);
  std::iota(by_node.begin(), by_node.end(), 0);
  bool serves = size >= 2;
  for (std::size_t i = 0; i < size; ++i) serves = serves && nodes[i] != nodes[(i + 1) % size];
  if (serves) return by_node;
  struct Node {
    std::size_t first = 0, ranks = 0;
  };
  std::map<std::uint32_t, Node> seen;
  for (std::size_t i = 0; i < size; ++i) {
    Node& node = seen.try_emplace(nodes[i], Node{i, 0}).first->second;
    ++node.ranks;
  }
  std::stable_sort(by_node.begin(), by_node.end(), [&](int a, int b) {
    const Node& one = seen.at(nodes[static_cast<std::size_t>(a)]);
    const Node& other = seen.at(nodes[static_cast<std::size_t>(b)]);
    return std::tuple(other.ranks, one.first) < std::tuple(one.ranks, other.first);
  });
  if (size < 2 || seen.at(nodes[static_cast<std::size_t>(by_node.front())]).ranks > size / 2) return {};
  std::vector<int> order(size);
  std::size_t position = 0;
  for (const int rank : by_node) {
    order[position] = rank;
    position += 2;
    if (position >= size && position % 2 == 0) position = 1;
  }
  std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
  return order;
}

}  // namespace ina::core
