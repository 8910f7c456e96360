// All ranks go the same way at the same operation, whatever the leader knows when.
#include <gtest/gtest.h>

#include "ompi_coll_ina/core/checkpoint_clock.hpp"
#include "test/support/job.hpp"

namespace ina::test {
namespace {

TEST(CheckpointClock, DistancesDoubleUpTo1024) {
  core::CheckpointClock clock;
  std::vector<std::uint64_t> checkpoints;
  for (std::uint64_t index = 1; index <= 5000; ++index) {
    if (!clock.is_checkpoint(index)) continue;
    checkpoints.push_back(index);
    clock.advance(index);
  }
  EXPECT_EQ(checkpoints, (std::vector<std::uint64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3072, 4096}));
}

TEST(CheckpointClock, AFailoverMakesACheckpointAndCloseOnesAfterIt) {
  core::CheckpointClock clock;
  std::vector<std::uint64_t> checkpoints;
  for (std::uint64_t index = 1; index <= 60; ++index) {
    if (index == 20) clock.restart(41);
    if (!clock.is_checkpoint(index)) continue;
    checkpoints.push_back(index);
    clock.advance(index);
  }
  EXPECT_EQ(checkpoints, (std::vector<std::uint64_t>{1, 2, 4, 8, 16, 32, 41, 42, 43, 45, 49, 57}));
}

// Blocking operations until all ranks have offloaded some.
void run_until_offloaded(Job& job, TestComm& world, std::uint64_t wanted) {
  for (int round = 0; round < 64; ++round) {
    job.each([&](Process& process, int) {
      for (int i = 0; i < 32; ++i) process.allreduce(world, 3 + static_cast<std::size_t>(i) * 5);
    });
    ASSERT_NO_FATAL_FAILURE(job.run());
    bool all = true;
    job.each([&](Process& process, int) { all = all && process.counters().operations_offloaded >= wanted; });
    if (all) return;
    job.skip(100'000'000);  // a leader that was refused waits before it asks again
  }
  std::string said;
  for (const std::string& line : job.process(0).log) said += line + "\n";
  FAIL() << "nothing was offloaded, seed " << job.spec.seed << "\n" << job.state() << said << job.manager.slots_used() << " slots used, " << job.manager.opens << " opens";
}

TEST(Decisions, ACommunicatorThatEndsUndecidedSaysSo) {
  Job job({.size = 4, .seed = 12});
  TestComm& comm = job.make_comm("communicator 5", {0, 1, 2, 3}, false);
  job.each([&](Process& process, int) {
    process.allreduce(comm, 3);
    process.free(comm);
    process.shut_down();
  });
  ASSERT_NO_FATAL_FAILURE(job.run());
  EXPECT_EQ(job.process(0).log, std::vector<std::string>{"communicator 5: software: it ended with operation 1, before its group was ready"});
  EXPECT_TRUE(job.process(1).log.empty());
}

TEST(Decisions, BlockingOperationsAreOffloadedAfterSomeCheckpoints) {
  Job job({.size = 4, .seed = 11});
  TestComm& world = job.make_world();
  ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, world, 10));
  job.each([](Process& process, int) { process.shut_down(); });
  ASSERT_NO_FATAL_FAILURE(job.run());
  EXPECT_TRUE(job.manager.groups().empty());
  ASSERT_FALSE(job.process(0).log.empty());
  EXPECT_NE(job.process(0).log.back().find("MPI_COMM_WORLD: offloaded to 10.0.0.1:5050, group 17, 4 members, window 4, chunks of 256 bytes (memory)"), std::string::npos)
      << job.process(0).log.back();
  EXPECT_EQ(job.process(1).log.size(), 0u);
}

// The same program on all ranks: blocking and non-blocking operations mixed. Job checks results and that all go the same way.
void run_mixed(Job& job, TestComm& world, int rounds = 12) {
  job.each([&](Process& process, int) {
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < 4; ++i) process.iallreduce(world, 1 + static_cast<std::size_t>(i) * 30, i % 2 == 0);
      process.allreduce(world, 7);
      process.wait_all();
    }
  });
  ASSERT_NO_FATAL_FAILURE(job.run());
}

