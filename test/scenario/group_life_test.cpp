// A manager and the real aggregator in one process: a group's life from open to its end, as hosts and packets make it.
#include <array>
#include <bit>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "switch/aggregator/aggregator.hpp"
#include "test/manager/manager_bench.hpp"
#include "test/scenario/ring.hpp"

namespace ina::scenario {
namespace {

using aggregator::Action;
using aggregator::Drop;
using net::Descriptor;
using nlohmann::json;
using std::chrono::milliseconds;
using wire::Direction;

class GroupLifeTest : public ::testing::Test, protected manager::ManagerBench {
 protected:
  static constexpr std::uint16_t kMembers = 4;

  GroupLifeTest() {
    start(aggregator);
    leader = greeted();
  }
  ~GroupLifeTest() override { manager.reset(); }
  [[nodiscard]] net::Descriptor greeted() {
    net::Descriptor host = connected();
    EXPECT_TRUE(ask(host, manager::kHello).contains("welcome"));
    return host;
  }
  [[nodiscard]] json request(const net::Descriptor& host, const json& line) { return ask(host, line.dump() + "\n"); }
  [[nodiscard]] json opened(const net::Descriptor& host, std::uint32_t window = 16) {
    return request(host, {{"id", 1}, {"request", "open"}, {"members", kMembers}, {"window", window}, {"payload", 1024}})["result"];
  }
  [[nodiscard]] static Ring ring_of(const json& grant, std::uint32_t base = 100) {
    return Ring({.group = grant["group"],
                 .epoch = grant["epoch"],
                 .members = kMembers,
                 .window = grant["window"],
                 .first_seq = grant["first_seq"],
                 .place_bytes = static_cast<std::uint32_t>(std::bit_ceil(grant["payload"].get<std::uint32_t>()))},
                base);
  }
  // What softswitch does with the outcome of a bind.
  Drop bind(Ring& ring, std::uint16_t connection, Direction direction, std::optional<std::uint32_t> epoch = {},
            std::optional<aggregator::Endpoint> source = {}) {
    const aggregator::Outcome outcome = ring.bind(aggregator, connection, direction, epoch, source);
    if (outcome.bound_group != 0) manager->on_bind(outcome.bound_group);
    return outcome.reason;
  }
  void bind_all(Ring& ring) {
    for (std::uint16_t c = 0; c < kMembers; ++c) {
      EXPECT_EQ(bind(ring, c, Direction::kForward), Drop::kNone);
      EXPECT_EQ(bind(ring, c, Direction::kBackward), Drop::kNone);
    }
  }
  [[nodiscard]] static json active(const json& grant) { return {{"event", "active"}, {"group", grant["group"]}}; }
  [[nodiscard]] Ring running(const net::Descriptor& host, std::uint32_t base = 100) {
    const json grant = opened(host);
    Ring ring = ring_of(grant, base);
    bind_all(ring);
    EXPECT_EQ(json::parse(get(host)), active(grant));
    return ring;
  }
  // One chunk of all members, checked on every connection.
  void sum(Ring& ring, std::uint32_t chunk) {
    for (std::uint16_t m = 0; m < kMembers; ++m) {
      EXPECT_TRUE(ring.take_results(m).empty());
      EXPECT_EQ(ring.contribute(aggregator, m, chunk, {m, 10 * m, -m, static_cast<std::int32_t>(chunk)}).action, Action::kAbsorb);
    }
    for (std::uint16_t m = 0; m < kMembers; ++m) {
      const std::vector<Received> results = ring.take_results(m);
      ASSERT_EQ(results.size(), 1u) << "connection " << m << " chunk " << chunk;
      EXPECT_EQ(results[0].lanes, (std::vector<std::int32_t>{6, 60, -6, static_cast<std::int32_t>(4 * chunk)}));
      EXPECT_EQ(results[0].header.kind, wire::Kind::kResult);
      EXPECT_EQ(results[0].header.contributions, kMembers);
      EXPECT_EQ(results[0].header.epoch, ring.granted().epoch);
      EXPECT_EQ(results[0].header.seq, ring.granted().first_seq + chunk);
      EXPECT_EQ(results[0].header.member, m);
    }
  }
  [[nodiscard]] json close(const net::Descriptor& host, const Ring& ring) {
    return request(host, {{"id", 8}, {"request", "close"}, {"group", ring.granted().group}});
  }
  // A contribution of a group that the switch does not know passes through: the receiver finds data without proof of aggregation.
  void expect_unknown(Ring& ring) { EXPECT_EQ(ring.contribute(aggregator, 0, 0, {}).action, Action::kForward); }

