// responder_test.cpp: what a connection does with the requests of its peer.
#include <gtest/gtest.h>

#include "test/engine/raw_peer.hpp"

namespace ina::engine::test {
namespace {

using wire::Opcode;
constexpr std::uint32_t kFirst = RawPeer::kFirstPsn;

class ResponderTest : public testing::Test {
 protected:
  ResponderTest() : before(peer.host.area) {}
  bool memory_is_untouched() const { return peer.host.area == before; }
  const Counters& counters() const { return peer.host.engine.counters(); }

  std::mt19937_64 random{7};
  VirtualClock clock;
  TestNetwork network{clock, 1};
  RawPeer peer{network, clock};
  std::vector<std::byte> before;
};

TEST_F(ResponderTest, WriteOnlyIsExecutedAndAcknowledged) {
  const auto payload = random_bytes(random, 100);
  peer.request(Opcode::kWriteOnly, kFirst, payload, peer.reth(28, 100));
  const auto ack = peer.answer();
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->bth.opcode, Opcode::kAcknowledge);
  EXPECT_EQ(ack->bth.psn, kFirst);
  EXPECT_EQ(ack->bth.dest_qpn, 0x999u);
  EXPECT_EQ(ack->aeth, (wire::Aeth{.syndrome = wire::kSyndromeAck, .msn = 1}));
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), peer.host.area.begin() + 28));
  EXPECT_EQ(peer.host.area[128], before[128]);
}

TEST_F(ResponderTest, AcknowledgementHasAValidIcrc) {
  peer.request(Opcode::kWriteOnly, kFirst, random_bytes(random, 8), peer.reth(0, 8));
  ASSERT_EQ(peer.answers.size(), 1u);
  EXPECT_TRUE(wire::IcrcFlow(address(1), address(9)).is_valid(peer.answers[0].bytes));
}

TEST_F(ResponderTest, LongWriteIsExecutedPieceByPieceAcrossThePsnWrap) {
  const auto payload = random_bytes(random, 1024 * 3 + 5);
  const std::span<const std::byte> all(payload);
  peer.request(Opcode::kWriteFirst, kFirst, all.subspan(0, 1024), peer.reth(64, payload.size()));
  peer.request(Opcode::kWriteMiddle, kFirst + 1, all.subspan(1024, 1024));
  peer.request(Opcode::kWriteMiddle, kFirst + 2, all.subspan(2048, 1024));
  peer.request(Opcode::kWriteLast, kFirst + 3, all.subspan(3072));
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), peer.host.area.begin() + 64));
  ASSERT_FALSE(peer.answers.empty());
  std::optional<wire::Packet> last;
  while (auto ack = peer.answer()) last = ack;
  EXPECT_EQ(last->bth.psn, 1u);
  EXPECT_EQ(last->aeth.msn, 1u);
}

TEST_F(ResponderTest, DuplicateIsNotExecutedAgainButAcknowledgedAgain) {
  peer.request(Opcode::kWriteOnly, kFirst, random_bytes(random, 8), peer.reth(0, 8));
  const auto after = peer.host.area;
  peer.answers.clear();
  peer.request(Opcode::kWriteOnly, kFirst, random_bytes(random, 8), peer.reth(0, 8));
  EXPECT_EQ(peer.host.area, after);
  const auto ack = peer.answer();
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->bth.psn, kFirst);
  EXPECT_EQ(ack->aeth.syndrome, wire::kSyndromeAck);
  EXPECT_EQ(counters().duplicates.value(), 1u);
}

TEST_F(ResponderTest, GapIsReportedOnceUntilItCloses) {
  for (std::uint32_t ahead = 1; ahead < 5; ++ahead) peer.request(Opcode::kWriteOnly, kFirst + ahead, random_bytes(random, 8), peer.reth(0, 8));
  EXPECT_TRUE(memory_is_untouched());
  ASSERT_EQ(peer.answers.size(), 1u);
  const auto nak = peer.answer();
  EXPECT_EQ(nak->aeth.syndrome, wire::kSyndromeNakSequence);
  EXPECT_EQ(nak->bth.psn, kFirst);
  peer.request(Opcode::kWriteOnly, kFirst, random_bytes(random, 8), peer.reth(0, 8));
  peer.answers.clear();
  peer.request(Opcode::kWriteOnly, kFirst + 2, random_bytes(random, 8), peer.reth(0, 8));
  ASSERT_EQ(peer.answers.size(), 1u);
  EXPECT_EQ(peer.answer()->bth.psn, (kFirst + 1) & wire::kPsnMask);
}

TEST_F(ResponderTest, GapIsReportedAgainWhereTheNakOrTheRepetitionSeemsLost) {
  const auto request = [&](std::uint32_t ahead) { peer.request(Opcode::kWriteOnly, kFirst + ahead, random_bytes(random, 8), peer.reth(0, 8)); };
  request(1);
  peer.answers.clear();
  request(1);
  EXPECT_EQ(peer.answers.size(), 1u) << "what showed the gap comes again, without what it lacked";
  peer.answers.clear();
  for (std::uint32_t ahead = 2; ahead < 10; ++ahead) request(ahead);
  EXPECT_EQ(peer.answers.size(), 2u) << "after every fourth packet behind";
}

