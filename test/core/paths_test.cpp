// Select auto: each size goes the way that is faster, all ranks alike, and a sum of floats changes its way once at most.
#include <gtest/gtest.h>

#include "ompi_coll_ina/core/cost_model.hpp"
#include "test/support/job.hpp"

namespace ina::test {
namespace {

using core::Cell;
using core::CostModel;
using core::Family;
using core::Path;
using core::PathPlan;
using core::PlanBits;

constexpr Cell kSmall{.family = Family::kExact, .size_class = 3};
constexpr Cell kSmallFloats{.family = Family::kFloatSum, .size_class = 3};

TEST(SizeClasses, EndAtPowersOfTwo) {
  EXPECT_EQ(core::size_class_of(1), 0u);
  EXPECT_EQ(core::size_class_of(2), 1u);
  EXPECT_EQ(core::size_class_of(4), 2u);
  EXPECT_EQ(core::size_class_of(5), 3u);
  EXPECT_EQ(core::size_class_of(4096), 12u);
  EXPECT_EQ(core::size_class_of(4097), 13u);
  EXPECT_EQ(core::size_class_of(std::size_t{1} << 40), core::kSizeClasses - 1);
}

TEST(SizeClasses, OnlySumsOfFloatsAreNotExact) {
  EXPECT_EQ(core::cell_of(wire::Op::kSum, wire::LaneType::kFloat32, 8).family, Family::kFloatSum);
  EXPECT_EQ(core::cell_of(wire::Op::kMax, wire::LaneType::kFloat64, 8).family, Family::kExact);
  EXPECT_EQ(core::cell_of(wire::Op::kSum, wire::LaneType::kInt64, 8).family, Family::kExact);
}

std::vector<Path> round_of(PathPlan& plan, Cell cell) {
  std::vector<Path> paths;
  for (; !plan.is_due(cell); plan.count(cell)) paths.push_back(plan.path_of(cell));
  return paths;
}

TEST(PathPlan, ATrialTakesBothPathsAndEndsInACheckpoint) {
  PathPlan plan;
  EXPECT_FALSE(plan.is_due(kSmall));
  plan.apply(core::kAllOnTrial);
  EXPECT_EQ(round_of(plan, kSmall), (std::vector{Path::kSoftware, Path::kSoftware, Path::kSwitch, Path::kSwitch, Path::kSoftware}));
  EXPECT_EQ(round_of(plan, kSmallFloats), (std::vector{Path::kSoftware, Path::kSoftware, Path::kShadow, Path::kShadow, Path::kSoftware}));
  EXPECT_TRUE(plan.is_due(kSmall));
  plan.apply(core::kAllOnTrial);
  EXPECT_EQ(round_of(plan, kSmall).size(), PathPlan::kRound);
  PlanBits chosen = plan.bits();
  chosen.set(&PlanBits::on_trial, kSmall, false);
  chosen.set(&PlanBits::by_switch, kSmall, true);
  plan.apply(chosen);
  EXPECT_FALSE(plan.is_due(kSmall));
  EXPECT_EQ(plan.path_of(kSmall), Path::kSwitch);
}

TEST(PathPlan, ARoundGoesOnWhenADecisionSaysNothingNew) {
  PathPlan plan;
  plan.apply(core::kAllOnTrial);
  plan.count(kSmall);
  plan.apply(core::kAllOnTrial);
  EXPECT_EQ(round_of(plan, kSmall).size(), PathPlan::kRound - 1u);
}

// A leader and its own plan: operations of given times.
struct Leading {
  CostModel costs;
  PathPlan plan;
  std::uint64_t operations = 0, by_switch = 0, switch_ns = 0, software_ns = 0, spent_ns = 0;
  bool has_changed_bits = false;

