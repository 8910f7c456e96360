// aggregator_test.cpp: every rule of PROTOCOL.md 3 and 4, one packet at a time.
#include "switch/aggregator/aggregator.hpp"

#include <gtest/gtest.h>

#include "test/aggregator/ring.hpp"

namespace ina::test {
namespace {

using aggregator::Action;
using aggregator::Aggregator;
using aggregator::Drop;
using aggregator::Endpoint;
using aggregator::Outcome;

class AggregatorTest : public ::testing::Test {
 protected:
  Outcome send(const Bytes& bytes, Endpoint source, Endpoint destination, bool icrc_is_valid = true) {
    made_.all.clear();
    return aggregator_.receive({*wire::decode_packet(bytes), source, destination, icrc_is_valid}, made_);
  }
  Outcome forward(std::uint16_t i, const Bytes& bytes) { return send(bytes, ring_.sender(i), ring_.receiver(i)); }
  Outcome backward(std::uint16_t i, const Bytes& bytes) { return send(bytes, ring_.receiver(i), ring_.sender(i)); }
  Outcome contribute(std::uint16_t member, std::uint32_t seq, std::int32_t value) {
    return forward(member, ring_.contribution(member, seq, lanes_of<std::int32_t>({value, -value})));
  }
  void bind_all() {
    for (std::uint16_t i = 0; i < ring_.spec.members; ++i) {
      ASSERT_EQ(forward(i, ring_.forward_bind(i)).action, Action::kForward);
      ASSERT_EQ(backward(i, ring_.backward_bind(i)).action, Action::kForward);
    }
  }
  void start() {
    ASSERT_TRUE(aggregator_.prepare(ring_.spec));
    bind_all();
    ASSERT_TRUE(aggregator_.activate(ring_.spec.group));
  }
  // Both members contribute and acknowledge.
  void complete(std::uint32_t seq) {
    for (std::uint16_t member = 0; member < ring_.spec.members; ++member) {
      ASSERT_EQ(contribute(member, seq, 1).action, Action::kAbsorb) << seq;
    }
    for (std::uint16_t i = 0; i < ring_.spec.members; ++i) {
      ASSERT_EQ(backward(i, ring_.acknowledgement(i, seq)).action, Action::kForward);
    }
  }
  static void expect_drop(const Outcome& outcome, Drop reason) {
    EXPECT_EQ(outcome.action, Action::kDrop);
    EXPECT_STREQ(name(outcome.reason), name(reason));
  }

