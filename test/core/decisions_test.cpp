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
  }
  FAIL() << "nothing was offloaded, seed " << job.spec.seed;
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

}  // namespace
}  // namespace ina::test
