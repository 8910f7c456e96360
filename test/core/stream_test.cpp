#include "test/core/stream_world.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <deque>

#include "ompi_coll_ina/core/error.hpp"
#include "test/core/vectors.hpp"

namespace ina::test {
namespace {

using core::Encoding;
using core::HostLanes;
using core::Stream;
using core::StreamOperation;
using wire::LaneType;
using wire::Op;

// One allreduce at all members of a world.
struct Allreduce {
  Allreduce(World& world, Op op_, LaneType type_, std::size_t count, bool in_place) : op(op_), type(type_) {
    for (std::size_t i = 0; i < world.spec.members; ++i) inputs.push_back(random_vector(type, count, world.random));
    sources = inputs;
    outputs.assign(world.spec.members, Bytes(count * wire::lane_bytes(type)));
    for (std::size_t i = 0; i < world.spec.members; ++i) {
      auto* to = in_place ? sources[i].data() : outputs[i].data();
      lanes.emplace_back(type, Encoding::kIdentity, sources[i].data(), to, count);
      operations.emplace_back(op, lanes.back());
      world.stream(i).post(operations.back());
    }
    if (in_place) outputs.clear();
  }
  const Bytes& output(std::size_t member) const { return outputs.empty() ? sources[member] : outputs[member]; }
  void expect_right() const {
    const Bytes expected = combined(op, type, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(output(i), expected) << "member " << i << ", " << name(op) << " of " << name(type);
  }

  Op op;
  LaneType type;
  std::vector<Bytes> inputs, sources, outputs;
  std::deque<HostLanes> lanes;
  std::deque<StreamOperation> operations;
};

TEST(Stream, EveryTypeAndOperationGivesWhatAPlainLoopGives) {
  World world({.seed = 2});
  world.bind();
  for (const LaneType type : kAllTypes) {
    for (const Op op : kAllOps) {
      if (!exists(op, type)) continue;
      const Allreduce reduction(world, op, type, 100, false);
      ASSERT_TRUE(world.run()) << "seed " << world.spec.seed;
      reduction.expect_right();
    }
  }
}

TEST(Stream, OddSizesAndInPlaceWorkFromOneByteToManyWindows) {
  World world({.members = 4, .seed = 3});
  world.bind();
  for (const std::size_t count : {1u, 2u, 7u, 8u, 9u, 95u, 96u, 97u, 100u, 101u, 767u, 768u, 769u, 5001u}) {
    for (const bool in_place : {false, true}) {
      const Allreduce reduction(world, Op::kSum, LaneType::kInt8, count, in_place);
      ASSERT_TRUE(world.run()) << count;
      reduction.expect_right();
    }
  }
}

TEST(Stream, OperationsInARowShareTheWindow) {
  World world({.members = 2, .seed = 4});
  world.bind();
  std::deque<Allreduce> reductions;
  for (std::size_t i = 0; i < 40; ++i) reductions.emplace_back(world, kAllOps[i % 6], kAllTypes[i % 8], 1 + i * 7 % 60, i % 2 == 0);
  ASSERT_TRUE(world.run());
  for (const auto& reduction : reductions) reduction.expect_right();
}

TEST(Stream, SmallOperationsFillTheWindowWithoutWaitingForEachOther) {
  World world({.members = 2, .window = 8, .seed = 5});
  world.bind();
  std::deque<Allreduce> reductions;
  for (int i = 0; i < 10; ++i) reductions.emplace_back(world, Op::kSum, LaneType::kInt32, 1, false);
  EXPECT_EQ(world.stream(0).progress(), 8u);
  EXPECT_EQ(world.stream(0).contributed_end(), 8u);
  EXPECT_EQ(world.stream(0).posted_end(), 10u);
  ASSERT_TRUE(world.run());
}

TEST(Stream, SeqWrapsAround) {
  World world({.members = 2, .window = 4, .first_seq = 0xfffffff8u, .seed = 6});
  world.bind();
  for (int i = 0; i < 20; ++i) {
    const Allreduce reduction(world, Op::kSum, LaneType::kFloat64, 31, i % 2 == 0);
    ASSERT_TRUE(world.run());
    reduction.expect_right();
  }
  EXPECT_EQ(world.stream(0).result_end(), 0xfffffff8u + 20 * 3);  // 12 lanes of 8 bytes a chunk
  EXPECT_TRUE(world.stream(0).is_bound());
}

TEST(Stream, ATransportWithoutRoomOnlyDelays) {
  World world({.seed = 7});
  world.network.no_resource = 0.7;
  world.bind();
  const Allreduce reduction(world, Op::kSum, LaneType::kInt32, 3000, true);
  ASSERT_TRUE(world.run());
  reduction.expect_right();
}

TEST(Stream, ManySeedsWindowsAndMembers) {
  for (std::uint64_t seed = 100; seed < 160; ++seed) {
    World world({.members = static_cast<std::uint16_t>(2 + seed % 5), .window = 2u << (seed % 4), .first_seq = static_cast<std::uint32_t>(seed * 64), .seed = seed});
    world.bind();
    std::deque<Allreduce> reductions;
    for (std::size_t i = 0; i < 5; ++i) reductions.emplace_back(world, Op::kSum, kAllTypes[(seed + i) % 10], 1 + (seed * 31 + i * 77) % 400, i % 2 == 0);
    ASSERT_TRUE(world.run()) << "seed " << seed;
    for (const auto& reduction : reductions) reduction.expect_right();
  }
}

TEST(Stream, APacketThatPassedNoAggregatorIsAFault) {
  World world({.members = 2, .seed = 8});
  world.bind();
  world.network.mode = SwitchMode::kForgets;
  const Allreduce reduction(world, Op::kSum, LaneType::kInt32, 10, false);
  EXPECT_FALSE(world.run(2000));
  EXPECT_TRUE(world.stream(0).has_fault());
  EXPECT_STREQ(world.stream(0).fault_reason(), "bypassed");
  EXPECT_EQ(world.stream(0).result_end(), world.spec.first_seq);
}

TEST(Stream, AResultOfAnotherLengthOrLifeIsAFault) {
  for (const bool has_other_epoch : {false, true}) {
    World world({.members = 2, .seed = 9});
    world.bind();
    const Allreduce reduction(world, Op::kSum, LaneType::kInt32, 10, false);
    world.stream(0).progress();
    std::vector<std::byte> packet(wire::kFramingBytes + (has_other_epoch ? 40 : 48));
    wire::encode_header({.kind = wire::Kind::kResult, .op = Op::kSum, .lane_type = LaneType::kInt32, .contributions = 2, .group = World::kGroup,
                         .epoch = World::kEpoch + has_other_epoch, .seq = 0, .member = 1, .length = static_cast<std::uint16_t>(packet.size() - wire::kFramingBytes)},
                        std::span<std::byte, wire::kHeaderBytes>(packet.data(), wire::kHeaderBytes));
    std::memcpy(world.rings[0]->mailbox().data() + 128 - packet.size(), packet.data(), packet.size());
    world.stream(0).progress();
    EXPECT_STREQ(world.stream(0).fault_reason(), "mismatch");
    EXPECT_FALSE(reduction.operations[0].is_done());
  }
}

TEST(Stream, ABrokenConnectionIsAFault) {
  World world({.members = 2, .seed = 10});
  world.bind();
  const Allreduce reduction(world, Op::kSum, LaneType::kInt32, 10, false);
  world.stream(0).progress();
  world.network.fail(*world.rings[0]);
  while (world.fabrics[0]->progress() == 0) {
  }
  EXPECT_STREQ(world.stream(0).fault_reason(), "connection");
  EXPECT_EQ(world.stream(0).progress(), 0u);
}

TEST(Stream, NothingIsSentBeforeBothBindsAreAcknowledged) {
  World world({.members = 2, .seed = 11});
  const Allreduce reduction(world, Op::kSum, LaneType::kInt32, 10, false);
  world.stream(0).bind();
  world.stream(0).progress();
  EXPECT_EQ(world.stream(0).contributed_end(), world.stream(0).result_end());
  world.bind();
  ASSERT_TRUE(world.run());
  reduction.expect_right();
}

TEST(Stream, ItIsDestroyedWithPutsOutstanding) {
  World world({.members = 2, .seed = 12});
  world.bind();
  const Allreduce reduction(world, Op::kSum, LaneType::kInt32, 1000, false);
  for (int i = 0; i < 5; ++i) world.turn();
  world.streams.clear();
  for (int i = 0; i < 100; ++i) world.fabrics[0]->progress();
}

TEST(Stream, ImpossibleNumbersAreRefused) {
  World world({.members = 2, .seed = 13});
  core::StreamSpec spec{.group = 1, .epoch = 1, .member = 0, .members = 2, .window = 4, .first_seq = 0, .payload = 128};
  const auto refuses = [&](auto change) {
    core::StreamSpec wrong = spec;
    change(wrong);
    EXPECT_THROW(Stream(wrong, *world.rings[0]), core::Error);
  };
  refuses([](auto& s) { s.window = 3; });
  refuses([](auto& s) { s.window = 0; });
  refuses([](auto& s) { s.window = 8; });  // not the ring's
  refuses([](auto& s) { s.first_seq = 4; });
  refuses([](auto& s) { s.payload = 63; });
  refuses([](auto& s) { s.payload = 4097; });
  refuses([](auto& s) { s.members = 1; });
  refuses([](auto& s) { s.member = 2; });
}

// Lanes that stand for a vector of more than 2^31 bytes without having it: every lane of the input is its index, and results are compared with it.
class VastLanes final : public core::Lanes {
 public:
  explicit VastLanes(std::size_t count) : count_(count) {}
  LaneType lane_type() const noexcept override { return LaneType::kUint64; }
  std::size_t lane_count() const noexcept override { return count_; }
  void gather(std::size_t first, std::size_t count, std::byte* to) const noexcept override {
    for (std::uint64_t i = first; i < first + count; ++i) std::memcpy(to + (i - first) * 8, &i, 8);
  }
  void scatter(std::size_t first, std::size_t count, const std::byte* from) noexcept override {
    std::uint64_t ends[2];
    std::memcpy(&ends[0], from, 8);
    std::memcpy(&ends[1], from + (count - 1) * 8, 8);
    is_right = is_right && first == next && ends[0] == 2 * first && ends[1] == 2 * (first + count - 1);
    next = first + count;
  }
  bool is_right = true;
  std::size_t next = 0;

 private:
  std::size_t count_;
};

TEST(Stream, AVectorOfMoreThanTwoToThe31BytesIsCountedIn64Bits) {
  World world({.members = 2, .window = 64, .first_seq = 0xffffff80u, .payload = 4096, .seed = 14});
  world.bind();
  const std::size_t lanes = (std::size_t{1} << 31) / 8 + 12345;
  VastLanes vectors[2] = {VastLanes(lanes), VastLanes(lanes)};
  StreamOperation operations[2] = {{Op::kSum, vectors[0]}, {Op::kSum, vectors[1]}};
  for (std::size_t i = 0; i < 2; ++i) world.stream(i).post(operations[i]);
  EXPECT_EQ(operations[0].chunk_count(), (lanes + 507) / 508);
  // The whole of it would take minutes under a sanitizer: the beginning has to do here.
  for (int i = 0; i < 3000; ++i) world.turn();
  for (const auto& vector : vectors) EXPECT_TRUE(vector.is_right && vector.next > 508 * 100);
  EXPECT_EQ(world.stream(0).posted_end(), 0xffffff80u + static_cast<std::uint32_t>((lanes + 507) / 508));
  world.streams.clear();
}

}  // namespace
}  // namespace ina::test
