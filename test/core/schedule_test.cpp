#include "ompi_coll_ina/core/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "test/core/vectors.hpp"
#include "test/support/message_network.hpp"

namespace ina::test {
namespace {

using core::Encoding;
using core::HostLanes;
using core::Schedule;
using wire::LaneType;
using wire::Op;

struct Case {
  int size = 4;
  Op op = Op::kSum;
  LaneType type = LaneType::kInt32;
  std::size_t count = 100;
  std::size_t first = 0;
  bool in_place = false;
  std::uint64_t seed = 1;
};

// One allreduce in software among all ranks of an in-memory communicator.
struct Reduction {
  explicit Reduction(const Case& with) : spec(with), random(with.seed), network(with.seed, with.size) {
    for (int rank = 0; rank < spec.size; ++rank) {
      inputs.push_back(random_vector(spec.type, spec.count, random));
      sources.push_back(inputs.back());
      outputs.emplace_back(inputs.back().size());
    }
    for (int rank = 0; rank < spec.size; ++rank) {
      const auto i = static_cast<std::size_t>(rank);
      lanes.emplace_back(spec.type, Encoding::kIdentity, sources[i].data(), output(i).data(), spec.count);
      schedules.emplace_back(core::ScheduleSpec{.rank = rank, .size = spec.size, .tag = 5, .peers = this}, lanes.back(), spec.op, spec.first, spec.count, network.of(rank));
    }
  }
  Bytes& output(std::size_t rank) { return spec.in_place ? sources[rank] : outputs[rank]; }
  [[nodiscard]] bool has_ended() const {
    return std::all_of(schedules.begin(), schedules.end(), [](const Schedule& s) { return s.is_done() || s.has_failed(); });
  }
  // Ranks progress in random order between deliveries in random order.
  void run() {
    for (int turns = 0; turns < 1'000'000 && !has_ended(); ++turns) {
      schedules[std::uniform_int_distribution<std::size_t>(0, schedules.size() - 1)(random)].progress();
      if (random() % 2 == 0) network.step();
    }
    ASSERT_TRUE(has_ended()) << "seed " << spec.seed << " size " << spec.size;
    EXPECT_EQ(network.outstanding(), 0u);
  }
  // Integers: what a plain loop gives. Floats: the same bits on all ranks, near to it.
  void expect_right() {
    const std::size_t skip = spec.first * wire::lane_bytes(spec.type);
    const Bytes expected = combined(spec.op, spec.type, inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(schedules[i].is_done());
      const Bytes tail(output(i).begin() + static_cast<std::ptrdiff_t>(skip), output(i).end());
      EXPECT_EQ(tail, Bytes(output(0).begin() + static_cast<std::ptrdiff_t>(skip), output(0).end())) << "rank " << i;
      if (!is_float(spec.type) || spec.op != Op::kSum) {
        EXPECT_EQ(tail, Bytes(expected.begin() + static_cast<std::ptrdiff_t>(skip), expected.end())) << "rank " << i << " of " << spec.size << " seed " << spec.seed;
      }
    }
    expect_near(expected);
  }
  void expect_near(const Bytes& expected) {
    with_type(spec.type, [&]<typename T>(T) {
      if constexpr (std::is_floating_point_v<T>) {
        for (std::size_t at = spec.first * sizeof(T); at < expected.size(); at += sizeof(T)) {
          T is, should_be;
          std::memcpy(&is, &output(0)[at], sizeof(T));
          std::memcpy(&should_be, &expected[at], sizeof(T));
          ASSERT_NEAR(is, should_be, 0.01);
        }
      }
    });
  }
  Case spec;
  std::mt19937_64 random;
  MessageNetwork network;
  std::vector<Bytes> inputs, sources, outputs;
  std::deque<HostLanes> lanes;
  std::deque<Schedule> schedules;
};

void expect_right(const Case& with) {
  Reduction run(with);
  run.run();
  run.expect_right();
}

TEST(Schedule, SmallVectorsOnAnyNumberOfRanks) {
  for (int size = 1; size <= 17; ++size) {
    for (const std::size_t count : {1u, 2u, 5u, 16u, 17u, 1000u}) expect_right({.size = size, .count = count, .seed = static_cast<std::uint64_t>(size) * 100 + count});
  }
}

TEST(Schedule, LargeVectorsOnAnyNumberOfRanks) {
  for (int size = 1; size <= 17; ++size) {
    for (const bool in_place : {false, true})
      expect_right({.size = size, .count = 5000 + static_cast<std::size_t>(size), .in_place = in_place, .seed = static_cast<std::uint64_t>(size) + 7});
  }
}

TEST(Schedule, EveryTypeAndOperation) {
  for (const LaneType type : kAllTypes) {
    for (const Op op : kAllOps) {
      if (!exists(op, type)) continue;
      expect_right({.size = 5, .op = op, .type = type, .count = 77, .seed = 3});
      expect_right({.size = 6, .op = op, .type = type, .count = 20001, .in_place = true, .seed = 4});
    }
  }
}

TEST(Schedule, ManySegmentsOneAfterTheOther) {
  expect_right({.size = 3, .type = LaneType::kFloat64, .count = 3 * (1u << 17) + 11, .in_place = true, .seed = 5});
  expect_right({.size = 4, .type = LaneType::kInt8, .count = 2 * (1u << 20) + 1, .seed = 6});
}

TEST(Schedule, LanesBeforeTheFirstAreNeitherReadNorWritten) {
  for (const std::size_t count : {200u, 9000u}) {
    Reduction run({.size = 3, .count = count, .first = 150, .in_place = true, .seed = 7});
    const std::size_t skip = 150 * 4;
    for (auto& source : run.sources) std::fill_n(source.begin(), skip, std::byte{0x5a});
    run.run();
    run.expect_right();
    for (auto& source : run.sources) EXPECT_EQ(std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(skip), std::byte{0x5a}), 600);
  }
}

TEST(Schedule, AnEmptyRangeIsDoneAtOnce) {
  Reduction run({.size = 2, .count = 10, .first = 10});
  EXPECT_TRUE(run.schedules[0].is_done());
  EXPECT_EQ(run.schedules[0].progress(), 0);
}

TEST(Schedule, ALostMessageFailsItAndLeavesNoRequestBehind) {
  for (int after = 0; after < 12; ++after) {
    Reduction run({.size = 5, .count = 6000, .seed = 8});
    run.network.fail_after = after;
    int turns = 0;
    while (turns++ < 20'000) {
      run.schedules[static_cast<std::size_t>(turns) % 5].progress();
      run.network.step();
    }
    EXPECT_TRUE(std::any_of(run.schedules.begin(), run.schedules.end(), [](const Schedule& s) { return s.has_failed(); }));
    run.network.fail_all();
    for (auto& schedule : run.schedules) schedule.progress();
    EXPECT_TRUE(run.has_ended());
    EXPECT_EQ(run.network.outstanding(), 0u);
  }
}

// A messenger that takes nothing.
class Refusing final : public core::Messenger {
 public:
  int isend(void*, int, int, const std::byte*, std::size_t, void**) noexcept override { return -1; }
  int irecv(void*, int, int, std::byte*, std::size_t, void**) noexcept override { return -1; }
  int test(void**, std::size_t*) noexcept override { return -1; }
  void cancel(void** request) noexcept override { *request = nullptr; }
};

TEST(Schedule, AMessengerThatRefusesFailsIt) {
  for (const std::size_t count : {10u, 10000u}) {
    Refusing refusing;
    Bytes buffer(count * 4);
    HostLanes lanes(LaneType::kInt32, Encoding::kIdentity, buffer.data(), buffer.data(), count);
    for (int rank = 0; rank < 3; ++rank) {
      Schedule schedule({.rank = rank, .size = 3, .tag = 1, .peers = nullptr}, lanes, Op::kSum, 0, count, refusing);
      schedule.progress();
      EXPECT_TRUE(schedule.has_failed());
    }
  }
}

}  // namespace
}  // namespace ina::test
