#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "ompi_coll_ina/core/ring_order.hpp"

namespace ina::core {
namespace {

bool has_neighbours_on_one_node(const std::vector<int>& order, const std::vector<std::uint32_t>& nodes) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto one = static_cast<std::size_t>(order[i]), next = static_cast<std::size_t>(order[(i + 1) % order.size()]);
    if (nodes[one] == nodes[next]) return true;
  }
  return false;
}

TEST(RingOrder, RanksThatAlternateStayAsTheyAre) {
  EXPECT_EQ(ring_order(std::vector<std::uint32_t>{9, 4, 9, 4}), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(ring_order(std::vector<std::uint32_t>{3, 2, 1}), (std::vector<int>{0, 1, 2}));
}

TEST(RingOrder, BlocksOfANodeAreTakenApart) {
  const std::vector<std::uint32_t> nodes{1, 1, 2, 2, 3, 3};
  EXPECT_EQ(ring_order(nodes), (std::vector<int>{0, 3, 1, 4, 2, 5}));
}

TEST(RingOrder, ThereIsNoneWhereANodeHasMoreThanHalf) {
  EXPECT_TRUE(ring_order(std::vector<std::uint32_t>{1, 1}).empty());
  EXPECT_TRUE(ring_order(std::vector<std::uint32_t>{1, 1, 2}).empty());
  EXPECT_TRUE(ring_order(std::vector<std::uint32_t>{1, 1, 1, 2, 3}).empty());
  EXPECT_FALSE(ring_order(std::vector<std::uint32_t>{1, 1, 2, 3}).empty());
}

TEST(RingOrder, EveryPlacementThatCanBeSolvedIs) {
  constexpr std::uint32_t kSeed = 20260101;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint32_t> nodes(2 + random() % 15U);
    const auto kinds = static_cast<std::uint32_t>(1 + random() % 6);
    for (auto& node : nodes) node = static_cast<std::uint32_t>(random() % kinds);
    const auto order = ring_order(nodes);
    std::size_t most = 0;
    for (std::uint32_t node = 0; node < kinds; ++node) most = std::max<std::size_t>(most, static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), node)));
    ASSERT_EQ(order.empty(), most > nodes.size() / 2);
    if (order.empty()) continue;
    EXPECT_EQ(order.front(), 0);
    EXPECT_FALSE(has_neighbours_on_one_node(order, nodes)) << ::testing::PrintToString(nodes);
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], static_cast<int>(i));
  }
}

}  // namespace
}  // namespace ina::core
