#include <set>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "switch/manager/group_table.hpp"
#include "test/manager/fake_switch.hpp"
#include "test/manager/virtual_settings.hpp"
#include "wire/ina_header.hpp"

namespace ina::manager {
namespace {

using std::chrono::milliseconds;

class GroupTableTest : public ::testing::Test {
 protected:
  static constexpr ConnectionId kHost{1};
  static constexpr ConnectionId kOther{2};

  [[nodiscard]] Opened open(ConnectionId host = kHost, OpenRequest request = {.members = 3, .window = 128, .payload = 1024}) {
    auto answer = table.open(host, client, request, time.now);
    if (const auto* refusal = std::get_if<Refusal>(&answer)) {
      ADD_FAILURE() << refusal->code << ": " << refusal->text;
      return {};
    }
    return std::get<Opened>(answer);
  }
  [[nodiscard]] Refusal refused(OpenRequest request) {
    auto answer = table.open(kHost, client, request, time.now);
    return std::holds_alternative<Refusal>(answer) ? std::get<Refusal>(answer) : Refusal{"opened", ""};
  }
  void pass(milliseconds duration) {
    time.now += duration;
    table.on_time(time.now);
  }

  FakeSwitch fake;
  VirtualSettings time;
  ManagerSettings settings = time.settings();
  Client client{.hello = {.client = "c", .host = "n1", .pid = 7}, .address = "10.0.0.1:1"};
  std::vector<std::pair<ConnectionId, Event>> events;
  GroupTable table{fake, settings, [this](ConnectionId host, const Event& event) { events.emplace_back(host, event); }};
};

TEST_F(GroupTableTest, AGroupIsPreparedAsItIsAnswered) {
  const Opened opened = open(kHost, {.members = 3, .window = 100, .payload = 1000});
  const aggregator::GroupSpec& spec = fake.known.at(opened.group).spec;
  EXPECT_NE(opened.group, 0u);
  EXPECT_NE(opened.epoch, 0u);
  EXPECT_EQ(opened.window, 64u);
  EXPECT_EQ(opened.payload, 1000u);
  EXPECT_EQ(opened.first_seq % (2 * opened.window), 0u);
  EXPECT_EQ(spec.epoch, opened.epoch);
  EXPECT_EQ(spec.members, 3u);
  EXPECT_EQ(spec.window, 64u);
  EXPECT_EQ(spec.first_seq, opened.first_seq);
  EXPECT_EQ(spec.place_bytes, 1024u);
  EXPECT_EQ(opened.lease.size(), 32u);
  EXPECT_EQ(table.slots_free(), 1024u - 128u);
  EXPECT_FALSE(fake.known.at(opened.group).is_active);
}

TEST_F(GroupTableTest, AskingForTooMuchGetsWhatThereIs) {
  const Opened opened = open(kHost, {.members = 256, .window = 1ull << 40, .payload = ~0ull});
  EXPECT_EQ(opened.window, 128u);
  EXPECT_EQ(opened.payload, 4096u);
}

TEST_F(GroupTableTest, APayloadIsAMultipleOfFour) {
  EXPECT_EQ(open(kHost, {.members = 2, .window = 16, .payload = 1003}).payload, 1000u);
}

TEST_F(GroupTableTest, SeqWrapsWithinAMillionChunks) {
  for (int i = 0; i < 200; ++i) {
    const Opened opened = open();
    EXPECT_GE(opened.first_seq, 0u - (1u << 20));
    EXPECT_EQ(table.close(kHost, opened.group), std::nullopt);
  }
}

TEST_F(GroupTableTest, MembersOutsideTheSwitchsRangeAreRefused) {
  for (const std::uint64_t members : {0ull, 1ull, 257ull, 1ull << 32, ~0ull})
    EXPECT_EQ(refused({.members = members, .window = 16, .payload = 1024}).code, kMembers) << members;
}

TEST_F(GroupTableTest, TooSmallAWindowOrPayloadIsRefused) {
  EXPECT_EQ(refused({.members = 2, .window = 15, .payload = 1024}).code, kBadRequest);
  EXPECT_EQ(refused({.members = 2, .window = 0, .payload = 1024}).code, kBadRequest);
  EXPECT_EQ(refused({.members = 2, .window = 16, .payload = 63}).code, kBadRequest);
}

TEST_F(GroupTableTest, TheWindowShrinksToWhatIsFreeAndThenThereAreNoSlots) {
  std::vector<std::uint32_t> windows;
  for (int i = 0; i < 3; ++i) windows.push_back(open().window);
  static_cast<void>(open(kHost, {.members = 2, .window = 64, .payload = 64}));
  windows.push_back(open().window);
  EXPECT_EQ(windows, (std::vector<std::uint32_t>{128, 128, 128, 64}));
  const Refusal refusal = refused({.members = 2, .window = 128, .payload = 64});
  EXPECT_EQ(refusal.code, kNoSlots);
  EXPECT_EQ(refusal.text, "0 of 1024 slots are free; a window of 128 takes 256, the smallest takes 32");
}

TEST_F(GroupTableTest, SlotsOfAClosedGroupAreHandedOutAgain) {
  std::vector<std::uint32_t> groups;
  for (int i = 0; i < 4; ++i) groups.push_back(open().group);
  EXPECT_EQ(refused({.members = 2, .window = 128, .payload = 64}).code, kNoSlots);
  EXPECT_EQ(table.close(kHost, groups[2]), std::nullopt);
  EXPECT_EQ(open().window, 128u);
}

TEST_F(GroupTableTest, ASwitchThatRefusesIsAskedForLess) {
  fake.largest_window = 32;
  EXPECT_EQ(open().window, 32u);
  fake.largest_window = 8;
  EXPECT_EQ(refused({.members = 2, .window = 128, .payload = 64}).code, kNoSlots);
  EXPECT_EQ(table.slots_free(), 1024u - 64u);
}

TEST_F(GroupTableTest, ARefusedOpenLeavesNoLease) {
  EXPECT_EQ(refused({.members = 1, .window = 128, .payload = 64}).code, kMembers);
  EXPECT_EQ(table.leases(), 0u);
}

TEST_F(GroupTableTest, ALeaseHoldsABoundedNumberOfGroups) {
  settings.max_groups_per_lease = 2;
  const Opened first = open();
  static_cast<void>(open());
  EXPECT_EQ(refused({.members = 2, .window = 16, .payload = 64}).code, kNoSlots);
  EXPECT_EQ(table.close(kHost, first.group), std::nullopt);
  static_cast<void>(open());
}

TEST_F(GroupTableTest, AGroupIsActivatedByItsLastBindOnly) {
  const Opened opened = open();
  for (std::uint16_t c = 0; c < 3; ++c) {
    fake.bind(opened.group, c, true);
    table.on_bind(opened.group);
    EXPECT_FALSE(fake.known.at(opened.group).is_active);
    EXPECT_TRUE(events.empty());
    if (c == 2) break;
    fake.bind(opened.group, c, false);
    table.on_bind(opened.group);
  }
  fake.bind(opened.group, 2, false);
  table.on_bind(opened.group);
  EXPECT_TRUE(fake.known.at(opened.group).is_active);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].first, kHost);
  EXPECT_EQ(events[0].second.kind, EventKind::kActive);
  table.on_bind(opened.group);
  EXPECT_EQ(events.size(), 1u) << "active is said once";
}

