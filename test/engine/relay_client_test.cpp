// relay_client_test.cpp: registration with a relay.
#include <gtest/gtest.h>

#include "test/engine/test_network.hpp"
#include "ucx_tl/engine/error.hpp"
#include "ucx_tl/engine/relay_client.hpp"

namespace ina::engine::test {
namespace {

using wire::RelayKind;
using wire::RelayMessage;

TEST(RelayClient, RepeatsItsMessageEverMoreSlowlyUntilItIsAnswered) {
  RelayClient client(42);
  std::vector<Nanoseconds> times;
  for (Nanoseconds now = 0; now < 2 * kSecond; now += kMillisecond) {
    if (const auto message = client.take_due(now)) {
      EXPECT_EQ(*message, (RelayMessage{.kind = RelayKind::kRegister, .block = 0, .nonce = 42, .instance = 0}));
      times.push_back(now);
    }
  }
  ASSERT_GT(times.size(), 5u);
  EXPECT_EQ(times[1] - times[0], 5 * kMillisecond);
  EXPECT_EQ(times.back() - times[times.size() - 2], 200 * kMillisecond);
}

TEST(RelayClient, RefreshesItsBlockEveryTenSeconds) {
  RelayClient client(42);
  ASSERT_TRUE(client.take_due(0));
  ASSERT_TRUE(client.on_message({.kind = RelayKind::kRegistered, .block = 7, .nonce = 42, .instance = 99}, kMillisecond));
  EXPECT_TRUE(client.is_registered());
  EXPECT_FALSE(client.take_due(9 * kSecond));
  const auto refresh = client.take_due(11 * kSecond);
  ASSERT_TRUE(refresh);
  EXPECT_EQ(*refresh, (RelayMessage{.kind = RelayKind::kRegister, .block = 7, .nonce = 42, .instance = 99}));
}

TEST(RelayClient, IgnoresAnswersToOthersAndOtherBlocks) {
  RelayClient client(42);
  EXPECT_FALSE(client.on_message({.kind = RelayKind::kRegistered, .block = 7, .nonce = 41}, 0));
  EXPECT_FALSE(client.on_message({.kind = RelayKind::kRegistered, .block = 0, .nonce = 42}, 0));
  EXPECT_FALSE(client.on_message({.kind = RelayKind::kRegister, .block = 7, .nonce = 42}, 0));
  EXPECT_FALSE(client.is_registered());
  ASSERT_TRUE(client.on_message({.kind = RelayKind::kRegistered, .block = 7, .nonce = 42}, 0));
  EXPECT_FALSE(client.on_message({.kind = RelayKind::kRegistered, .block = 8, .nonce = 42}, 0));
  EXPECT_EQ(client.block(), 7);
}

TEST(RelayClient, DoubtBringsARefreshSoonButNotOften) {
  RelayClient client(42);
  ASSERT_TRUE(client.take_due(0));
  ASSERT_TRUE(client.on_message({.kind = RelayKind::kRegistered, .block = 7, .nonce = 42}, 0));
  client.refresh_soon(100 * kMillisecond);
  EXPECT_FALSE(client.take_due(100 * kMillisecond));
  client.refresh_soon(300 * kMillisecond);
  EXPECT_TRUE(client.take_due(300 * kMillisecond));
}

TEST(RelayClient, RefusalIsFinal) {
  RelayClient client(42);
  ASSERT_TRUE(client.on_message({.kind = RelayKind::kRefused, .reason = wire::RelayRefusal::kTaken, .nonce = 42}, 0));
  EXPECT_FALSE(client.is_registered());
  EXPECT_FALSE(client.take_due(kSecond));
}

// A relay at host 20 that answers registrations, and forwards by block.
class FakeRelay {
 public:
  explicit FakeRelay(TestNetwork& network) : network_(network) {
    network.tap = [this](const CapturedPacket& packet) {
      if (packet.to == address(20)) on_packet(packet);
      return false;
    };
  }
  bool refuses = false;
  std::map<std::uint16_t, wire::UdpAddress> blocks;
  std::vector<RelayMessage> messages;

