// property_test.cpp: whatever the network does, every member gets every result, exact, and floats in member order bit for bit.
#include <gtest/gtest.h>

#include "test/aggregator/simulated_members.hpp"

namespace ina::test {
namespace {

struct Case {
  wire::LaneType type;
  wire::Op op;
};
constexpr Case kCases[] = {
    {wire::LaneType::kFloat32, wire::Op::kSum}, {wire::LaneType::kFloat64, wire::Op::kSum}, {wire::LaneType::kFloat32, wire::Op::kMin},
    {wire::LaneType::kInt32, wire::Op::kSum},   {wire::LaneType::kInt8, wire::Op::kMax},    {wire::LaneType::kUint64, wire::Op::kXor},
};

Ring ring_of(std::uint16_t members, std::uint32_t window) {
  Ring ring;
  ring.spec.members = members;
  ring.spec.window = window;
  ring.spec.payload = 512;
  ring.spec.first_seq = 0u - 2 * window;  // wraps after two windows
  return ring;
}

void expect_exact(const Ring& ring, const StreamSettings& stream, const NetworkSettings& network) {
  SimulatedMembers members(ring, stream, network);
  EXPECT_EQ(members.run(), "") << "seed " << network.seed << ", " << ring.spec.members << " members, window " << ring.spec.window << ", "
                               << name(stream.op) << " of " << name(stream.type);
  const auto counters = members.aggregator().counters(ring.spec.group);
  EXPECT_EQ(counters.results, stream.chunks);
  EXPECT_EQ(counters.contributions, std::uint64_t{stream.chunks} * ring.spec.members);
  for (const auto fault : {aggregator::Drop::kSlotBusy, aggregator::Drop::kSlotOlder}) {
    EXPECT_EQ(members.aggregator().drops()[static_cast<std::size_t>(fault)], 0u) << name(fault) << ", seed " << network.seed;
  }
}

class Faults : public ::testing::TestWithParam<double> {};

TEST_P(Faults, EverySumIsExactAtEveryMember) {
  std::uint64_t seed = 1;
  for (const std::uint16_t members : std::initializer_list<std::uint16_t>{2, 3, 4, 8}) {
    for (const std::uint32_t window : {2u, 4u, 16u}) {
      for (const Case& each : kCases) {
        const double p = GetParam();
        expect_exact(ring_of(members, window), {.type = each.type, .op = each.op, .chunks = 6 * window + 5},
                     {.loss = p, .duplicate = p, .reorder = p, .corrupt = p, .seed = seed++});
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Probability, Faults, ::testing::Values(0.0, 0.01, 0.05, 0.2));

TEST(SingleFaults, EachAloneIsSurvived) {
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    const Ring ring = ring_of(4, 8);
    const StreamSettings stream{.type = wire::LaneType::kFloat32, .chunks = 200};
    expect_exact(ring, stream, {.loss = 0.3, .seed = seed});
    expect_exact(ring, stream, {.duplicate = 0.5, .seed = seed});
    expect_exact(ring, stream, {.reorder = 0.5, .seed = seed});
    expect_exact(ring, stream, {.corrupt = 0.3, .seed = seed});
  }
}

TEST(Efficiency, OnePercentLossCostsLessThanTwiceThePackets) {
  Ring ring = ring_of(4, 128);
  ring.spec.first_seq = 0u - 256;
  const StreamSettings stream{.chunks = 4096, .most_lane_bytes = 8};
  SimulatedMembers clean(ring, stream, {});
  ASSERT_EQ(clean.run(), "");
  EXPECT_EQ(clean.timeouts(), 0u);
  SimulatedMembers lossy(ring, stream, {.loss = 0.01, .seed = 7});
  ASSERT_EQ(lossy.run(), "");
  const auto counters = lossy.aggregator().counters(ring.spec.group);
  RecordProperty("clean_packets", static_cast<int>(clean.packets_to_switch() + clean.packets_from_switch()));
  RecordProperty("lossy_packets", static_cast<int>(lossy.packets_to_switch() + lossy.packets_from_switch()));
  std::printf("packets %lu clean, %lu lossy (%lu + %lu); timeouts %lu, gaps %lu, naks made %lu, answered %lu, duplicates answered %lu dropped %lu\n",
              clean.packets_to_switch() + clean.packets_from_switch(), lossy.packets_to_switch() + lossy.packets_from_switch(),
              lossy.packets_to_switch(), lossy.packets_from_switch(), lossy.timeouts(), counters.gaps, counters.naks_made,
              counters.naks_answered, counters.duplicates_answered, counters.duplicates_dropped);
  EXPECT_LT(lossy.packets_to_switch() + lossy.packets_from_switch(), 2 * (clean.packets_to_switch() + clean.packets_from_switch()));
  EXPECT_LT(lossy.timeouts(), stream.chunks / 50);
}

}  // namespace
}  // namespace ina::test
