// fault_injector_test.cpp: the same seed gives the same faults, about as many as asked for, of the kinds asked for.
#include "switch/softswitch/fault_injector.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "test/softswitch/relay_world.hpp"

namespace ina::test {
namespace {

using softswitch::FaultInjector;
using softswitch::FaultSettings;

constexpr std::uint32_t kDatagrams = 20000;

// What passes of numbered datagrams.
std::vector<Bytes> pass(FaultInjector& injector) {
  std::vector<Bytes> passed;
  const auto peer = address("10.0.0.1:1");
  for (std::uint32_t n = 0; n < kDatagrams; ++n) {
    Bytes bytes(20);
    wire::store_be(&bytes[0], n);
    injector.pass(peer, bytes, [&](const wire::UdpAddress& to, std::span<std::byte> copy) {
      EXPECT_EQ(to, peer);
      passed.emplace_back(copy.begin(), copy.end());
    });
  }
  return passed;
}

std::uint32_t number(const Bytes& bytes) { return wire::load_be<std::uint32_t>(bytes.data()); }

TEST(FaultInjector, WithoutFaultsEverythingPasses) {
  FaultInjector injector({});
  const auto passed = pass(injector);
  ASSERT_EQ(passed.size(), kDatagrams);
  for (std::uint32_t n = 0; n < kDatagrams; ++n) ASSERT_EQ(number(passed[n]), n);
}

TEST(FaultInjector, TheSameSeedGivesTheSameFaults) {
  const FaultSettings settings{.loss = 0.1, .duplicate = 0.1, .reorder = 0.1, .corrupt = 0.1, .seed = 42};
  FaultInjector one(settings), same(settings), other({.loss = 0.1, .duplicate = 0.1, .reorder = 0.1, .corrupt = 0.1, .seed = 43});
  const auto passed = pass(one);
  EXPECT_EQ(passed, pass(same));
  EXPECT_NE(passed, pass(other));
}

TEST(FaultInjector, LossHitsItsShare) {
  FaultInjector injector({.loss = 0.05});
  const auto passed = pass(injector);
  EXPECT_EQ(injector.counters().lost + passed.size(), kDatagrams);
  EXPECT_NEAR(static_cast<double>(injector.counters().lost), 0.05 * kDatagrams, 0.01 * kDatagrams);
}

TEST(FaultInjector, DuplicatesAreCopies) {
  FaultInjector injector({.duplicate = 0.05});
  const auto passed = pass(injector);
  EXPECT_EQ(passed.size(), kDatagrams + injector.counters().duplicated);
  EXPECT_NEAR(static_cast<double>(injector.counters().duplicated), 0.05 * kDatagrams, 0.01 * kDatagrams);
}

TEST(FaultInjector, ReorderedOnesComeLaterButComeSoon) {
  FaultInjector injector({.reorder = 0.05});
  const auto passed = pass(injector);
  EXPECT_GE(passed.size() + 6, kDatagrams);
  std::uint32_t late = 0, highest = 0;
  for (const Bytes& bytes : passed) {
    if (number(bytes) < highest) {
      ++late;
      EXPECT_LE(highest - number(bytes), 7u);
    }
    highest = std::max(highest, number(bytes));
  }
  EXPECT_GT(late, injector.counters().reordered * 8 / 10);
}

TEST(FaultInjector, CorruptionChangesOneByte) {
  FaultInjector injector({.corrupt = 1.0});
  const auto peer = address("10.0.0.1:1");
  for (int n = 0; n < 1000; ++n) {
    const Bytes bytes(30);
    injector.pass(peer, bytes, [&](const wire::UdpAddress&, std::span<std::byte> copy) {
      EXPECT_EQ(std::ranges::count(copy, std::byte{0}), 29);
    });
  }
}

}  // namespace
}  // namespace ina::test