  aggregator::Aggregator aggregator{{.slots = 128}};
  net::Descriptor leader;
};

TEST_F(GroupLifeTest, OpenBindSumClose) {
  Ring ring = running(leader);
  for (std::uint32_t chunk = 0; chunk < 200; ++chunk) sum(ring, chunk);
  EXPECT_EQ(close(leader, ring)["result"], json::object());
  EXPECT_EQ(aggregator.slots_free(), 128u);
  expect_unknown(ring);
}

TEST_F(GroupLifeTest, SeqWrapsInTheLifeOfOneGroup) {
  Ring ring = running(leader);
  const std::uint32_t before_wrap = 0u - ring.granted().first_seq;
  for (std::uint32_t chunk = 0; chunk < before_wrap + 64; ++chunk) {
    for (std::uint16_t m = 0; m < kMembers; ++m)
      ASSERT_EQ(ring.contribute(aggregator, m, chunk, {m, 0, 0, 0}).action, Action::kAbsorb) << "chunk " << chunk;
    const std::vector<Received> results = ring.take_results(2);
    ASSERT_EQ(results.size(), 1u);
    ASSERT_EQ(results[0].lanes[0], 6);
    for (std::uint16_t m = 0; m < kMembers; ++m) static_cast<void>(ring.take_results(m));
  }
}

TEST_F(GroupLifeTest, NothingIsSummedBeforeTheLastBind) {
  const json grant = opened(leader);
  Ring ring = ring_of(grant);
  for (std::uint16_t c = 0; c < kMembers; ++c) {
    bind(ring, c, Direction::kForward);
    EXPECT_EQ(ring.contribute(aggregator, c, 0, {}).reason, Drop::kNotActive);
    if (c + 1 < kMembers) bind(ring, c, Direction::kBackward);
  }
  EXPECT_EQ(get(leader), "");
  bind(ring, kMembers - 1, Direction::kBackward);
  EXPECT_EQ(json::parse(get(leader)), active(grant));
  sum(ring, 0);
}

TEST_F(GroupLifeTest, AGroupWhoseMembersNeverBindIsNeverActivated) {
  const json grant = opened(leader);
  Ring ring = ring_of(grant);
  bind(ring, 0, Direction::kForward);
  bind(ring, 0, Direction::kBackward);
  bind(ring, 2, Direction::kForward);
  pass(milliseconds(10000));
  const json failed = json::parse(get(leader));
  EXPECT_EQ(failed["event"], "failed");
  EXPECT_EQ(failed["reason"], "bind-timeout");
  EXPECT_EQ(failed["text"], "connections 1, 2 and 3 did not bind within 10000 ms (3 of 8 binds seen)");
  EXPECT_EQ(aggregator.slots_free(), 128u);
  expect_unknown(ring);
}

TEST_F(GroupLifeTest, RepeatedBindsCountOnce) {
  const json grant = opened(leader);
  Ring ring = ring_of(grant);
  for (int i = 0; i < 10; ++i) bind(ring, 1, Direction::kForward);
  EXPECT_EQ(request(leader, {{"id", 3}, {"request", "status"}})["result"]["groups"][0]["binds_seen"], 1);
  bind_all(ring);
  EXPECT_EQ(json::parse(get(leader)), active(grant));
}

TEST_F(GroupLifeTest, ForgedBindsChangeNothing) {
  const json grant = opened(leader);
  Ring ring = ring_of(grant);
  const std::uint32_t guessed = ring.granted().epoch + 1;
  for (std::uint16_t c = 0; c < kMembers; ++c) EXPECT_EQ(bind(ring, c, Direction::kForward, guessed), Drop::kWrongEpoch);
  bind_all(ring);
  EXPECT_EQ(json::parse(get(leader)), active(grant));
  const aggregator::Endpoint foreign{999};
  EXPECT_EQ(bind(ring, 1, Direction::kForward, {}, foreign), Drop::kBindConflict);
  EXPECT_EQ(bind(ring, 1, Direction::kBackward, {}, foreign), Drop::kBindConflict);
  sum(ring, 0);
}

TEST_F(GroupLifeTest, AForgedBindThatCameFirstEndsInATimeoutNotInAWrongSum) {
  const json grant = opened(leader);
  Ring ring = ring_of(grant);
  EXPECT_EQ(bind(ring, 1, Direction::kForward, {}, aggregator::Endpoint{999}), Drop::kNone) << "with the epoch, the first one counts";
  EXPECT_EQ(bind(ring, 1, Direction::kForward), Drop::kBindConflict);
  EXPECT_EQ(bind(ring, 1, Direction::kBackward), Drop::kBindConflict) << "both ends have to agree";
  pass(milliseconds(10000));
  EXPECT_EQ(json::parse(get(leader))["reason"], "bind-timeout");
}

TEST_F(GroupLifeTest, TwoGroupsAtOnceDoNotMix) {
  const net::Descriptor other_leader = greeted();
  Ring first = running(leader, 100);
  Ring second = running(other_leader, 200);
  for (std::uint32_t chunk = 0; chunk < 50; ++chunk) {
    ASSERT_EQ(first.contribute(aggregator, 0, chunk, {1, 0, 0, 0}).action, Action::kAbsorb);
    sum(second, chunk);
    for (std::uint16_t m = 1; m < kMembers; ++m)
      ASSERT_EQ(first.contribute(aggregator, m, chunk, {1, 0, 0, 0}).action, Action::kAbsorb);
    for (std::uint16_t m = 0; m < kMembers; ++m) EXPECT_EQ(first.take_results(m).at(0).lanes[0], 4);
  }
  static_cast<void>(close(leader, first));
  sum(second, 50);
  expect_unknown(first);
}

TEST_F(GroupLifeTest, ALeaseLostInTheMiddleEndsItsGroupsOnly) {
  net::Descriptor dying = greeted();
  Ring survivor = running(leader, 100);
  Ring victim = running(dying, 200);
  ASSERT_EQ(victim.contribute(aggregator, 0, 0, {}).action, Action::kAbsorb);
  dying = net::Descriptor();
  serve();
  sum(survivor, 0);
  EXPECT_EQ(victim.contribute(aggregator, 1, 0, {}).action, Action::kAbsorb) << "within the grace time it goes on";
  pass(milliseconds(2000));
  expect_unknown(victim);
  sum(survivor, 1);
  EXPECT_EQ(aggregator.slots_free(), 128u - 32u);
}

TEST_F(GroupLifeTest, ALeaseResumedInTheMiddleLosesNothing) {
  const json grant = opened(leader);
  Ring ring = ring_of(grant);
  bind_all(ring);
  sum(ring, 0);
  ASSERT_EQ(ring.contribute(aggregator, 0, 1, {5, 0, 0, 0}).action, Action::kAbsorb);
  leader = net::Descriptor();
  serve();
  pass(milliseconds(1500));
  const net::Descriptor again = greeted();
  const json resumed = request(again, {{"id", 1}, {"request", "resume"}, {"lease", grant["lease"]}});
  EXPECT_EQ(resumed["result"], (json{{"groups", {grant["group"]}}, {"active", {grant["group"]}}}));
  pass(milliseconds(60000));
  for (std::uint16_t m = 1; m < kMembers; ++m) ASSERT_EQ(ring.contribute(aggregator, m, 1, {5, 0, 0, 0}).action, Action::kAbsorb);
  EXPECT_EQ(ring.take_results(3).at(0).lanes[0], 20);
}

TEST_F(GroupLifeTest, LatePacketsOfAnOldLifeDoNotReachTheNext) {
  Ring old_life = running(leader);
  sum(old_life, 0);
  static_cast<void>(close(leader, old_life));
  Ring next_life = running(leader);
  EXPECT_NE(next_life.granted().group, old_life.granted().group);
  EXPECT_NE(next_life.granted().epoch, old_life.granted().epoch);
  EXPECT_EQ(old_life.contribute(aggregator, 0, 1, {1000, 0, 0, 0}).action, Action::kForward);
  EXPECT_EQ(next_life.contribute(aggregator, 0, 0, {}, old_life.granted().epoch).reason, Drop::kWrongEpoch);
  sum(next_life, 0);
}

TEST_F(GroupLifeTest, SlotsRunOutAndComeBack) {
  std::vector<Ring> rings;
  for (std::uint32_t i = 0; i < 4; ++i) rings.push_back(running(leader, 100 * (i + 1)));
  const json refused = request(leader, {{"id", 1}, {"request", "open"}, {"members", kMembers}, {"window", 16}, {"payload", 1024}});
  EXPECT_EQ(refused["error"]["code"], "no-slots");
  for (Ring& ring : rings) sum(ring, 0);
  static_cast<void>(close(leader, rings[1]));
  Ring again = running(leader, 900);
  sum(again, 0);
}

TEST_F(GroupLifeTest, OpenAndCloseInALoop) {
  for (std::uint32_t i = 0; i < 300; ++i) {
    Ring ring = running(leader);
    sum(ring, 0);
    sum(ring, 1);
    static_cast<void>(close(leader, ring));
  }
  EXPECT_EQ(aggregator.slots_free(), 128u);
}

TEST_F(GroupLifeTest, StatusCountsWhatAGroupDid) {
  Ring ring = running(leader);
  for (std::uint32_t chunk = 0; chunk < 3; ++chunk) sum(ring, chunk);
  const json group = request(leader, {{"id", 3}, {"request", "status"}})["result"]["groups"][0];
  EXPECT_EQ(group["phase"], "active");
  EXPECT_EQ(group["counters"]["contributions"], 3 * kMembers);
  EXPECT_EQ(group["counters"]["results"], 3);
}

}  // namespace
}  // namespace ina::scenario