TEST_F(GroupTableTest, AGroupWhoseMembersNeverBindIsNeverActivated) {
  const Opened opened = open();
  pass(milliseconds(9999));
  table.on_bind(opened.group);
  EXPECT_TRUE(events.empty());
  pass(milliseconds(1));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].second.kind, EventKind::kFailed);
  EXPECT_EQ(events[0].second.reason, "bind-timeout");
  EXPECT_EQ(events[0].second.text, "connections 0, 1 and 2 did not bind within 10000 ms (0 of 6 binds seen)");
  EXPECT_EQ(fake.removed, std::vector<std::uint32_t>{opened.group});
  EXPECT_EQ(table.slots_free(), 1024u);
  EXPECT_EQ(time.warnings.size(), 1u);
}

TEST_F(GroupTableTest, ALateBindOfAFailedGroupChangesNothing) {
  const Opened opened = open();
  pass(milliseconds(10000));
  table.on_bind(opened.group);
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(GroupTableTest, TheConnectionsThatMissABindAreNamed) {
  const Opened opened = open();
  fake.bind_all(opened.group);
  fake.known.at(opened.group).binds.erase({1, false});
  pass(milliseconds(10000));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].second.text, "connection 1 did not bind within 10000 ms (5 of 6 binds seen)");
}