  Ring ring_;
  std::uint32_t first_ = ring_.spec.first_seq;
  Aggregator aggregator_{{.slots = 64, .max_window = 16}};
  Collector made_;
};

// Life of a group

TEST_F(AggregatorTest, PacketsOfAnUnknownGroupAreForwarded) {
  EXPECT_EQ(forward(0, ring_.forward_bind(0)).action, Action::kForward);
  EXPECT_EQ(contribute(0, first_, 1).action, Action::kForward);
  EXPECT_EQ(backward(0, ring_.acknowledgement(0, first_)).action, Action::kForward);
  EXPECT_TRUE(made_.all.empty());
}

TEST_F(AggregatorTest, PacketsWithoutAnInaHeaderAreForwarded) {
  start();
  wire::Packet packet{};
  packet.bth = {.opcode = wire::Opcode::kWriteOnly, .dest_qpn = ring_.forward_qpn(0)};
  EXPECT_EQ(forward(0, encode(packet, Bytes(100))).action, Action::kForward);
  EXPECT_EQ(forward(0, encode(packet, Bytes(4))).action, Action::kForward);
  packet.bth.opcode = wire::Opcode::kSendOnly;
  EXPECT_EQ(forward(0, encode(packet, Bytes(100))).action, Action::kForward);
}

TEST_F(AggregatorTest, AGroupThatCannotBeServedIsRefused) {
  const auto refuses = [&](auto change) {
    aggregator::GroupSpec spec = ring_.spec;
    change(spec);
    return !aggregator_.prepare(spec);
  };
  EXPECT_TRUE(refuses([](auto& s) { s.group = 0; }));
  EXPECT_TRUE(refuses([](auto& s) { s.epoch = 0; }));
  EXPECT_TRUE(refuses([](auto& s) { s.members = 1; }));
  EXPECT_TRUE(refuses([](auto& s) { s.members = 257; }));
  EXPECT_TRUE(refuses([](auto& s) { s.window = 3; }));
  EXPECT_TRUE(refuses([](auto& s) { s.window = 1; }));
  EXPECT_TRUE(refuses([](auto& s) { s.window = 32; }));
  EXPECT_TRUE(refuses([](auto& s) { s.first_seq = 2; }));
  EXPECT_TRUE(refuses([](auto& s) { s.payload = 63; }));
  EXPECT_TRUE(refuses([](auto& s) { s.payload = 4104, s.place_bytes = 8192; }));
  EXPECT_TRUE(refuses([](auto& s) { s.place_bytes = 1000; }));
  EXPECT_TRUE(refuses([](auto& s) { s.place_bytes = 512; }));
  EXPECT_TRUE(aggregator_.prepare(ring_.spec));
  EXPECT_TRUE(refuses([](auto&) {})) << "the number is in use";
}

TEST_F(AggregatorTest, SlotsAreHeldFromPrepareToRemove) {
  EXPECT_EQ(aggregator_.slots_free(), 64u);
  ring_.spec.window = 16;
  ring_.spec.first_seq = 64;
  ASSERT_TRUE(aggregator_.prepare(ring_.spec));
  EXPECT_EQ(aggregator_.slots_free(), 32u);
  aggregator::GroupSpec other = ring_.spec;
  other.group = 18;
  ASSERT_TRUE(aggregator_.prepare(other));
  other.group = 19;
  EXPECT_FALSE(aggregator_.prepare(other));
  aggregator_.remove(17);
  EXPECT_TRUE(aggregator_.prepare(other));
  aggregator_.remove(4711);
  EXPECT_EQ(aggregator_.slots_free(), 0u);
}

TEST_F(AggregatorTest, AGroupIsActivatedOnlyWhenAllBindsAreSeen) {
  ASSERT_TRUE(aggregator_.prepare(ring_.spec));
  EXPECT_FALSE(aggregator_.activate(17));
  EXPECT_FALSE(aggregator_.activate(18));
  EXPECT_EQ(aggregator_.unbound_connections(17), (std::vector<std::uint16_t>{0, 1}));
  EXPECT_EQ(forward(0, ring_.forward_bind(0)).bound_group, 17u);
  EXPECT_EQ(backward(0, ring_.backward_bind(0)).bound_group, 17u);
  EXPECT_EQ(backward(1, ring_.backward_bind(1)).bound_group, 17u);
  EXPECT_EQ(aggregator_.binds_seen(17), 3u);
  EXPECT_EQ(aggregator_.unbound_connections(17), (std::vector<std::uint16_t>{1}));
  EXPECT_FALSE(aggregator_.activate(17));
  expect_drop(contribute(0, first_, 1), Drop::kNotActive);
  EXPECT_EQ(forward(1, ring_.forward_bind(1)).bound_group, 17u);
  EXPECT_TRUE(aggregator_.activate(17));
  EXPECT_FALSE(aggregator_.activate(17)) << "a second time";
  EXPECT_EQ(aggregator_.binds_seen(17), 4u);
}

TEST_F(AggregatorTest, ARemovedGroupIsUnknown) {
  start();
  aggregator_.remove(17);
  EXPECT_EQ(contribute(0, first_, 1).action, Action::kForward);
  EXPECT_EQ(backward(0, ring_.acknowledgement(0, first_ + 5)).action, Action::kForward);
  EXPECT_EQ(aggregator_.binds_seen(17), 0u);
}

// Binds

TEST_F(AggregatorTest, TheSameBindAgainPassesAndChangesNothing) {
  ASSERT_TRUE(aggregator_.prepare(ring_.spec));
  bind_all();
  for (std::uint16_t i = 0; i < 2; ++i) {
    const Outcome again = forward(i, ring_.forward_bind(i));
    EXPECT_EQ(again.action, Action::kForward);
    EXPECT_EQ(again.bound_group, 0u);
    EXPECT_EQ(backward(i, ring_.backward_bind(i)).bound_group, 0u);
  }
  EXPECT_EQ(aggregator_.binds_seen(17), 4u);
}

TEST_F(AggregatorTest, AnotherBindForABoundConnectionIsRefused) {
  ASSERT_TRUE(aggregator_.prepare(ring_.spec));
  bind_all();
  expect_drop(forward(0, ring_.forward_bind(0, [](auto& p, auto&) { ++p.bth.psn; })), Drop::kBindConflict);
  expect_drop(forward(0, ring_.forward_bind(0, [](auto& p, auto&) { ++p.bth.dest_qpn; })), Drop::kBindConflict);
  expect_drop(forward(0, ring_.forward_bind(0, [](auto& p, auto&) { ++p.reth.rkey; })), Drop::kBindConflict);
  expect_drop(forward(0, ring_.forward_bind(0, [](auto& p, auto& b) { p.reth.address += 1 << 20, b.mailbox += 1 << 20; })), Drop::kBindConflict);
  expect_drop(send(ring_.forward_bind(0), Endpoint{55}, ring_.receiver(0)), Drop::kBindConflict);
  expect_drop(backward(1, ring_.backward_bind(1, [](auto& p, auto&) { ++p.bth.dest_qpn; })), Drop::kBindConflict);
  EXPECT_EQ(aggregator_.counters(17).refused, 6u);
}

TEST_F(AggregatorTest, TheTwoBindsOfAConnectionMustNameTheSameEnds) {
  ASSERT_TRUE(aggregator_.prepare(ring_.spec));
  ASSERT_EQ(forward(0, ring_.forward_bind(0)).bound_group, 17u);
  expect_drop(send(ring_.backward_bind(0), Endpoint{55}, ring_.sender(0)), Drop::kBindConflict);
  ASSERT_EQ(backward(1, ring_.backward_bind(1)).bound_group, 17u);
  expect_drop(send(ring_.forward_bind(1), ring_.sender(1), Endpoint{55}), Drop::kBindConflict);
}

TEST_F(AggregatorTest, BindsThatAreNotTheGroupsAreRefused) {
  ASSERT_TRUE(aggregator_.prepare(ring_.spec));
  const auto refused = [&](auto change) { return forward(0, ring_.forward_bind(0, change)); };
  expect_drop(refused([](auto&, auto& b) { ++b.epoch; }), Drop::kWrongEpoch);
  expect_drop(refused([](auto&, auto& b) { b.connection = 2; }), Drop::kUnknownMember);
  expect_drop(refused([](auto&, auto& b) { b.members = 3; }), Drop::kBindMismatch);
  expect_drop(refused([](auto&, auto& b) { b.window = 4; }), Drop::kBindMismatch);
  expect_drop(refused([](auto&, auto& b) { b.first_seq += 4; }), Drop::kBindMismatch);
  expect_drop(refused([](auto&, auto& b) { b.place_bytes = 2048; }), Drop::kBindMismatch);
  expect_drop(refused([](auto& p, auto& b) { p.reth.address += 1024, b.mailbox += 1024; }), Drop::kBindMismatch);
  expect_drop(refused([](auto& p, auto&) { p.reth.address += 4; }), Drop::kWrongAddress);
  expect_drop(refused([](auto& p, auto&) { p.reth.dma_length += 4; }), Drop::kWrongDmaLength);
  expect_drop(send(ring_.forward_bind(0), ring_.sender(0), ring_.receiver(0), false), Drop::kBadIcrc);
  EXPECT_EQ(aggregator_.binds_seen(17), 0u);
}

TEST_F(AggregatorTest, TheLeadersReBindDoesNotTouchARunningGroup) {
  start();
  complete(first_);
  EXPECT_EQ(forward(0, ring_.forward_bind(0)).action, Action::kForward);
  EXPECT_EQ(contribute(0, first_ + 1, 1).action, Action::kAbsorb);
}

// Contributions

TEST_F(AggregatorTest, TheLastContributionReleasesTheResultOnEveryConnection) {
  start();
  EXPECT_EQ(contribute(1, first_, 40).action, Action::kAbsorb);
  EXPECT_TRUE(made_.all.empty());
  EXPECT_EQ(contribute(0, first_, 2).action, Action::kAbsorb);
  ASSERT_EQ(made_.all.size(), 2u);
  for (std::uint16_t i = 0; i < 2; ++i) {
    const Made& made = made_.all[i];
    EXPECT_EQ(made.source, ring_.sender(i));
    EXPECT_EQ(made.destination, ring_.receiver(i));
    const wire::Packet packet = made.packet();
    EXPECT_EQ(packet.bth, (wire::Bth{.opcode = wire::Opcode::kWriteOnly, .dest_qpn = ring_.forward_qpn(i), .ack_request = true,
                                     .psn = ring_.psn(i, first_)}));
    EXPECT_EQ(packet.reth, (wire::Reth{ring_.address(i, first_, 36), ring_.rkey(i), 36}));
    EXPECT_EQ(made.header(), (wire::Header{.kind = wire::Kind::kResult, .op = wire::Op::kSum, .lane_type = wire::LaneType::kInt32,
                                           .contributions = 2, .group = 17, .epoch = ring_.spec.epoch, .seq = first_, .member = i,
                                           .length = 8}));
    EXPECT_EQ(Bytes(made.lanes().begin(), made.lanes().end()), lanes_of<std::int32_t>({42, -42}));
  }
}

TEST_F(AggregatorTest, FloatsAreCombinedInMemberOrderWhateverTheOrderOfArrival) {
  ring_.spec.members = 4;
  start();
  // (1e30 + 1) - 1e30 + 1 = 1 in member order only
  const float values[4] = {1e30f, 1.0f, -1e30f, 1.0f};
  std::uint32_t seq = first_;
  for (const auto& order : std::vector<std::vector<std::uint16_t>>{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}}) {
    for (const std::uint16_t member : order) {
      const auto lanes = lanes_of<float>({values[member], values[member]});
      ASSERT_EQ(forward(member, ring_.contribution(member, seq, lanes, wire::LaneType::kFloat32)).action, Action::kAbsorb);
    }
    ASSERT_EQ(made_.all.size(), 4u);
    EXPECT_EQ(Bytes(made_.all[0].lanes().begin(), made_.all[0].lanes().end()), lanes_of<float>({1.0f, 1.0f}));
    ++seq;
  }
}

TEST_F(AggregatorTest, EveryFieldIsChecked) {
  start();
  using C = Ring::Contribution;
  const auto lanes = lanes_of<std::int32_t>({1, 2});
  const auto refused = [&](const std::function<void(C&)>& change) {
    return forward(0, ring_.contribution(0, first_, lanes, wire::LaneType::kInt32, wire::Op::kSum, change));
  };
  expect_drop(refused([](C& c) { c.header.kind = wire::Kind::kResult, c.header.contributions = 2; }), Drop::kForbiddenKind);
  expect_drop(refused([](C& c) { c.header.kind = wire::Kind::kPartial; }), Drop::kForbiddenKind);
  expect_drop(refused([](C& c) { c.header.kind = wire::Kind::kRevoked; }), Drop::kForbiddenKind);
  expect_drop(refused([](C& c) { ++c.header.epoch; }), Drop::kWrongEpoch);
  expect_drop(refused([](C& c) { c.header.member = 2; }), Drop::kUnknownMember);
  expect_drop(refused([](C& c) { c.header.member = 1; }), Drop::kForeignSource);
  expect_drop(refused([](C& c) { ++c.packet.bth.dest_qpn; }), Drop::kWrongDestination);
  expect_drop(refused([](C& c) { ++c.packet.bth.psn; }), Drop::kWrongPsn);
  expect_drop(refused([](C& c) { ++c.packet.reth.rkey; }), Drop::kWrongRkey);
  expect_drop(refused([](C& c) { ++c.packet.reth.address; }), Drop::kWrongAddress);
  expect_drop(refused([](C& c) { c.packet.reth.dma_length += 8; }), Drop::kWrongDmaLength);
  expect_drop(refused([](C& c) { c.header.length = 16; }), Drop::kWrongLength);
  expect_drop(refused([](C& c) { c.header.contributions = 2; }), Drop::kWrongContributions);
  expect_drop(refused([](C& c) { ++c.trailer; }), Drop::kWrongTrailer);
  const Bytes good = ring_.contribution(0, first_, lanes);
  expect_drop(send(good, Endpoint{99}, ring_.receiver(0)), Drop::kForeignSource);
  expect_drop(send(good, ring_.sender(0), Endpoint{99}), Drop::kWrongDestination);
  expect_drop(send(good, ring_.sender(0), ring_.receiver(0), false), Drop::kBadIcrc);
  EXPECT_EQ(aggregator_.counters(17).refused, 17u);
  EXPECT_EQ(forward(0, good).action, Action::kAbsorb) << "and nothing has changed";
}

TEST_F(AggregatorTest, LanesLongerThanTheGroupsPayloadAreRefused) {
  ring_.spec.payload = 512;
  start();
  expect_drop(forward(0, ring_.contribution(0, first_, Bytes(488))), Drop::kWrongLength);
  EXPECT_EQ(forward(0, ring_.contribution(0, first_, Bytes(480))).action, Action::kAbsorb);
}

TEST_F(AggregatorTest, AContributionThatDiffersFromTheLatchIsDroppedAndNextStays) {
  start();
  ASSERT_EQ(contribute(0, first_, 5).action, Action::kAbsorb);
  expect_drop(forward(1, ring_.contribution(1, first_, Bytes(16))), Drop::kLatchMismatch);
  expect_drop(forward(1, ring_.contribution(1, first_, Bytes(8), wire::LaneType::kInt64)), Drop::kLatchMismatch);
  expect_drop(forward(1, ring_.contribution(1, first_, Bytes(8), wire::LaneType::kInt32, wire::Op::kMax)), Drop::kLatchMismatch);
  EXPECT_EQ(contribute(1, first_, 6).action, Action::kAbsorb);
  EXPECT_EQ(made_.all.size(), 2u);
}

TEST_F(AggregatorTest, ANewerSeqTakesOnlyAReleasedSlotOver) {
  start();
  for (std::uint32_t k = 0; k < 4; ++k) ASSERT_EQ(contribute(0, first_ + k, 1).action, Action::kAbsorb);
  expect_drop(contribute(0, first_ + 4, 1), Drop::kSlotBusy);
  ASSERT_EQ(contribute(1, first_, 1).action, Action::kAbsorb);
  EXPECT_EQ(contribute(0, first_ + 4, 1).action, Action::kAbsorb);
}

// Past and future

TEST_F(AggregatorTest, ADuplicateOfAReleasedSeqIsAnsweredOnItsConnection) {
  start();
  complete(first_);
  const Outcome outcome = contribute(0, first_, 77);
  EXPECT_EQ(outcome.action, Action::kAbsorb);
  ASSERT_EQ(made_.all.size(), 1u);
  EXPECT_EQ(made_.all[0].destination, ring_.receiver(0));
  EXPECT_EQ(Bytes(made_.all[0].lanes().begin(), made_.all[0].lanes().end()), lanes_of<std::int32_t>({2, -2}));
  EXPECT_EQ(aggregator_.counters(17).duplicates_answered, 1u);
}

TEST_F(AggregatorTest, ADuplicateOfAnOpenSeqIsDropped) {
  start();
  ASSERT_EQ(contribute(0, first_, 1).action, Action::kAbsorb);
  expect_drop(contribute(0, first_, 1), Drop::kOpenDuplicate);
  ASSERT_EQ(contribute(1, first_, 1).action, Action::kAbsorb);
  EXPECT_EQ(Bytes(made_.all[0].lanes().begin(), made_.all[0].lanes().end()), lanes_of<std::int32_t>({2, -2})) << "counted once";
}

TEST_F(AggregatorTest, ADuplicateWhoseSlotHasANewerSeqPassesUntouched) {
  start();
  for (std::uint32_t k = 0; k < 5; ++k) complete(first_ + k);
  EXPECT_EQ(contribute(0, first_ + 1, 1).action, Action::kAbsorb) << "its slot still holds it";
  for (std::uint32_t k = 5; k < 7; ++k) {
    ASSERT_EQ(contribute(1, first_ + k, 1).action, Action::kAbsorb);  // member 1 has taken the slots of +1 and +2 over
  }
  EXPECT_EQ(contribute(0, first_ + 1, 1).action, Action::kForward);
  EXPECT_TRUE(made_.all.empty());
  EXPECT_EQ(aggregator_.counters(17).duplicates_passed, 1u);
}

TEST_F(AggregatorTest, ADuplicateFromBeforeTheLast2WIsDropped) {
  start();
  for (std::uint32_t k = 0; k < 5; ++k) complete(first_ + k);
  expect_drop(contribute(0, first_, 1), Drop::kTooOld);
}

TEST_F(AggregatorTest, ADuplicateFromBeforeTheFirstSeqIsDropped) {
  start();
  for (std::uint32_t k = 1; k <= 5; ++k) expect_drop(contribute(0, first_ - k, 1), Drop::kTooOld);
  EXPECT_TRUE(made_.all.empty());
}

TEST_F(AggregatorTest, AFutureSeqIsDroppedAndReportedOnce) {
  start();
  complete(first_);
  expect_drop(contribute(0, first_ + 2, 1), Drop::kGap);
  ASSERT_EQ(made_.all.size(), 1u);
  EXPECT_EQ(made_.all[0].source, ring_.receiver(0));
  EXPECT_EQ(made_.all[0].destination, ring_.sender(0));
  const wire::Packet nak = made_.all[0].packet();
  EXPECT_EQ(nak.bth, (wire::Bth{.opcode = wire::Opcode::kAcknowledge, .dest_qpn = ring_.backward_qpn(0), .psn = ring_.psn(0, first_ + 1)}));
  EXPECT_EQ(nak.aeth, (wire::Aeth{wire::kSyndromeNakSequence, 1}));
  expect_drop(contribute(0, first_ + 3, 1), Drop::kGap);
  EXPECT_TRUE(made_.all.empty()) << "once a gap";
  expect_drop(contribute(0, first_ + 2, 1), Drop::kGap);
  EXPECT_EQ(made_.all.size(), 1u) << "the repetition has the same gap";
  EXPECT_EQ(contribute(0, first_ + 1, 1).action, Action::kAbsorb);
  expect_drop(contribute(0, first_ + 3, 1), Drop::kGap);
  EXPECT_EQ(made_.all.size(), 1u) << "the next gap";
}

TEST_F(AggregatorTest, ANakIsForTheFirstPsnThatTheReceiverHasNotAcknowledged) {
  start();
  ASSERT_EQ(contribute(0, first_, 1).action, Action::kAbsorb);
  ASSERT_EQ(contribute(1, first_, 1).action, Action::kAbsorb);  // released, not acknowledged
  expect_drop(contribute(0, first_ + 2, 1), Drop::kGap);
  ASSERT_EQ(made_.all.size(), 1u);
  EXPECT_EQ(made_.all[0].packet().bth.psn, ring_.psn(0, first_)) << "a later one would acknowledge a result that may be lost";
}

TEST_F(AggregatorTest, WhatItsOwnNakHasAskedForIsNotAnsweredOnce) {
  start();
  ASSERT_EQ(contribute(0, first_, 1).action, Action::kAbsorb);
  ASSERT_EQ(contribute(1, first_, 1).action, Action::kAbsorb);
  expect_drop(contribute(0, first_ + 2, 1), Drop::kGap);
  expect_drop(contribute(0, first_, 1), Drop::kQuietDuplicate);
  EXPECT_EQ(contribute(0, first_, 1).action, Action::kAbsorb);
  EXPECT_EQ(made_.all.size(), 1u) << "the sender's timer asks again";
}

TEST_F(AggregatorTest, WhatIsReleasedAfterTheNakIsUnderWayToo) {
  start();
  ASSERT_EQ(contribute(0, first_, 1).action, Action::kAbsorb);
  expect_drop(contribute(0, first_ + 2, 1), Drop::kGap);
  ASSERT_EQ(contribute(1, first_, 1).action, Action::kAbsorb);
  expect_drop(contribute(0, first_, 1), Drop::kQuietDuplicate);
  EXPECT_EQ(contribute(0, first_, 1).action, Action::kAbsorb);
  EXPECT_EQ(made_.all.size(), 1u);
}

// Acknowledgements

TEST_F(AggregatorTest, AcknowledgementsPassAndAreLearnt) {
  start();
  ASSERT_EQ(contribute(0, first_, 1).action, Action::kAbsorb);
  ASSERT_EQ(contribute(1, first_, 1).action, Action::kAbsorb);
  EXPECT_EQ(backward(0, ring_.acknowledgement(0, first_ - 1)).action, Action::kForward) << "of the bind";
  EXPECT_EQ(backward(0, ring_.acknowledgement(0, first_, wire::kSyndromeAck, 8)).action, Action::kForward);
  EXPECT_EQ(backward(0, ring_.acknowledgement(0, first_ - 1, wire::kSyndromeAck, 7)).action, Action::kForward) << "past";
  expect_drop(contribute(0, first_ + 2, 1), Drop::kGap);
  EXPECT_EQ(made_.all.at(0).packet().bth.psn, ring_.psn(0, first_ + 1));
  EXPECT_EQ(made_.all.at(0).packet().aeth.msn, 8u);
}

TEST_F(AggregatorTest, AcknowledgementsOfWhatWasNeverReleasedAreDropped) {
  start();
  expect_drop(backward(0, ring_.acknowledgement(0, first_)), Drop::kAckUnreleased);
  ASSERT_EQ(contribute(0, first_, 1).action, Action::kAbsorb);
  expect_drop(backward(0, ring_.acknowledgement(0, first_)), Drop::kAckUnreleased);
  expect_drop(backward(0, ring_.acknowledgement(0, first_ + 1, wire::kSyndromeNakSequence)), Drop::kAckUnreleased);
  expect_drop(send(ring_.acknowledgement(0, first_ - 1), ring_.receiver(0), ring_.sender(0), false), Drop::kBadIcrc);
}

TEST_F(AggregatorTest, ForeignAcknowledgementsAreNotTheGroups) {
  start();
  ASSERT_EQ(contribute(0, first_, 1).action, Action::kAbsorb);
  ASSERT_EQ(contribute(1, first_, 1).action, Action::kAbsorb);
  EXPECT_EQ(send(ring_.acknowledgement(0, first_), Endpoint{99}, ring_.sender(0)).action, Action::kForward);
  expect_drop(contribute(0, first_ + 2, 1), Drop::kGap);
  EXPECT_EQ(made_.all.at(0).packet().bth.psn, ring_.psn(0, first_)) << "not learnt";
}

TEST_F(AggregatorTest, AReceiversNakIsAnsweredFromTheSlotsAndSwallowed) {
  start();
  for (std::uint32_t k = 0; k < 3; ++k) {
    ASSERT_EQ(contribute(0, first_ + k, 1).action, Action::kAbsorb);
    ASSERT_EQ(contribute(1, first_ + k, 1).action, Action::kAbsorb);
  }
  EXPECT_EQ(backward(0, ring_.acknowledgement(0, first_ + 1, wire::kSyndromeNakSequence)).action, Action::kAbsorb);
  ASSERT_EQ(made_.all.size(), 2u);
  EXPECT_EQ(made_.all[0].header().seq, first_ + 1);
  EXPECT_EQ(made_.all[1].header().seq, first_ + 2);
  EXPECT_EQ(made_.all[0].destination, ring_.receiver(0));
  EXPECT_EQ(backward(0, ring_.acknowledgement(0, first_ + 1, wire::kSyndromeNakSequence)).action, Action::kAbsorb);
  EXPECT_EQ(made_.all.size(), 1u) << "again, without progress: no storm";
  expect_drop(backward(0, ring_.acknowledgement(0, first_, wire::kSyndromeNakSequence)), Drop::kStaleNak);
  EXPECT_EQ(backward(0, ring_.acknowledgement(0, first_ + 3, wire::kSyndromeNakSequence)).action, Action::kForward)
      << "nothing released is missing";
}

TEST_F(AggregatorTest, OtherNaksPass) {
  start();
  ASSERT_EQ(contribute(0, first_, 1).action, Action::kAbsorb);
  ASSERT_EQ(contribute(1, first_, 1).action, Action::kAbsorb);
  for (const std::uint8_t syndrome : {std::uint8_t{0x2e}, wire::kSyndromeNakInvalidRequest, wire::kSyndromeNakRemoteAccess}) {
    EXPECT_EQ(backward(0, ring_.acknowledgement(0, first_, syndrome)).action, Action::kForward);
  }
}

TEST_F(AggregatorTest, TwoGroupsDoNotMeet) {
  start();
  Ring other = ring_;
  other.spec.group = 18;
  other.spec.epoch = 99;
  ASSERT_TRUE(aggregator_.prepare(other.spec));
  // The same connections cannot be told apart by their acknowledgements: refused, and the running group goes on.
  std::swap(ring_, other);
  bind_all();
  EXPECT_FALSE(aggregator_.activate(18));
  std::swap(ring_, other);
  EXPECT_EQ(contribute(0, first_, 1).action, Action::kAbsorb);
  EXPECT_EQ(aggregator_.counters(17).contributions, 1u);
  EXPECT_EQ(aggregator_.counters(18).contributions, 0u);
}

TEST(DropNames, EveryReasonHasOne) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Drop::kCount); ++i) {
    names.emplace_back(name(static_cast<Drop>(i)));
    EXPECT_NE(names.back(), "unknown");
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_STREQ(name(Drop::kStaleNak), "stale-nak");
  EXPECT_STREQ(name(Drop::kCount), "unknown");
}

}  // namespace
}  // namespace ina::test
