// A fault in the middle: every operation still ends with the right result on every rank, the switch is asked again, and nothing is left over.
#include <gtest/gtest.h>

#include <algorithm>

#include "test/support/job.hpp"

namespace ina::test {
namespace {

constexpr std::size_t kLanesPerChunk = (256 - 28) / 8;

void run_until_offloaded(Job& job, TestComm& comm, std::uint64_t more = 1) {
  std::vector<std::uint64_t> wanted;
  job.each([&](Process& process, int) { wanted.push_back(process.counters().operations_offloaded + more); });
  for (int round = 0; round < 64; ++round) {
    for (const int rank : comm.world_ranks) {
      for (int i = 0; i < 16; ++i) job.process(rank).allreduce(comm, 1 + static_cast<std::size_t>(i));
    }
    ASSERT_NO_FATAL_FAILURE(job.run());
    if (std::ranges::all_of(comm.world_ranks, [&](int rank) { return job.process(rank).counters().operations_offloaded >= wanted[static_cast<std::size_t>(rank)]; })) return;
    job.skip(100'000'000);
  }
  FAIL() << "nothing was offloaded, seed " << job.spec.seed << "\n" << job.state() << (job.process(0).log.empty() ? "" : job.process(0).log.back());
}

void shut_down(Job& job) {
  job.each([](Process& process, int) { process.shut_down(); });
  ASSERT_NO_FATAL_FAILURE(job.run());
  EXPECT_TRUE(job.run_until([&] { return job.manager.groups().empty(); }, 1'000'000'000)) << "seed " << job.spec.seed;
  job.each([](Process& process, int) { EXPECT_EQ(process.counters().slots_held, 0u); });
}

std::uint64_t failovers(Job& job, int rank = 0) { return job.process(rank).counters().failovers; }

// The first chunk that the switch does not answer goes through all borders of an operation of some chunks.
TEST(Failover, AtEveryChunkBorder) {
  for (std::uint32_t border = 0; border <= 9; ++border) {
    for (const bool in_place : {false, true}) {
      Job job({.size = 3, .seed = 100 + border});
      TestComm& world = job.make_world();
      ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, world));
      const auto before = job.process(0).counters().operations_offloaded;
      const std::uint32_t first = job.manager.groups().begin()->second.first_seq;
      // 16 blocking operations of one chunk each were posted per round since the commit.
      job.network.silent_from = first + static_cast<std::uint32_t>(before) + border;
      job.each([&](Process& process, int) {
        for (int i = 0; i < 3; ++i) process.iallreduce(world, 3 * kLanesPerChunk - 5, in_place);
        process.wait_all();
        for (int i = 0; i < 5; ++i) process.allreduce(world, 2 * kLanesPerChunk, in_place);
      });
      ASSERT_NO_FATAL_FAILURE(job.run());
      EXPECT_GE(failovers(job), 1u);  // the next group may have met the same silence
      job.network.silent_from.reset();
      ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, world));
      ASSERT_NO_FATAL_FAILURE(shut_down(job));
    }
  }
}

TEST(Failover, SaysWhatHappenedOnce) {
  Job job({.size = 3, .seed = 7});
  TestComm& world = job.make_world();
  ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, world));
  job.network.mode = SwitchMode::kIsDead;
  job.each([&](Process& process, int) { process.allreduce(world, 5); });
  ASSERT_NO_FATAL_FAILURE(job.run());
  const std::string& line = job.process(0).log.back();
  EXPECT_NE(line.find("MPI_COMM_WORLD: failover at operation "), std::string::npos) << line;
  EXPECT_NE(line.find("missing for 250 ms, software until the switch is back"), std::string::npos) << line;
  EXPECT_TRUE(job.process(1).log.empty());
  EXPECT_TRUE(job.process(0).help.empty());
  ASSERT_NO_FATAL_FAILURE(shut_down(job));
}