TEST_F(GroupTableTest, ALongListOfConnectionsIsCut) {
  static_cast<void>(open(kHost, {.members = 256, .window = 16, .payload = 64}));
  pass(milliseconds(10000));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_NE(events[0].second.text.find("15 and 240 more did not bind"), std::string::npos) << events[0].second.text;
}

TEST_F(GroupTableTest, AnActiveGroupHasNoBindTimeout) {
  const Opened opened = open();
  fake.bind_all(opened.group);
  table.on_bind(opened.group);
  EXPECT_EQ(table.next_deadline(), std::nullopt);
  pass(std::chrono::hours(24));
  EXPECT_TRUE(fake.known.contains(opened.group));
}

TEST_F(GroupTableTest, AGroupThatTheSwitchCannotInstallFails) {
  const Opened opened = open();
  fake.can_activate = false;
  fake.bind_all(opened.group);
  table.on_bind(opened.group);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].second.reason, "switch");
  EXPECT_TRUE(fake.known.empty());
}

TEST_F(GroupTableTest, OnlyItsOwnerClosesAGroup) {
  const Opened opened = open();
  static_cast<void>(open(kOther));
  const std::optional<Refusal> refusal = table.close(kOther, opened.group);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, kUnknownGroup);
  EXPECT_EQ(table.close(kHost, opened.group), std::nullopt);
  EXPECT_TRUE(table.close(kHost, opened.group)) << "the second time it is unknown";
}

TEST_F(GroupTableTest, ALeaseThatIsNotResumedIsLostAfterItsGraceTime) {
  const Opened first = open();
  const Opened second = open();
  const Opened foreign = open(kOther);
  table.detach(kHost, time.now);
  pass(milliseconds(1999));
  EXPECT_TRUE(fake.known.contains(first.group));
  pass(milliseconds(1));
  EXPECT_FALSE(fake.known.contains(first.group));
  EXPECT_FALSE(fake.known.contains(second.group));
  EXPECT_TRUE(fake.known.contains(foreign.group));
  EXPECT_EQ(table.slots_free(), 1024u - 256u);
  EXPECT_EQ(table.leases(), 1u);
  EXPECT_TRUE(std::holds_alternative<Refusal>(table.resume(ConnectionId{3}, client, first.lease)));
}

TEST_F(GroupTableTest, AResumedLeaseKeepsItsGroups) {
  const Opened active = open();
  const Opened binding = open();
  fake.bind_all(active.group);
  table.detach(kHost, time.now);
  table.on_bind(active.group);
  EXPECT_TRUE(events.empty()) << "nobody is there to be told";
  pass(milliseconds(1999));
  const auto answer = table.resume(kOther, client, active.lease);
  const Resumed& resumed = std::get<Resumed>(answer);
  EXPECT_EQ(std::set<std::uint32_t>(resumed.groups.begin(), resumed.groups.end()), (std::set<std::uint32_t>{active.group, binding.group}));
  EXPECT_EQ(resumed.active, std::vector<std::uint32_t>{active.group});
  pass(milliseconds(5000));
  EXPECT_TRUE(fake.known.contains(active.group));
  fake.bind_all(binding.group);
  table.on_bind(binding.group);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].first, kOther);
}

TEST_F(GroupTableTest, ALeaseMayBeResumedWhileItsOldConnectionLooksAlive) {
  const Opened opened = open();
  EXPECT_TRUE(std::holds_alternative<Resumed>(table.resume(kOther, client, opened.lease)));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].first, kHost);
  EXPECT_EQ(events[0].second.kind, EventKind::kTakenOver);
  table.detach(kHost, time.now);
  pass(milliseconds(2000));
  EXPECT_TRUE(fake.known.contains(opened.group));
  EXPECT_EQ(table.close(kOther, opened.group), std::nullopt);
}

TEST_F(GroupTableTest, AConnectionThatHasALeaseResumesNoOther) {
  const Opened opened = open();
  static_cast<void>(open(kOther));
  const auto answer = table.resume(kOther, client, opened.lease);
  EXPECT_EQ(std::get<Refusal>(answer).code, kBadRequest);
  EXPECT_EQ(std::get<Refusal>(table.resume(ConnectionId{9}, client, "nonsense")).code, kUnknownLease);
}

