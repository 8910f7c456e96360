#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "ompi_coll_ina/core/schedule.hpp"
#include "test/core/stream_world.hpp"
#include "test/core/vectors.hpp"
#include "test/support/message_network.hpp"

namespace ina::test {
namespace {

using core::Encoding;
using core::HostLanes;
using core::Schedule;
using core::StreamOperation;
using wire::LaneType;
using wire::Op;

// Several outstanding operations at all members, frozen at some point, finished as an agreed failover does it.
struct Failover {
  Failover(const WorldSpec& spec, bool in_place, std::size_t operations_each) : world(spec), messages(spec.seed + 1, spec.members) {
    world.bind();
    for (std::size_t k = 0; k < operations_each; ++k) post(in_place, 1 + (spec.seed * 13 + k * 29) % 150);
  }
  void post(bool in_place, std::size_t count) {
    inputs.emplace_back();
    for (std::size_t i = 0; i < world.spec.members; ++i) {
      const std::size_t bytes = count * 8;
      inputs.back().push_back(random_vector(LaneType::kInt64, count, world.random));
      buffers.push_back(inputs.back().back());
      Bytes& source = buffers.back();
      buffers.push_back(in_place ? Bytes() : Bytes(bytes));
      lanes.emplace_back(LaneType::kInt64, Encoding::kIdentity, source.data(), in_place ? source.data() : buffers.back().data(), count);
      outputs.push_back(in_place ? source.data() : buffers.back().data());
      operations.emplace_back(Op::kSum, lanes.back());
      world.stream(i).post(operations.back());
    }
  }
  // DESIGN of the failover: freeze, highest result that anyone has, hand over, the rest in software.
  void finish() {
    std::uint32_t highest = world.spec.first_seq;
    std::size_t server = 0;
    for (std::size_t i = 0; i < world.spec.members; ++i) {
      world.stream(i).freeze();
      if (wire::seq_distance(world.stream(i).result_end(), highest) > 0) highest = world.stream(i).result_end(), server = i;
    }
    for (std::size_t i = 0; i < world.spec.members; ++i) {
      for (std::uint32_t seq = world.stream(i).result_end(); seq != highest; ++seq) {
        const auto result = world.stream(server).result_lanes(seq);
        ASSERT_TRUE(result) << seq;
        ASSERT_TRUE(world.stream(i).hand_over(seq, *result)) << seq;
      }
    }
    run_schedules();
  }
  void run_schedules() {
    std::deque<Schedule> schedules;
    for (std::size_t n = 0; n < operations.size(); ++n) {
      const auto rank = static_cast<int>(n % world.spec.members);
      const auto operation = static_cast<int>(n / world.spec.members);
      EXPECT_EQ(operations[n].covered_lanes(), operations[n - n % world.spec.members].covered_lanes());
      schedules.emplace_back(core::ScheduleSpec{.rank = rank, .size = world.spec.members, .tag = operation, .peers = this}, lanes[n], Op::kSum,
                             operations[n].covered_lanes(), lanes[n].lane_count(), messages.of(rank));
    }
    const auto is_done = [](const Schedule& s) { return s.is_done(); };
    for (int turns = 0; turns < 1'000'000 && !std::all_of(schedules.begin(), schedules.end(), is_done); ++turns) {
      schedules[std::uniform_int_distribution<std::size_t>(0, schedules.size() - 1)(world.random)].progress();
      messages.step();
    }
    ASSERT_TRUE(std::all_of(schedules.begin(), schedules.end(), is_done)) << "seed " << world.spec.seed;
  }
  void expect_right() {
    for (std::size_t n = 0; n < operations.size(); ++n) {
      const Bytes expected = combined(Op::kSum, LaneType::kInt64, inputs[n / world.spec.members]);
      EXPECT_EQ(Bytes(outputs[n], outputs[n] + expected.size()), expected) << "operation " << n / world.spec.members << " member " << n % world.spec.members << " seed " << world.spec.seed;
    }
  }

  World world;
  MessageNetwork messages;
  std::vector<std::vector<Bytes>> inputs;
  std::deque<Bytes> buffers;
  std::deque<HostLanes> lanes;
  std::vector<std::byte*> outputs;
  std::deque<StreamOperation> operations;
};

TEST(HandOver, ASwitchThatFallsSilentAtAnyChunkLeavesTheRightAnswer) {
  for (const bool in_place : {false, true}) {
    for (std::uint32_t border = 0; border <= 24; ++border) {
      Failover failover({.members = 3, .window = 4, .first_seq = 0xfffffff0u, .seed = 50 + border}, in_place, 4);
      failover.world.network.silent_from = 0xfffffff0u + border;
      static_cast<void>(failover.world.run(400));
      failover.finish();
      failover.expect_right();
    }
  }
}

TEST(HandOver, AFreezeAtAnyMomentLeavesTheRightAnswer) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Failover failover({.members = static_cast<std::uint16_t>(2 + seed % 4), .window = 2u << (seed % 3), .seed = 1000 + seed}, seed % 2 == 0, 5);
    static_cast<void>(failover.world.run(static_cast<int>(seed)));
    failover.finish();
    failover.expect_right();
  }
}

TEST(HandOver, AFrozenStreamDoesNothing) {
  World world({.members = 2, .seed = 20});
  world.bind();
  Bytes buffer(4000);
  HostLanes lanes(LaneType::kInt32, Encoding::kIdentity, buffer.data(), buffer.data(), 1000);
  StreamOperation operation(Op::kSum, lanes);
  world.stream(0).post(operation);
  world.stream(0).freeze();
  EXPECT_EQ(world.stream(0).progress(), 0u);
  EXPECT_EQ(world.stream(0).contributed_end(), 0u);
}

TEST(HandOver, OnlyResultsThatWereTakenAreServed) {
  Failover failover({.members = 2, .window = 4, .seed = 21}, false, 3);
  auto& stream = failover.world.stream(0);
  EXPECT_FALSE(stream.result_lanes(0));  // not frozen
  ASSERT_TRUE(failover.world.run());
  stream.freeze();
  const std::uint32_t end = stream.result_end();
  for (std::uint32_t back = 1; back <= 4; ++back) EXPECT_TRUE(stream.result_lanes(end - back));
  EXPECT_FALSE(stream.result_lanes(end - 5));
  EXPECT_FALSE(stream.result_lanes(end));
  EXPECT_FALSE(stream.result_lanes(end + 1));
}

TEST(HandOver, NothingBeforeTheFirstSeqIsServed) {
  World world({.members = 2, .seed = 22});
  world.stream(0).freeze();
  EXPECT_FALSE(world.stream(0).result_lanes(0xffffffffu));
}

TEST(HandOver, WrongSeqsAndLengthsAreRefused) {
  Failover failover({.members = 2, .window = 4, .seed = 23}, false, 1);
  auto& stream = failover.world.stream(0);
  failover.world.network.silent_from = 0;
  static_cast<void>(failover.world.run(50));
  const Bytes lanes(8 * std::min<std::size_t>(12, failover.lanes[0].lane_count()));
  EXPECT_FALSE(stream.hand_over(0, lanes));  // not frozen
  stream.freeze();
  EXPECT_FALSE(stream.hand_over(1, lanes));
  EXPECT_FALSE(stream.hand_over(0, std::span(lanes).first(lanes.size() - 1)));
  EXPECT_FALSE(stream.hand_over(0, {}));
  EXPECT_TRUE(stream.hand_over(0, lanes));
  EXPECT_FALSE(stream.hand_over(0, lanes));
}

}  // namespace
}  // namespace ina::test
