// relay_test.cpp: registration, source and destination checks, ICRC, and aggregation through the relay (PROTOCOL.md 5).
#include <gtest/gtest.h>

#include <algorithm>

#include "test/softswitch/relay_world.hpp"
#include "wire/connect_message.hpp"

namespace ina::test {
namespace {

using wire::RelayKind;
using wire::RelayRefusal;

// Refers to bodies until it is flushed, as a socket does that is written in batches.
class LateOutbox final : public softswitch::Outbox {
 public:
  void send(const wire::UdpAddress& to, const softswitch::Pieces& pieces) noexcept override {
    queue_.push_back({to, {pieces.head.begin(), pieces.head.end()}, pieces.body, {pieces.tail.begin(), pieces.tail.end()}});
  }
  void flush() noexcept override {
    for (const Queued& queued : queue_) {
      Bytes bytes = queued.head;
      bytes.insert(bytes.end(), queued.body.begin(), queued.body.end());
      bytes.insert(bytes.end(), queued.tail.begin(), queued.tail.end());
      all.push_back({queued.to, std::move(bytes)});
    }
    queue_.clear();
  }
  void before_change(std::span<const std::byte> body) noexcept override {
    if (std::ranges::any_of(queue_, [&](const Queued& queued) { return queued.body.data() == body.data(); })) flush();
  }
  std::vector<CollectingOutbox::Sent> all;

 private:
  struct Queued {
    wire::UdpAddress to;
    Bytes head;
    std::span<const std::byte> body;
    Bytes tail;
  };
  std::vector<Queued> queue_;
};

class RelayTest : public ::testing::Test {
 protected:
  RelayWorld world_;
  wire::UdpAddress a_ = RelayWorld::host(0), b_ = RelayWorld::host(1), c_ = RelayWorld::host(2);