TEST_F(GroupTableTest, ALeaseWithoutGroupsIsForgottenAtOnce) {
  const Opened opened = open();
  EXPECT_EQ(table.close(kHost, opened.group), std::nullopt);
  table.detach(kHost, time.now);
  EXPECT_EQ(table.leases(), 0u);
  EXPECT_EQ(table.next_deadline(), std::nullopt);
}

TEST_F(GroupTableTest, ABindTimeoutWithinTheGraceTimeIsHarmless) {
  settings.bind_timeout = milliseconds(1000);
  const Opened opened = open();
  table.detach(kHost, time.now);
  pass(milliseconds(1000));
  EXPECT_FALSE(fake.known.contains(opened.group));
  pass(milliseconds(1000));
  EXPECT_EQ(table.leases(), 0u);
}

TEST_F(GroupTableTest, ARemovedGroupsNumberIsNotHandedOutSoon) {
  // A source that gives every number twice: without a quarantine the second group would get the first one's number.
  std::uint64_t drawn = 0;
  settings.random = [&drawn](std::span<std::byte> to) {
    const auto value = static_cast<std::uint8_t>(1 + (drawn++ / 8) % 200);
    for (std::byte& byte : to) byte = std::byte{value};
  };
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 50; ++i) {
    const Opened opened = open();
    EXPECT_TRUE(seen.insert(opened.group).second) << opened.group << " came again";
    EXPECT_EQ(table.close(kHost, opened.group), std::nullopt);
  }
}

TEST_F(GroupTableTest, ZeroIsNeitherAGroupNorAnEpoch) {
  int zeros = 3;
  settings.random = [&zeros](std::span<std::byte> to) {
    for (std::byte& byte : to) byte = zeros > 0 ? std::byte{0} : std::byte{9};
    --zeros;
  };
  EXPECT_NE(open().group, 0u);
  zeros = 0;
  settings.random = [&zeros](std::span<std::byte> to) {
    for (std::byte& byte : to) byte = zeros++ < 4 ? std::byte{7} : std::byte{0};
  };
  EXPECT_NE(open().epoch, 0u);
}

TEST_F(GroupTableTest, ADrainedSwitchOpensNothingAndKeepsWhatRuns) {
  const Opened opened = open();
  table.drain();
  EXPECT_EQ(refused({.members = 2, .window = 16, .payload = 64}).code, kDraining);
  fake.bind_all(opened.group);
  table.on_bind(opened.group);
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(GroupTableTest, SlotsAndTimersReturnHoweverGroupsEnd) {
  const unsigned seed = 4242;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int step = 0; step < 5000; ++step) {
    const ConnectionId host{1 + random() % 6};
    switch (random() % 5) {
      case 0:
      case 1: {
        const auto answer = table.open(host, client, {.members = 2 + random() % 3, .window = 16u << random() % 4, .payload = 64}, time.now);
        if (const auto* opened = std::get_if<Opened>(&answer); opened && random() % 2 == 0) {
          fake.bind_all(opened->group);
          table.on_bind(opened->group);
        }
        break;
      }
      case 2:
        if (!fake.known.empty()) static_cast<void>(table.close(host, fake.known.begin()->first));
        break;
      case 3:
        table.detach(host, time.now);
        break;
      default:
        pass(milliseconds(random() % 3000));
    }
    std::uint32_t used = 0;
    for (const auto& [group, known] : fake.known) used += 2 * known.spec.window;
    ASSERT_EQ(table.slots_free(), 1024u - used) << "step " << step;
    ASSERT_EQ(table.groups().size(), fake.known.size()) << "step " << step;
  }
  EXPECT_GT(table.counters().refused, 0u);
  EXPECT_GT(table.counters().activated, 0u);
  EXPECT_GT(table.counters().closed, 0u);
  EXPECT_GT(table.counters().bind_timeouts, 0u);
  EXPECT_GT(table.counters().leases_lost, 0u);
  for (std::uint64_t host = 1; host <= 6; ++host) table.detach(ConnectionId{host}, time.now);
  pass(std::chrono::hours(1));
  EXPECT_TRUE(fake.known.empty());
  EXPECT_EQ(table.slots_free(), 1024u);
  EXPECT_EQ(table.leases(), 0u);
  EXPECT_EQ(table.next_deadline(), std::nullopt);
}

}  // namespace
}  // namespace ina::manager