void shut_down(Job& job) {
  job.each([](Process& process, int) { process.shut_down(); });
  ASSERT_NO_FATAL_FAILURE(job.run());
}

TEST(Decisions, WithoutASwitchNothingIsAskedAndNothingIsSaid) {
  Job job({.size = 3, .seed = 1, .switch_address = "none", .verbose = 0});
  TestComm& world = job.make_world();
  ASSERT_NO_FATAL_FAILURE(run_mixed(job, world));
  EXPECT_EQ(job.manager.connections_made, 0);
  job.each([](Process& process, int) {
    EXPECT_TRUE(process.log.empty());
    EXPECT_TRUE(process.help.empty());
    EXPECT_EQ(process.counters().declined_by_reason[INA_DECLINE_NO_SWITCH], process.counters().operations_declined);
    EXPECT_EQ(process.counters().operations_declined, 60u);
  });
  ASSERT_NO_FATAL_FAILURE(shut_down(job));
}

TEST(Decisions, SelectNeverAndOneNodeAreDecidedByTheFirstOperation) {
  Job never({.size = 3, .seed = 2, .select = "never"});
  TestComm& world = never.make_world();
  ASSERT_NO_FATAL_FAILURE(run_mixed(never, world));
  EXPECT_EQ(never.process(0).log, std::vector<std::string>{"MPI_COMM_WORLD: software: coll_ina_select is never"});
  Job one_node({.size = 3, .seed = 2, .select = "auto"});
  TestComm& comm = one_node.make_comm("communicator 3", {0, 1, 2}, true);
  ASSERT_NO_FATAL_FAILURE(run_mixed(one_node, comm));
  EXPECT_EQ(one_node.process(0).log, std::vector<std::string>{"communicator 3: software: all ranks are on one node and coll_ina_select is auto"});
  EXPECT_EQ(one_node.process(1).counters().declined_by_reason[INA_DECLINE_ONE_NODE], 60u);
  EXPECT_EQ(one_node.manager.connections_made, 0);
}

TEST(Decisions, AnUnreachableSwitchIsToldOnceAndAskedAgainLater) {
  Job job({.size = 3, .seed = 3, .verbose = 0});
  job.manager.is_reachable = false;
  TestComm& world = job.make_world();
  TestComm& other = job.make_comm("communicator 3", {0, 2});
  ASSERT_NO_FATAL_FAILURE(run_mixed(job, world));
  for (const int rank : other.world_ranks) {
    for (int i = 0; i < 8; ++i) job.process(rank).allreduce(other, 3);
  }
  ASSERT_NO_FATAL_FAILURE(job.run());
  ASSERT_EQ(job.process(0).help.size(), 1u);
  EXPECT_TRUE(job.process(0).help[0].starts_with("unreachable: The switch cannot be used: 10.0.0.1:5050: connection refused."));
  EXPECT_TRUE(job.process(1).help.empty());
  EXPECT_GT(job.process(1).counters().declined_by_reason[INA_DECLINE_UNREACHABLE], 0u);
  job.manager.is_reachable = true;
  job.skip(20'000'000'000);
  ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, world, 5));
  ASSERT_NO_FATAL_FAILURE(shut_down(job));
}

TEST(Decisions, NoSlotsMeansSoftwareUntilSomeAreFree) {
  Job job({.size = 2, .seed = 4});
  job.manager.slots = 8;
  TestComm& world = job.make_world();
  TestComm& other = job.make_comm("communicator 3", {0, 1});
  ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, world, 5));
  ASSERT_NO_FATAL_FAILURE(run_mixed(job, other));
  EXPECT_GT(job.process(1).counters().declined_by_reason[INA_DECLINE_NO_SLOTS], 0u);
  EXPECT_EQ(job.process(0).counters().slots_held, 8u);
  EXPECT_NE(job.process(0).log.back().find("communicator 3: software: 10.0.0.1:5050: no slots are free"), std::string::npos) << job.process(0).log.back();
  job.each([&](Process& process, int) { process.free(world); });
  ASSERT_NO_FATAL_FAILURE(job.run());
  job.skip(20'000'000'000);
  ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, other, job.process(0).counters().operations_offloaded + 5));
  ASSERT_NO_FATAL_FAILURE(shut_down(job));
}