  static Bytes packet_to(std::uint32_t qpn) {
    wire::Packet packet{};
    packet.bth = {.opcode = wire::Opcode::kSendOnly, .dest_qpn = qpn, .psn = 7};
    return encode(packet, Bytes(40, std::byte{0x5a}));
  }
};

TEST_F(RelayTest, AnInterfaceGetsABlockAndTheInstance) {
  const auto answer = world_.register_interface(a_, 1);
  EXPECT_EQ(answer, (wire::RelayMessage{.kind = RelayKind::kRegistered, .block = 1, .nonce = 1, .instance = RelayWorld::kInstance}));
  EXPECT_EQ(world_.outbox.all[0].to, a_);
  EXPECT_TRUE(wire::IcrcFlow(world_.own, a_).is_valid(world_.outbox.all[0].bytes));
  EXPECT_EQ(world_.register_interface(a_, 1).block, 1) << "the repetition gets the same answer";
  EXPECT_EQ(world_.register_interface(a_, 1, 1).block, 1);
  EXPECT_EQ(world_.register_interface(b_, 2).block, 2);
  EXPECT_EQ(world_.relay.interfaces(), 2u);
}

TEST_F(RelayTest, ABlockOfAnotherIsRefused) {
  (void)world_.register_interface(a_, 1);
  const auto answer = world_.register_interface(b_, 2, 1);
  EXPECT_EQ(answer.kind, RelayKind::kRefused);
  EXPECT_EQ(answer.reason, RelayRefusal::kTaken);
  EXPECT_EQ(world_.register_interface(b_, 1, 1).reason, RelayRefusal::kTaken) << "nor for its nonce from elsewhere";
  EXPECT_EQ(world_.register_interface(a_, 1, 2).reason, RelayRefusal::kTaken) << "nor a second one";
  EXPECT_EQ(world_.relay.counters().refused, 3u);
}

TEST_F(RelayTest, AfterARestartAnInterfaceGetsItsBlockAgain) {
  EXPECT_EQ(world_.register_interface(a_, 1, 700).block, 700);
  EXPECT_EQ(world_.register_interface(b_, 2).block, 1);
}

TEST_F(RelayTest, AnAddressWithANewNonceIsANewInterface) {
  world_.register_members(2);
  EXPECT_EQ(world_.register_interface(a_, 77).block, 3);
  EXPECT_EQ(world_.relay.interfaces(), 2u);
  world_.receive(b_, packet_to(1 * 4096 + 1));
  EXPECT_EQ(world_.relay.counters().no_such_qpn, 1u) << "the old block is nobody's";
}

TEST_F(RelayTest, BlocksAreUsedAgainOnlyWhenAllWereUsed) {
  const auto host = [](std::uint32_t n) {
    wire::UdpAddress at = address("10.1.0.0:4791");
    at.ip[2] = static_cast<std::uint8_t>(n >> 8);
    at.ip[3] = static_cast<std::uint8_t>(n);
    return at;
  };
  for (std::uint32_t n = 0; n < 4095; ++n) ASSERT_EQ(world_.register_interface(host(n), n).block, n + 1);
  EXPECT_EQ(world_.register_interface(host(5000), 5000).reason, RelayRefusal::kNoBlock);
  world_.now += std::chrono::seconds(59);
  for (std::uint32_t n = 0; n < 4095; ++n) {
    if (n != 41) (void)world_.register_interface(host(n), n);
  }
  EXPECT_EQ(world_.register_interface(host(5000), 5000).reason, RelayRefusal::kNoBlock);
  world_.now += std::chrono::seconds(1);
  EXPECT_EQ(world_.register_interface(host(5000), 5000).block, 42) << "silent for 60 s";
  world_.receive(host(9), RelayWorld::message({.kind = RelayKind::kUnregister, .nonce = 9}));
  EXPECT_TRUE(world_.outbox.all.empty());
  EXPECT_EQ(world_.register_interface(host(5001), 5001).block, 10);
}

TEST_F(RelayTest, OnlyTheOwnerUnregisters) {
  world_.register_members(2);
  world_.receive(a_, RelayWorld::message({.kind = RelayKind::kUnregister, .nonce = 4711}));
  world_.receive(c_, RelayWorld::message({.kind = RelayKind::kUnregister, .nonce = 100}));
  EXPECT_EQ(world_.relay.interfaces(), 2u);
  world_.receive(a_, RelayWorld::message({.kind = RelayKind::kUnregister, .nonce = 100}));
  EXPECT_EQ(world_.relay.interfaces(), 1u);
}

TEST_F(RelayTest, BadMessagesAreCounted) {
  world_.receive(a_, RelayWorld::message({.kind = RelayKind::kRegister, .nonce = 1}, 0x1234));
  Bytes garbled = RelayWorld::message({.kind = RelayKind::kRegister, .nonce = 1});
  garbled[wire::kBthBytes + wire::kDethBytes + 3] = std::byte{99};
  world_.receive(a_, garbled);
  EXPECT_EQ(world_.relay.counters().bad_message, 2u);
  world_.receive_as_is(a_, RelayWorld::message({.kind = RelayKind::kRegister, .nonce = 1}));
  EXPECT_EQ(world_.relay.counters().bad_icrc, 1u);
  EXPECT_EQ(world_.relay.interfaces(), 0u);
}

TEST_F(RelayTest, AnUnknownVersionIsToldSo) {
  Bytes newer = RelayWorld::message({.kind = RelayKind::kRegister, .nonce = 0xabcdef});
  newer[wire::kBthBytes + wire::kDethBytes + 2] = std::byte{2};
  world_.receive(a_, newer);
  ASSERT_EQ(world_.outbox.all.size(), 1u);
  const auto answer = wire::decode_relay_message(wire::decode_packet(world_.outbox.all[0].bytes)->payload);
  EXPECT_EQ(answer->reason, RelayRefusal::kUnknownVersion);
  EXPECT_EQ(answer->nonce, 0xabcdefu);
}

TEST_F(RelayTest, PacketsAreForwardedByDestQpWithAFreshIcrc) {
  world_.register_members(2);
  const Bytes sent = packet_to(2 * 4096 + 17);
  world_.receive(a_, sent);
  ASSERT_EQ(world_.outbox.all.size(), 1u);
  const auto& out = world_.outbox.all[0];
  EXPECT_EQ(out.to, b_);
  EXPECT_TRUE(wire::IcrcFlow(world_.own, b_).is_valid(out.bytes));
  EXPECT_TRUE(std::equal(sent.begin(), sent.end() - 4, out.bytes.begin())) << "nothing but the ICRC changes";
  EXPECT_EQ(world_.relay.counters().forwarded, 1u);
}

TEST_F(RelayTest, MessagesOfConnectionsPassBetweenServiceQpns) {
  world_.register_members(2);
  wire::Packet packet{};
  packet.bth = {.opcode = wire::Opcode::kUdSendOnly, .dest_qpn = 2 * 4096};
  packet.deth = {.queue_key = wire::kConnectQueueKey, .source_qpn = 1 * 4096};
  const Bytes sent = encode(packet, wire::encode_connect_message({.kind = wire::ConnectKind::kInquire, .nonce = 7, .qpn = 4097, .peer_qpn = 8193}));
  world_.receive(a_, sent);
  ASSERT_EQ(world_.outbox.all.size(), 1u);
  EXPECT_EQ(world_.outbox.all[0].to, b_);
  EXPECT_TRUE(wire::IcrcFlow(world_.own, b_).is_valid(world_.outbox.all[0].bytes));
  EXPECT_TRUE(std::equal(sent.begin(), sent.end() - 4, world_.outbox.all[0].bytes.begin()));
}

TEST_F(RelayTest, EveryRequestAndAnswerOfAReliableConnectionPassesUntouched) {
  world_.register_members(2);
  for (std::uint8_t code = 0; code < 0x20; ++code) {
    const auto opcode = static_cast<wire::Opcode>(code);
    const wire::OpcodeTraits traits = wire::traits(opcode);
    if (!traits.known) continue;
    wire::Packet packet{};
    packet.bth = {.opcode = opcode, .dest_qpn = 2 * 4096 + 9, .ack_request = true, .psn = 0xfffffe};
    packet.reth = {.address = 0x1122334455667788, .rkey = 0x99, .dma_length = 1 << 20};
    packet.aeth = {.syndrome = wire::kSyndromeAck, .msn = 5};
    packet.atomic_eth = {.address = 0x1122334455667788, .rkey = 0x99, .swap_or_add = 3, .compare = 4};
    packet.atomic_original = 7;
    packet.immediate = 8;
    const Bytes sent = encode(packet, traits.payload ? Bytes(4096, std::byte{0x5a}) : Bytes{});
    world_.outbox.all.clear();
    world_.receive(a_, sent);
    ASSERT_EQ(world_.outbox.all.size(), 1u) << wire::name(opcode);
    EXPECT_EQ(world_.outbox.all[0].to, b_);
    EXPECT_TRUE(wire::IcrcFlow(world_.own, b_).is_valid(world_.outbox.all[0].bytes));
    EXPECT_TRUE(std::equal(sent.begin(), sent.end() - 4, world_.outbox.all[0].bytes.begin(), world_.outbox.all[0].bytes.end() - 4)) << wire::name(opcode);
  }
}

TEST_F(RelayTest, StrangersAndWrongDestinationsAreDroppedAndCounted) {
  world_.register_members(2);
  world_.receive(c_, packet_to(2 * 4096));
  EXPECT_EQ(world_.relay.counters().not_registered, 1u);
  world_.receive(a_, packet_to(3 * 4096));
  world_.receive(a_, packet_to(17));
  EXPECT_EQ(world_.relay.counters().no_such_qpn, 2u);
  world_.receive_as_is(a_, packet_to(2 * 4096));
  EXPECT_EQ(world_.relay.counters().bad_icrc, 1u);
  for (std::size_t size = 0; size < 16; ++size) world_.receive_as_is(a_, Bytes(size));
  EXPECT_EQ(world_.relay.counters().undecodable, 16u);
  EXPECT_TRUE(world_.outbox.all.empty());
}

TEST_F(RelayTest, ASumCrossesTheRelay) {
  const Ring ring;
  world_.start(ring);
  EXPECT_EQ(world_.bound, (std::vector<std::uint32_t>{17, 17, 17, 17}));
  world_.receive(a_, ring.contribution(0, ring.spec.first_seq, lanes_of<std::int32_t>({1, 2})));
  EXPECT_TRUE(world_.outbox.all.empty());
  world_.receive(b_, ring.contribution(1, ring.spec.first_seq, lanes_of<std::int32_t>({10, 20})));
  ASSERT_EQ(world_.outbox.all.size(), 2u);
  for (std::uint16_t i = 0; i < 2; ++i) {
    const auto& out = world_.outbox.all[i];
    EXPECT_EQ(out.to, RelayWorld::host(static_cast<std::uint16_t>(1 - i)));
    EXPECT_TRUE(wire::IcrcFlow(world_.own, out.to).is_valid(out.bytes));
    const auto packet = wire::decode_packet(out.bytes);
    EXPECT_EQ(wire::decode_payload(packet->payload)->kind, wire::Kind::kResult);
    const auto lanes = packet->payload.subspan(wire::kHeaderBytes, 8);
    EXPECT_TRUE(std::ranges::equal(lanes, lanes_of<std::int32_t>({11, 22})));
  }
}

// The acknowledgement of the first transmission may cross the repetition, so that the sender goes on at once.
TEST_F(RelayTest, ARepeatedResultLeavesAsItWasThoughItsSlotIsTakenOverInTheSameBatch) {
  const Ring ring;
  world_.start(ring);
  LateOutbox late;
  softswitch::Relay relay(world_.aggregator, late, {.own = world_.own, .instance = RelayWorld::kInstance}, [](std::uint32_t) {});
  const auto receive = [&](std::uint16_t member, Bytes bytes) {
    wire::IcrcFlow(RelayWorld::host(member), world_.own).seal(bytes);
    relay.receive(RelayWorld::host(member), bytes, {});
  };
  const auto contribute = [&](std::uint16_t member, std::uint32_t chunk) {
    receive(member, ring.contribution(member, ring.spec.first_seq + chunk, lanes_of<std::int32_t>({static_cast<std::int32_t>(chunk) + 1, member})));
  };
  for (std::uint16_t m = 0; m < 2; ++m) receive(m, RelayWorld::message({.kind = RelayKind::kRegister, .nonce = 100u + m}));
  for (std::uint32_t chunk = 0; chunk < 2 * ring.spec.window; ++chunk) {
    contribute(0, chunk);
    contribute(1, chunk);
  }
  late.flush();
  late.all.clear();
  contribute(0, 0);
  contribute(0, 2 * ring.spec.window);
  late.flush();
  ASSERT_EQ(late.all.size(), 1u);
  EXPECT_TRUE(wire::IcrcFlow(world_.own, late.all[0].to).is_valid(late.all[0].bytes));
  const auto lanes = wire::decode_packet(late.all[0].bytes)->payload.subspan(wire::kHeaderBytes, 8);
  EXPECT_TRUE(std::ranges::equal(lanes, lanes_of<std::int32_t>({2, 1})));
}

TEST_F(RelayTest, AMemberThatHasGoneGetsNoResultAndItsBlocksNewOwnerNeither) {
  const Ring ring;
  world_.start(ring);
  world_.receive(b_, RelayWorld::message({.kind = RelayKind::kUnregister, .nonce = 101}));
  EXPECT_EQ(world_.register_interface(c_, 5, 2).block, 2);
  world_.receive(a_, ring.contribution(0, ring.spec.first_seq, lanes_of<std::int32_t>({1, 2})));
  EXPECT_EQ(world_.aggregator.drops()[static_cast<std::size_t>(aggregator::Drop::kWrongDestination)], 1u);
  world_.receive(c_, ring.contribution(1, ring.spec.first_seq, lanes_of<std::int32_t>({1, 2})));
  EXPECT_EQ(world_.aggregator.drops()[static_cast<std::size_t>(aggregator::Drop::kForeignSource)], 1u);
  EXPECT_TRUE(world_.outbox.all.empty());
}

TEST_F(RelayTest, Ipv6WorksTheSame) {
  const auto own = address("[fd00::1]:5050"), from = address("[fd00::2]:6000");
  softswitch::Relay relay(world_.aggregator, world_.outbox, {.own = own, .instance = 1}, [](std::uint32_t) {});
  Bytes bytes = RelayWorld::message({.kind = RelayKind::kRegister, .nonce = 1});
  wire::IcrcFlow(from, own).seal(bytes);
  relay.receive(from, bytes, {});
  ASSERT_EQ(world_.outbox.all.size(), 1u);
  EXPECT_TRUE(wire::IcrcFlow(own, from).is_valid(world_.outbox.all[0].bytes));
}

}  // namespace
}  // namespace ina::test