  explicit Leading(std::uint64_t with_switch, std::uint64_t in_software) : switch_ns(with_switch), software_ns(in_software) { plan.apply(costs.begin()); }
  void operate(Cell cell) {
    ++operations;
    if (plan.is_due(cell) || operations % 1024 == 0) plan.apply(costs.next(plan));
    const Path path = plan.path_of(cell);
    if (plan.is_timed(cell)) costs.record(cell.size_class, path, path == Path::kSoftware ? software_ns : switch_ns);
    spent_ns += (path == Path::kSoftware ? 0 : switch_ns) + (path == Path::kSwitch ? 0 : software_ns);
    by_switch += path == Path::kSwitch ? 1 : 0;
    plan.count(cell);
    costs.count(cell);
  }
};

TEST(CostModel, ALargeVectorIsOnTrialForTenOperationsAtMost) {
  const Cell large{.family = Family::kFloatSum, .size_class = 22};
  Leading leading(100, 101);
  for (int i = 0; i < 11; ++i) leading.operate(large);
  EXPECT_FALSE(leading.plan.is_on_trial(large));
}

TEST(CostModel, TheFasterPathIsChosenWithinFortyOperations) {
  for (const auto& [with_switch, in_software] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{{100, 1000}, {100, 250}, {100, 110}, {110, 100}, {1000, 100}}) {
    for (const Cell cell : {kSmall, kSmallFloats, Cell{.family = Family::kExact, .size_class = 24}}) {
      Leading leading(with_switch, in_software);
      for (int i = 0; i < 41; ++i) leading.operate(cell);
      EXPECT_FALSE(leading.plan.is_on_trial(cell)) << with_switch << " " << in_software;
      EXPECT_EQ(leading.plan.path_of(cell), with_switch < in_software ? Path::kSwitch : Path::kSoftware) << with_switch << " " << in_software;
    }
  }
}

TEST(CostModel, ExploringCostsFewPercentOfTheTime) {
  for (const auto& [with_switch, in_software] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{{100, 130}, {100, 10'000}, {10'000, 100}, {130, 100}}) {
    Leading leading(with_switch, in_software);
    for (int i = 0; i < 64; ++i) leading.operate(kSmall);
    const std::uint64_t before = leading.spent_ns;
    for (int i = 0; i < 200'000; ++i) leading.operate(kSmall);
    const double least = 200'000.0 * static_cast<double>(std::min(with_switch, in_software));
    EXPECT_LT(static_cast<double>(leading.spent_ns - before), 1.025 * least) << with_switch << " " << in_software;
  }
}

TEST(CostModel, AChoiceFollowsWhatOperationsTakeLater) {
  Leading leading(100, 300);
  for (int i = 0; i < 1000; ++i) leading.operate(kSmall);
  EXPECT_EQ(leading.plan.path_of(kSmall), Path::kSwitch);
  leading.switch_ns = 1000;
  for (int i = 0; i < 4000; ++i) leading.operate(kSmall);
  EXPECT_FALSE(leading.plan.bits().is_set(&PlanBits::by_switch, kSmall));
}

TEST(CostModel, ASmallDifferenceChangesNothing) {
  Leading leading(100, 104);
  for (int i = 0; i < 100; ++i) leading.operate(kSmall);
  leading.switch_ns = 108;
  for (int i = 0; i < 20'000; ++i) leading.operate(kSmall);
  EXPECT_TRUE(leading.plan.bits().is_set(&PlanBits::by_switch, kSmall));
}

TEST(CostModel, SumsOfFloatsAreNeverLookedAtAgain) {
  Leading leading(100, 300);
  for (int i = 0; i < 41; ++i) leading.operate(kSmallFloats);
  leading.switch_ns = 10'000;
  for (int i = 0; i < 100'000; ++i) leading.operate(kSmallFloats);
  EXPECT_EQ(leading.plan.path_of(kSmallFloats), Path::kSwitch);
  leading.plan = {};
  leading.plan.apply(leading.costs.begin());  // another group
  EXPECT_EQ(leading.plan.path_of(kSmallFloats), Path::kSwitch);
  EXPECT_FALSE(leading.plan.is_on_trial(kSmallFloats));
  EXPECT_TRUE(leading.plan.is_on_trial(kSmall));
}

TEST(CostModel, WhatIntegersTookDecidesForFloatsOfTheSameSize) {
  Leading leading(100, 300);
  for (int i = 0; i < 41; ++i) leading.operate(kSmall);
  EXPECT_FALSE(leading.plan.is_on_trial(kSmallFloats));
  EXPECT_EQ(leading.plan.path_of(kSmallFloats), Path::kSwitch);
}

TEST(CostModel, AClassBetweenTwoClearOnesIsPredicted) {
  const Cell between{.family = Family::kFloatSum, .size_class = 5}, above{.family = Family::kExact, .size_class = 7}, beyond{.family = Family::kExact, .size_class = 9};
  Leading leading(100, 300);
  for (int i = 0; i < 41; ++i) leading.operate(kSmall);
  for (int i = 0; i < 41; ++i) leading.operate(above);
  EXPECT_FALSE(leading.plan.is_on_trial(between));
  EXPECT_EQ(leading.plan.path_of(between), Path::kSwitch);
  EXPECT_TRUE(leading.plan.is_on_trial(beyond));
}

TEST(CostModel, LargeClassesGoOnAsThoseBelowThem) {
  Leading leading(1000, 1300);
  const auto run = [&](std::uint8_t size_class) {
    for (int i = 0; i < 41; ++i) leading.operate({.family = Family::kFloatSum, .size_class = size_class});
  };
  run(16);
  run(18);
  EXPECT_TRUE(leading.plan.is_on_trial({.family = Family::kFloatSum, .size_class = 20}));
  run(20);
  for (const Family family : {Family::kExact, Family::kFloatSum}) {
    for (std::uint8_t size_class = 21; size_class <= 24; ++size_class) {
      EXPECT_FALSE(leading.plan.is_on_trial({.family = family, .size_class = size_class}));
      EXPECT_EQ(leading.plan.path_of({.family = family, .size_class = size_class}), Path::kSwitch);
    }
  }
}

TEST(CostModel, OperationsThatWereNotMeasuredEndATrialAllTheSame) {
  CostModel costs;
  PathPlan plan;
  plan.apply(costs.begin());
  for (int i = 0; i < 100 && plan.is_on_trial(kSmall); ++i) {
    if (plan.is_due(kSmall)) plan.apply(costs.next(plan));
    plan.count(kSmall);
  }
  EXPECT_FALSE(plan.is_on_trial(kSmall));
  EXPECT_EQ(plan.path_of(kSmall), Path::kSwitch);
}

TEST(CostModel, TheSummaryTellsWhichSizesGoWhere) {
  Leading leading(100, 300);
  for (std::uint8_t size_class = 3; size_class <= 5; ++size_class) {
    for (int i = 0; i < 41; ++i) leading.operate({.family = Family::kExact, .size_class = size_class});
  }
  std::swap(leading.switch_ns, leading.software_ns);
  for (int i = 0; i < 41; ++i) leading.operate({.family = Family::kFloatSum, .size_class = 14});
  EXPECT_EQ(leading.costs.summary(), "exact results: switch 8 B to 32 B; sums of floats: software 16 KiB");
}

constexpr std::uint64_t kSlowNs = 20'000'000;  // a component below that no switch of these tests is slower than
const auto kSlowBelow = [](std::size_t) { return kSlowNs; };
const auto kFastBelow = [](std::size_t) { return std::uint64_t{1}; };

bool went_below(const TestComm& comm, std::uint64_t index) { return comm.routes.at(index).begin()->second == INA_ROUTE_SOFTWARE; }

// The same program on all ranks until the group is there, so that what follows is about the plan.
void warm_up(Job& job, TestComm& comm) {
  for (int round = 0; round < 60 && job.manager.groups().empty(); ++round) {
    job.each([&](Process& process, int) { process.allreduce(comm, 200); });
    ASSERT_NO_FATAL_FAILURE(job.run());
    job.skip(1'000'000);
  }
}

void operate(Job& job, TestComm& comm, std::size_t lanes, int times, bool doubles) {
  job.each([&](Process& process, int) {
    for (int i = 0; i < times; ++i) {
      if (doubles) process.allreduce_doubles(comm, lanes);
      if (!doubles) process.allreduce(comm, lanes);
    }
  });
  ASSERT_NO_FATAL_FAILURE(job.run());
}

TEST(Auto, ConvergesToTheSwitchWhereThatIsFaster) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Job job({.size = 4, .seed = seed, .select = "auto", .below_ns = kSlowBelow});
    TestComm& world = job.make_world();
    ASSERT_NO_FATAL_FAILURE(warm_up(job, world));
    ASSERT_NO_FATAL_FAILURE(operate(job, world, 3, 160, false));
    for (std::uint64_t index = world.called[0] - 20; index <= world.called[0]; ++index) EXPECT_FALSE(went_below(world, index)) << index << ", seed " << seed;
    ASSERT_NO_FATAL_FAILURE(operate(job, world, 3, 20, true));  // integers of that size have been timed: no trial
    for (std::uint64_t index = world.called[0] - 19; index <= world.called[0]; ++index) EXPECT_FALSE(went_below(world, index)) << index << ", seed " << seed;
  }
}

TEST(Auto, ConvergesToSoftwareWhereThatIsFaster) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Job job({.size = 4, .seed = seed, .select = "auto", .below_ns = kFastBelow});
    TestComm& world = job.make_world();
    ASSERT_NO_FATAL_FAILURE(warm_up(job, world));
    ASSERT_NO_FATAL_FAILURE(operate(job, world, 300, 160, false));
    for (std::uint64_t index = world.called[0] - 20; index <= world.called[0]; ++index) EXPECT_TRUE(went_below(world, index)) << index << ", seed " << seed;
    job.each([&](Process& process, int) { EXPECT_GE(process.counters().declined_by_reason[INA_DECLINE_COST], 20u); });
    job.each([](Process& process, int) { process.shut_down(); });
    ASSERT_NO_FATAL_FAILURE(job.run());
    EXPECT_NE(job.process(0).log.back().find("chosen by the time they took: exact results: "), std::string::npos) << job.process(0).log.back();
  }
}

// Whatever the ranks' speeds are, blocking and not, sizes and types mixed: Job checks that all ranks go the same way and that results are right.
TEST(Auto, AllRanksGoTheSameWayAndSumsOfFloatsChangeTheirsOnce) {
  int sizes_by_switch = 0, sizes_below = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::mt19937_64 random(seed);
    JobSpec spec{.size = 3 + static_cast<int>(seed % 3), .seed = seed, .select = "auto"};
    spec.below_ns = [seed](std::size_t bytes) { return seed % 2 == 0 ? 20'000 + 100 * bytes : 700'000 - 300 * bytes; };
    for (int rank = 0; rank < spec.size; ++rank) spec.speeds.push_back(std::uniform_real_distribution<double>(0.05, 1)(random));
    Job job(spec);
    TestComm& world = job.make_world();
    ASSERT_NO_FATAL_FAILURE(warm_up(job, world));
    const std::uint64_t first = world.called[0] + 1;
    std::map<std::uint64_t, std::size_t> doubles;  // index: lanes
    for (int round = 0; round < 60; ++round) {
      std::uint64_t index = world.called[0];
      for (int i = 0; i < 6; ++i) {
        const std::size_t lanes = std::size_t{1} << 4 * std::uniform_int_distribution<int>(0, 2)(random);
        const unsigned kind = std::uniform_int_distribution<unsigned>(0, 3)(random);
        ++index;
        if (kind == 2) doubles[index] = lanes;
        job.each([&](Process& process, int) {
          if (kind == 0) process.allreduce(world, lanes);
          if (kind == 1) process.iallreduce(world, lanes);
          if (kind == 2) process.allreduce_doubles(world, lanes);
          if (kind == 3) process.iallreduce_doubles(world, lanes);
        });
      }
      job.each([](Process& process, int) { process.wait_all(); });
      ASSERT_NO_FATAL_FAILURE(job.run());
    }
    for (std::size_t lanes = 1; lanes <= 256; lanes *= 16) {
      int changes = 0;
      bool was_below = true;
      for (const auto& [index, count] : doubles) {
        if (count != lanes || index < first) continue;
        changes += went_below(world, index) != was_below ? 1 : 0;
        was_below = went_below(world, index);
      }
      EXPECT_LE(changes, 1) << lanes << " doubles, seed " << seed;
      (was_below ? sizes_below : sizes_by_switch) += 1;
    }
    job.each([](Process& process, int) { process.shut_down(); });
    ASSERT_NO_FATAL_FAILURE(job.run());
  }
  EXPECT_GT(sizes_by_switch, 3);
  EXPECT_GT(sizes_below, 3);
}