 private:
  void on_packet(const CapturedPacket& packet) {
    const auto decoded = wire::decode_packet(packet.bytes);
    ASSERT_TRUE(decoded);
    EXPECT_TRUE(wire::IcrcFlow(packet.from, address(20)).is_valid(packet.bytes));
    if (decoded->bth.dest_qpn != wire::kRelayQpn) return forward(packet, decoded->bth.dest_qpn);
    const auto message = wire::decode_relay_message(decoded->payload);
    ASSERT_TRUE(message);
    messages.push_back(*message);
    if (message->kind != RelayKind::kRegister) return;
    RelayMessage answer{.kind = RelayKind::kRegistered, .block = message->block, .nonce = message->nonce, .instance = 5};
    if (answer.block == 0) answer.block = static_cast<std::uint16_t>(100 + blocks.size());
    if (refuses) answer = {.kind = RelayKind::kRefused, .block = message->block, .reason = wire::RelayRefusal::kTaken, .nonce = message->nonce, .instance = 5};
    blocks[answer.block] = packet.from;
    reply(packet.from, answer);
  }
  void reply(const wire::UdpAddress& to, const RelayMessage& answer) {
    wire::Packet packet{};
    packet.bth = {.opcode = wire::Opcode::kUdSendOnly, .dest_qpn = wire::kRelayQpn};
    packet.deth = {.queue_key = wire::kRelayQueueKey, .source_qpn = wire::kRelayQpn};
    std::vector<std::byte> bytes(64);
    bytes.resize(wire::encode_headers(packet, bytes));
    const auto payload = wire::encode_relay_message(answer);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    bytes.resize(bytes.size() + wire::kIcrcBytes);
    wire::IcrcFlow(address(20), to).seal(bytes);
    network_.inject({.from = address(20), .to = to, .bytes = bytes});
  }
  void forward(CapturedPacket packet, std::uint32_t qpn) {
    const auto block = blocks.find(static_cast<std::uint16_t>(qpn >> wire::kQpnBlockBits));
    ASSERT_NE(block, blocks.end());
    wire::IcrcFlow(address(20), block->second).seal(packet.bytes);
    network_.inject({.from = address(20), .to = block->second, .bytes = packet.bytes});
  }
  TestNetwork& network_;
};

class RelayedPair : public testing::Test {
 protected:
  static EngineOptions behind_relay() {
    EngineOptions options;
    options.relay = address(20);
    return options;
  }
  VirtualClock clock;
  TestNetwork network{clock, 1};
  FakeRelay relay{network};
};

TEST_F(RelayedPair, ConnectionsWorkThroughTheRelayWithItsNumbers) {
  Host a(network, clock, 1, behind_relay());
  Host b(network, clock, 2, behind_relay());
  a.engine.open_relay(kSecond);
  b.engine.open_relay(kSecond);
  Qp* qp_a = a.engine.create_qp();
  Qp* qp_b = b.engine.create_qp();
  EXPECT_EQ(qp_a->number() >> wire::kQpnBlockBits, 100u);
  EXPECT_EQ(qp_b->number() >> wire::kQpnBlockBits, 101u);
  ASSERT_TRUE(a.engine.connect(*qp_a, address(2), b.engine.address(*qp_b)));
  ASSERT_TRUE(b.engine.connect(*qp_b, address(1), a.engine.address(*qp_a)));
  const std::vector<std::byte> payload(5000, std::byte{9});
  ASSERT_EQ(a.engine.post(*qp_a, Pair::send(payload, &a)), PostStatus::kPosted);
  for (int i = 0; i < 100 && a.completions.empty(); ++i) {
    a.progress();
    b.progress();
    clock.advance(10 * kMicrosecond);
  }
  ASSERT_EQ(b.messages.size(), 1u);
  EXPECT_EQ(b.messages[0], payload);
}

TEST_F(RelayedPair, InterfacesConnectInBandThroughTheRelay) {
  Host a(network, clock, 1, behind_relay());
  Host b(network, clock, 2, behind_relay());
  a.engine.open_relay(kSecond);
  b.engine.open_relay(kSecond);
  EXPECT_EQ(b.engine.service_address().qpn, 101u << wire::kQpnBlockBits);
  Qp* const qp = a.engine.create_qp();
  ASSERT_TRUE(a.engine.connect_to_service(*qp, address(2), b.engine.service_address()));
  const auto run_until = [&](auto fact) {
    for (int i = 0; i < 1000 && !fact(); ++i) {
      a.progress();
      b.progress();
      clock.advance(10 * kMicrosecond);
    }
    return fact();
  };
  ASSERT_TRUE(run_until([&] { return qp->is_connected(); }));
  const std::vector<std::byte> payload(5000, std::byte{9});
  ASSERT_EQ(a.engine.post(*qp, Pair::send(payload, &a)), PostStatus::kPosted);
  ASSERT_TRUE(run_until([&] { return a.completions.size() == 1; }));
  EXPECT_EQ(b.messages.size(), 1u);
  a.engine.destroy_qp(qp);
  EXPECT_TRUE(run_until([&] { return b.engine.qp_count() == 0; }));
}

TEST_F(RelayedPair, RefusalSaysWhy) {
  relay.refuses = true;
  Host a(network, clock, 1, behind_relay());
  try {
    a.engine.open_relay(kSecond);
    FAIL() << "a refusing relay was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.failure(), Failure::kRefused);
    EXPECT_NE(std::string(error.what()).find("10.0.0.20:4791 refuses"), std::string::npos) << error.what();
  }
}

TEST_F(RelayedPair, ClosingUnregisters) {
  {
    Host a(network, clock, 1, behind_relay());
    a.engine.open_relay(kSecond);
  }
  EXPECT_EQ(relay.messages.back().kind, RelayKind::kUnregister);
}

TEST_F(RelayedPair, LossOfTheBlockFailsItsConnections) {
  Host a(network, clock, 1, behind_relay());
  a.engine.open_relay(kSecond);
  Qp* qp = a.engine.create_qp();
  ASSERT_TRUE(a.engine.connect(*qp, address(2), {.qpn = 0x5000, .first_psn = 1, .mtu = 1024}));
  relay.refuses = true;
  clock.advance(11 * kSecond);
  for (int i = 0; i < 10; ++i) {
    a.progress();
    clock.advance(kMillisecond);
  }
  ASSERT_EQ(a.failures.size(), 1u);
  EXPECT_EQ(a.failures[0].second, QpError::kRelayLost);
}

TEST_F(RelayedPair, PacketsThatDoNotComeFromTheRelayAreDropped) {
  Host a(network, clock, 1, behind_relay());
  a.engine.open_relay(kSecond);
  Qp* qp = a.engine.create_qp();
  ASSERT_TRUE(a.engine.connect(*qp, address(2), {.qpn = 0x5000, .first_psn = 1, .mtu = 1024}));
  wire::Packet packet{};
  packet.bth = {.opcode = wire::Opcode::kSendOnly, .dest_qpn = qp->number(), .psn = 1};
  std::vector<std::byte> bytes(32);
  bytes.resize(wire::encode_headers(packet, bytes) + wire::kIcrcBytes);
  wire::IcrcFlow(address(2), address(1)).seal(bytes);
  network.inject({.from = address(2), .to = address(1), .bytes = bytes});
  a.engine.tick();
  EXPECT_EQ(a.engine.counters().foreign_source.value(), 1u);
}

}  // namespace
}  // namespace ina::engine::test