TEST_F(ResponderTest, BurstGetsOneAcknowledgement) {
  for (std::uint32_t i = 0; i < 20; ++i) {
    wire::Packet packet{};
    packet.bth = {.opcode = Opcode::kWriteOnly, .ack_request = true, .psn = (kFirst + i) & wire::kPsnMask};
    packet.reth = peer.reth(8 * i, 8);
    network.inject({.from = address(9), .to = address(1), .bytes = peer.encode(packet, random_bytes(random, 8))});
  }
  peer.host.engine.tick();
  ASSERT_EQ(peer.answers.size(), 1u);
  const auto ack = peer.answer();
  EXPECT_EQ(ack->bth.psn, (kFirst + 19) & wire::kPsnMask);
  EXPECT_EQ(ack->aeth.msn, 20u);
}

struct BadRequest {
  const char* fact;
  Opcode opcode;
  std::size_t payload;
  std::int64_t address_offset;  // from the area's begin
  std::size_t dma_length;
  bool wrong_rkey;
  std::uint8_t syndrome;
};

class BadRequests : public ResponderTest, public testing::WithParamInterface<BadRequest> {};

TEST_P(BadRequests, AreRefusedBeforeMemoryIsTouched) {
  const BadRequest& bad = GetParam();
  wire::Reth reth = peer.reth(0, bad.dma_length);
  reth.address += static_cast<std::uint64_t>(bad.address_offset);
  if (bad.wrong_rkey) reth.rkey ^= 1u << 25;
  peer.request(bad.opcode, kFirst, random_bytes(random, bad.payload), reth);
  const auto nak = peer.answer();
  ASSERT_TRUE(nak);
  EXPECT_EQ(nak->aeth.syndrome, bad.syndrome);
  EXPECT_EQ(nak->bth.psn, kFirst);
  EXPECT_TRUE(memory_is_untouched());
  // Nothing is executed after that; a repetition gets the same answer.
  peer.request(Opcode::kWriteOnly, kFirst, random_bytes(random, 8), peer.reth(0, 8));
  EXPECT_TRUE(memory_is_untouched());
  EXPECT_EQ(peer.answer()->aeth.syndrome, bad.syndrome);
}

constexpr std::int64_t kArea = 1 << 20;
INSTANTIATE_TEST_SUITE_P(Every, BadRequests,
                         testing::Values(BadRequest{"UnknownRkey", Opcode::kWriteOnly, 8, 0, 8, true, 0x62},
                                         BadRequest{"BeforeTheRegion", Opcode::kWriteOnly, 8, -1, 8, false, 0x62},
                                         BadRequest{"BehindTheRegion", Opcode::kWriteOnly, 8, kArea - 7, 8, false, 0x62},
                                         BadRequest{"AddressWraps", Opcode::kWriteOnly, 8, INT64_MIN, 8, false, 0x62},
                                         BadRequest{"LongWriteLeavesTheRegion", Opcode::kWriteFirst, 1024, kArea - 1024, 2048, false, 0x62},
                                         BadRequest{"LengthDiffersFromPayload", Opcode::kWriteOnly, 8, 0, 12, false, 0x61},
                                         BadRequest{"FirstIsTheWholeMessage", Opcode::kWriteFirst, 1024, 0, 1024, false, 0x61},
                                         BadRequest{"FirstIsShort", Opcode::kWriteFirst, 512, 0, 2048, false, 0x61},
                                         BadRequest{"OnlyIsLongerThanTheMtu", Opcode::kWriteOnly, 1032, 0, 1032, false, 0x61},
                                         BadRequest{"MiddleWithoutFirst", Opcode::kWriteMiddle, 1024, 0, 0, false, 0x61},
                                         BadRequest{"LastWithoutFirst", Opcode::kSendLast, 8, 0, 0, false, 0x61},
                                         BadRequest{"ImmediateIsNotPartOfTheLength", Opcode::kWriteOnlyImmediate, 8, 0, 12, false, 0x61},
                                         BadRequest{"ReadOfUnknownRkey", Opcode::kReadRequest, 0, 0, 8, true, 0x62},
                                         BadRequest{"ReadBeforeTheRegion", Opcode::kReadRequest, 0, -1, 8, false, 0x62},
                                         BadRequest{"ReadBehindTheRegion", Opcode::kReadRequest, 0, kArea - 8, 9, false, 0x62},
                                         BadRequest{"ReadLongerThanAnyMessage", Opcode::kReadRequest, 0, 0, (1u << 28) + 1, false, 0x61},
                                         BadRequest{"AtomicOfUnknownRkey", Opcode::kFetchAdd, 0, 0, 8, true, 0x62},
                                         BadRequest{"AtomicLeavesTheRegion", Opcode::kCompareSwap, 0, kArea, 8, false, 0x62},
                                         BadRequest{"AtomicIsNotAligned", Opcode::kFetchAdd, 0, 4, 8, false, 0x61},
                                         BadRequest{"SendInvalidatesWhatIsNotItsToInvalidate", Opcode::kSendOnlyInvalidate, 8, 0, 8, false, 0x62}),
                         [](const auto& request) { return std::string(request.param.fact); });