// A switch that does not see the binds: the set-up is given up, its slots go back, and nobody waits meanwhile.
TEST(Decisions, ASetUpThatDoesNotGetReadyIsAborted) {
  Job job({.size = 4, .seed = 5});
  job.manager.activates = false;
  TestComm& world = job.make_world();
  for (int round = 0; round < 8; ++round) {
    ASSERT_NO_FATAL_FAILURE(run_mixed(job, world, 4));
    job.skip(2'000'000'000);
  }
  EXPECT_EQ(job.process(0).counters().operations_offloaded, 0u);
  EXPECT_GT(job.manager.closes, 0);
  EXPECT_NE(job.process(0).log.back().find("the switch did not see all binds within 5 s"), std::string::npos) << job.process(0).log.back();
  ASSERT_NO_FATAL_FAILURE(shut_down(job));
}

TEST(Decisions, OpsThatTheSwitchDoesNotDoGoToSoftwareOnAllRanks) {
  Job job({.size = 3, .seed = 6});
  job.manager.ops = R"(["max"])";
  TestComm& world = job.make_world();
  for (int round = 0; round < 10; ++round) ASSERT_NO_FATAL_FAILURE(run_mixed(job, world));
  EXPECT_EQ(job.process(0).counters().operations_offloaded, 0u);
  EXPECT_GT(job.process(1).counters().declined_by_reason[INA_DECLINE_OP], 0u);
  ASSERT_NO_FATAL_FAILURE(shut_down(job));
}

// The manager takes a group back: the leader stops at its next checkpoint, and what was outstanding ends right.
TEST(Decisions, AGroupThatTheManagerHasLostIsStopped) {
  Job job({.size = 3, .seed = 7});
  TestComm& world = job.make_world();
  ASSERT_NO_FATAL_FAILURE(run_until_offloaded(job, world, 5));
  job.manager.fail_groups("drained by an operator");
  job.skip(10'000'000);
  for (int round = 0; round < 10; ++round) ASSERT_NO_FATAL_FAILURE(run_mixed(job, world));
  bool said = false;
  for (const std::string& line : job.process(0).log) said = said || line == "MPI_COMM_WORLD: software: drained by an operator";
  EXPECT_TRUE(said);
  EXPECT_EQ(job.process(0).counters().failovers, 0u);
  ASSERT_NO_FATAL_FAILURE(shut_down(job));
}

// Set-ups of several communicators at once, freed before they are ready.
TEST(Decisions, CommunicatorsFreedDuringSetUpLeaveNothingBehind) {
  for (std::uint64_t seed = 50; seed < 70; ++seed) {
    Job job({.size = 4, .seed = seed});
    for (int i = 0; i < 6; ++i) {
      TestComm& comm = job.make_comm("communicator " + std::to_string(i), {i % 4, (i + 1) % 4, (i + 2) % 4});
      for (const int rank : comm.world_ranks) {
        for (int operation = 0; operation < i + 2; ++operation) job.process(rank).iallreduce(comm, 5);
        job.process(rank).wait_all();
        job.process(rank).free(comm);
      }
    }
    ASSERT_NO_FATAL_FAILURE(job.run());
    ASSERT_NO_FATAL_FAILURE(shut_down(job));
    EXPECT_TRUE(job.run_until([&] { return job.manager.groups().empty(); }, 1'000'000'000)) << "seed " << seed;
  }
}

// A job that never had an eligible operation, or has only just started to ask, ends at once.
TEST(Decisions, ShutDownAtAnyMomentOfASetUp) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Job job({.size = 3, .seed = seed});
    TestComm& world = job.make_world();
    job.each([&](Process& process, int) {
      for (std::uint64_t i = 0; i < seed; ++i) process.allreduce(world, 2);
      process.shut_down();
    });
    ASSERT_NO_FATAL_FAILURE(job.run(10'000'000'000));
  }
}

}  // namespace
}  // namespace ina::test