// The trial of a sum of floats uses the switch beside software. A group that fails meanwhile disturbs no result.
TEST(Auto, AFailoverInTheMiddleOfATrialEndsRight) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Job job({.size = 4, .seed = seed, .select = "auto", .below_ns = kSlowBelow});
    TestComm& world = job.make_world();
    ASSERT_NO_FATAL_FAILURE(warm_up(job, world));
    job.each([&](Process& process, int rank) {
      for (int i = 0; i < 30; ++i) {
        process.iallreduce_doubles(world, 150);
        process.allreduce_doubles(world, 100);
        process.iallreduce(world, 400);
        if (i == static_cast<int>(seed) && rank == 1) process.then([&] { job.network.mode = seed % 2 == 0 ? SwitchMode::kIsDead : SwitchMode::kForgets; });
        process.wait_all();
      }
    });
    ASSERT_NO_FATAL_FAILURE(job.run());
    job.each([](Process& process, int) { process.shut_down(); });
    ASSERT_NO_FATAL_FAILURE(job.run());
  }
}

TEST(Auto, OneNodeIsComparedWhereTheUserWantsIt) {
  Job job({.size = 3, .seed = 2, .select = "auto", .one_node = true, .below_ns = kSlowBelow});
  TestComm& comm = job.make_comm("communicator 3", {0, 1, 2}, true);
  ASSERT_NO_FATAL_FAILURE(warm_up(job, comm));
  ASSERT_NO_FATAL_FAILURE(operate(job, comm, 3, 100, false));
  EXPECT_GT(job.process(1).counters().operations_offloaded, 20u);
  job.each([](Process& process, int) { process.shut_down(); });
  ASSERT_NO_FATAL_FAILURE(job.run());
}

}  // namespace
}  // namespace ina::test