TEST(Failover, AForgetfulSwitchIsNoticedAtOnce) {
  Job job({.size = 4, .seed = 8});
  TestComm& world = job.make_world();
  ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, world));
  job.network.mode = SwitchMode::kForgets;
  const std::uint64_t start = job.now();
  job.each([&](Process& process, int) {
    for (int i = 0; i < 4; ++i) process.iallreduce(world, 100, true);
    process.wait_all();
  });
  ASSERT_NO_FATAL_FAILURE(job.run());
  EXPECT_EQ(failovers(job), 1u);
  EXPECT_LT(job.now() - start, 250'000'000u);
  EXPECT_NE(job.process(0).log.back().find("bypassed"), std::string::npos) << job.process(0).log.back();
  ASSERT_NO_FATAL_FAILURE(shut_down(job));
}

// A rank that computes for an hour outside MPI is no fault: the others wait.
TEST(Failover, ASlowMemberIsNoFault) {
  Job job({.size = 4, .seed = 9});
  TestComm& world = job.make_world();
  ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, world));
  const std::uint64_t until = job.now() + 3'600'000'000'000;
  job.each([&](Process& process, int rank) {
    if (rank == 2) process.sleep_until([&job, until] { return job.now() >= until; });
    process.allreduce(world, 100);
  });
  (void)job.run_until([&] { return job.now() > until - 3'599'000'000'000; }, 1'000'000'000);
  job.skip(3'598'000'000'000);
  ASSERT_NO_FATAL_FAILURE(job.run());
  EXPECT_EQ(failovers(job), 0u);
  ASSERT_NO_FATAL_FAILURE(shut_down(job));
}

// The others report while it is outside MPI; it answers when it comes back, and joins the operations in software.
TEST(Failover, WaitsForALateMember) {
  for (std::uint64_t seed = 30; seed < 36; ++seed) {
    Job job({.size = 4, .seed = seed});
    TestComm& world = job.make_world();
    ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, world));
    job.network.mode = SwitchMode::kForgets;
    const std::uint64_t until = job.now() + 5'000'000'000;
    job.each([&](Process& process, int rank) {
      if (rank == 1) process.sleep_until([&job, until] { return job.now() >= until; });
      for (int i = 0; i < 5; ++i) process.iallreduce(world, 90);
      process.allreduce(world, 3);
      process.wait_all();
    });
    ASSERT_NO_FATAL_FAILURE(job.run());
    ASSERT_NO_FATAL_FAILURE(shut_down(job));
  }
}

// A member that has everything and has freed the communicator still serves: it answers probes and reports, and hands its results over.
TEST(Failover, AMemberThatHasFreedTheCommunicatorStillServes) {
  int served = 0;
  for (std::uint64_t seed = 200; seed < 240; ++seed) {
    Job job({.size = 3, .seed = seed});
    TestComm& comm = job.make_comm("communicator 3", {2, 0, 1});
    ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, comm));
    std::vector<int> finished;
    job.each([&](Process& process, int rank) {
      process.allreduce(comm, 40);
      process.then([&, rank] { finished.push_back(rank); });
      process.free(comm);
    });
    // Once one member has its result, the packets of the others are lost for good; it frees the communicator long before they notice.
    ASSERT_TRUE(job.run_until([&] { return !finished.empty(); }));
    job.network.lose_everything();
    ASSERT_NO_FATAL_FAILURE(job.run());
    if (failovers(job, finished[0]) != 0) ++served;
    ASSERT_NO_FATAL_FAILURE(shut_down(job));
  }
  EXPECT_GT(served, 0);
}