TEST(Responder, MessageNumbersWrap) {
  MemoryTable memory(1);
  ReceiveResources resources(1, 64);
  Counters counters;
  Responder responder(memory, resources, counters);
  responder.start(5, 1024);
  wire::Packet packet{};
  packet.bth.opcode = Opcode::kWriteOnly;
  packet.bth.psn = 5;
  for (std::uint32_t i = 0; i <= wire::kPsnMask; ++i) {
    responder.on_request(packet, 0);
    packet.bth.psn = wire::psn_add(packet.bth.psn, 1);
  }
  EXPECT_EQ(responder.take_response()->msn, 0u);
  responder.on_request(packet, 0);
  const auto response = responder.take_response();
  EXPECT_EQ(response->msn, 1u);
  EXPECT_EQ(response->psn, 5u);
}

TEST_F(ResponderTest, FirstInsideAMessageIsRefused) {
  peer.request(Opcode::kWriteFirst, kFirst, random_bytes(random, 1024), peer.reth(0, 4096));
  peer.answers.clear();
  peer.request(Opcode::kSendOnly, kFirst + 1, random_bytes(random, 8));
  EXPECT_EQ(peer.answer()->aeth.syndrome, wire::kSyndromeNakInvalidRequest);
  EXPECT_TRUE(peer.host.messages.empty());
}

TEST_F(ResponderTest, MemoryDeregisteredWithinAMessageIsNotWritten) {
  peer.request(Opcode::kWriteFirst, kFirst, random_bytes(random, 1024), peer.reth(0, 2048));
  ASSERT_TRUE(peer.host.memory.remove(peer.host.rkey));
  const auto after = peer.host.area;
  peer.answers.clear();
  peer.request(Opcode::kWriteLast, kFirst + 1, random_bytes(random, 1024));
  EXPECT_EQ(peer.answer()->aeth.syndrome, wire::kSyndromeNakRemoteAccess);
  EXPECT_EQ(peer.host.area, after);
}

TEST_F(ResponderTest, MessagesWithoutABufferGetRnrNaksAndArriveLater) {
  EngineOptions options;
  options.receive_buffers = 1;
  VirtualClock other_clock;
  TestNetwork other_network(other_clock, 1);
  RawPeer narrow(other_network, other_clock, options);
  const auto send = [&](std::uint32_t psn) {
    wire::Packet packet{};
    packet.bth = {.opcode = Opcode::kSendOnly, .ack_request = true, .psn = psn & wire::kPsnMask};
    other_network.inject({.from = address(9), .to = address(1), .bytes = narrow.encode(packet, random_bytes(random, 8))});
  };
  send(kFirst);
  send(kFirst + 1);
  narrow.host.engine.tick();
  const auto nak = narrow.answer();
  ASSERT_TRUE(nak);
  EXPECT_TRUE(wire::is_rnr_nak(nak->aeth.syndrome));
  EXPECT_EQ(nak->bth.psn, (kFirst + 1) & wire::kPsnMask);
  narrow.host.engine.report(narrow.host);
  send(kFirst + 1);
  narrow.host.engine.tick();
  narrow.host.engine.report(narrow.host);
  EXPECT_EQ(narrow.host.messages.size(), 2u);
}

TEST_F(ResponderTest, PacketsThatAreNotFromThePeerAreCountedAndDropped) {
  wire::Packet packet{};
  packet.bth = {.opcode = Opcode::kWriteOnly, .psn = kFirst};
  packet.reth = peer.reth(0, 8);
  const auto payload = random_bytes(random, 8);
  peer.deliver(peer.encode(packet, payload, address(8)), address(8));
  EXPECT_EQ(counters().foreign_source.value(), 1u);
  auto damaged = peer.encode(packet, payload);
  damaged[30] ^= std::byte{1};
  peer.deliver(damaged);
  EXPECT_EQ(counters().bad_icrc.value(), 1u);
  packet.bth.dest_qpn = peer.qp->number() ^ 1;
  peer.deliver(peer.encode(packet, payload));
  EXPECT_EQ(counters().unknown_qpn.value(), 1u);
  peer.deliver(std::vector<std::byte>(7));
  EXPECT_EQ(counters().bad_packets.value(), 1u);
  EXPECT_TRUE(memory_is_untouched());
  EXPECT_TRUE(peer.answers.empty());
}

TEST_F(ResponderTest, PacketOfAnotherServiceIsDropped) {
  wire::Packet packet{};
  packet.bth.opcode = Opcode::kUdSendOnly;
  packet.bth.psn = kFirst;
  peer.deliver(peer.encode(packet, random_bytes(random, 24)));
  EXPECT_EQ(counters().bad_packets.value(), 1u);
  EXPECT_TRUE(peer.answers.empty());
}

}  // namespace
}  // namespace ina::engine::test