// Faults of every kind at any time, several communicators, blocking and not, ranks that sleep, communicators freed in the middle, shutdown at any moment.
class FailoverStorm : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(FailoverStorm, EveryResultIsRightAndNothingHangs) {
  const std::uint64_t seed = GetParam();
  std::mt19937_64 random(seed);
  const auto pick = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  const int size = pick(2, 8);
  Job job({.size = size, .seed = seed, .max_delay_ns = static_cast<std::uint64_t>(pick(1, 200'000))});
  job.manager.slots = static_cast<std::uint32_t>(pick(0, 3) == 0 ? 16 : 65536);
  std::vector<TestComm*> comms = {&job.make_world()};
  const int more = pick(0, 4);
  for (int i = 0; i < more; ++i) {
    std::vector<int> ranks;
    for (int rank = 0; rank < size; ++rank) ranks.push_back(rank);
    std::ranges::shuffle(ranks, random);
    ranks.resize(static_cast<std::size_t>(pick(2, size)));
    comms.push_back(&job.make_comm("communicator " + std::to_string(3 + i), ranks));
  }
  const int phases = pick(2, 8);
  for (int phase = 0; phase < phases; ++phase) {
    // The same program on all members of a communicator; communicators in the same order everywhere, as MPI demands of blocking calls.
    for (int burst = pick(1, 12); burst > 0; --burst) {
      TestComm& comm = *comms[static_cast<std::size_t>(pick(0, static_cast<int>(comms.size()) - 1))];
      if (comm.name.starts_with("gone")) continue;
      const int kind = pick(0, 2);
      const bool waits = pick(0, 1) == 0;
      const int count = pick(1, 12);
      const std::size_t lanes = static_cast<std::size_t>(pick(0, 4) == 0 ? pick(100, 600) : pick(1, 40));
      const bool in_place = pick(0, 1) == 1;
      const int sleeper = pick(0, 6) == 0 ? comm.world_ranks[static_cast<std::size_t>(pick(0, comm.size() - 1))] : -1;
      const std::uint64_t nap = static_cast<std::uint64_t>(pick(1, 600)) * 1'000'000;
      for (const int rank : comm.world_ranks) {
        Process& process = job.process(rank);
        if (rank == sleeper) {
          auto until = std::make_shared<std::uint64_t>(0);
          process.sleep_until([&job, until, nap] {
            if (*until == 0) *until = job.now() + nap;
            return job.now() >= *until;
          });
        }
        for (int i = 0; i < count; ++i) {
          if (kind == 0) {
            process.iallreduce(comm, lanes, in_place);
          } else {
            process.allreduce(comm, lanes, in_place);
          }
        }
        if (waits) process.wait_all();
      }
    }
    if (pick(0, 5) == 0 && comms.size() > 1) {
      TestComm& comm = *comms.back();
      comms.pop_back();
      for (const int rank : comm.world_ranks) {
        job.process(rank).wait_all();
        job.process(rank).free(comm);
      }
    }
    const std::uint64_t before = static_cast<std::uint64_t>(pick(0, 3000)) * 1000;
    (void)job.run_until([&, end = job.now() + before] { return job.now() >= end; }, before + 1'000'000);
    ASSERT_FALSE(HasFatalFailure());
    switch (pick(0, 9)) {
      case 0: job.network.mode = SwitchMode::kIsDead; break;
      case 1: job.network.mode = SwitchMode::kForgets; break;
      case 2: job.network.silent_from = static_cast<std::uint32_t>(0U - static_cast<std::uint32_t>(pick(1, 30))); break;
      case 3: job.manager.drop_connections(); break;
      case 4: job.manager.restart(); break;
      case 5: job.manager.fail_groups("drained"); break;
      case 6: job.manager.is_reachable = false; job.manager.drop_connections(); break;
      case 7: job.manager.is_silent = true; break;
      default: break;
    }
    if (pick(0, 1) == 0) {
      ASSERT_NO_FATAL_FAILURE(job.run());
    }
    if (pick(0, 2) == 0) {
      job.network.mode = SwitchMode::kAggregates;
      job.network.silent_from.reset();
      job.manager.is_reachable = true;
      job.manager.is_silent = false;
    }
  }
  job.each([](Process& process, int) {
    process.wait_all();
    process.shut_down();
  });
  ASSERT_NO_FATAL_FAILURE(job.run());
  job.each([](Process& process, int) { EXPECT_EQ(process.counters().slots_held, 0u); });
}

INSTANTIATE_TEST_SUITE_P(Seeds, FailoverStorm, ::testing::Range<std::uint64_t>(1, 25));

}  // namespace
}  // namespace ina::test
