// connect_test.cpp: connections in band between engines: lost, late and repeated messages, both sides at once, restarts, closing, silence.
#include <gtest/gtest.h>

#include "test/engine/test_network.hpp"
#include "wire/connect_message.hpp"

namespace ina::engine::test {
namespace {

using wire::ConnectKind;

EngineOptions with_limits(EngineOptions options = {}) {
  options.requester.retry_limit = 64;
  return options;
}

// Hosts 1 and 2, of which the second may be replaced by another process at the same address.
class InBand : public testing::Test {
 protected:
  explicit InBand(EngineOptions options = with_limits()) : options_(options) {
    a = start(1);
    b = start(2);
  }
  std::unique_ptr<Host> start(std::uint8_t number) {
    options_.seed += 1000;
    return std::make_unique<Host>(network, clock, number, options_);
  }
  Qp* connect(Host& from, std::uint8_t number, const Host& to) {
    Qp* const qp = from.engine.create_qp();
    EXPECT_TRUE(from.engine.connect_to_service(*qp, address(number), to.engine.service_address()));
    EXPECT_TRUE(qp->is_connecting());
    return qp;
  }
  void step(Nanoseconds by) {
    for (Host* const host : {a.get(), b.get()}) {
      if (host != nullptr) host->progress();
    }
    clock.advance(by);
  }
  template <typename Fact>
  bool run_until(Fact fact, Nanoseconds at_most = 10 * kSecond, Nanoseconds by = 100 * kMicrosecond) {
    for (const Nanoseconds end = clock.now() + at_most; clock.now() < end; step(by)) {
      if (fact()) return true;
    }
    return fact();
  }
  bool run_until_connected(const Qp* qp) {
    return run_until([&] { return qp->is_connected(); });
  }
  // Whether a message gets from the QP to the host, and is acknowledged.
  bool transfers(Host& from, Qp* qp, Host& to) {
    const std::size_t arrived = to.messages.size();
    const std::size_t completed = from.completions.size();
    if (from.engine.post(*qp, Pair::send(payload, this)) != PostStatus::kPosted) return false;
    return run_until([&] { return to.messages.size() == arrived + 1 && from.completions.size() == completed + 1; });
  }
  // Swallows messages of that kind; every other packet passes.
  void swallow(ConnectKind kind, int most = 1000000) {
    network.tap = [this, kind, most](const CapturedPacket& packet) mutable {
      const auto message = message_in(packet);
      if (!message || message->kind != kind || most == 0) return true;
      --most;
      swallowed.push_back(packet);
      return false;
    };
  }
  static std::optional<wire::ConnectMessage> message_in(const CapturedPacket& packet) {
    const auto decoded = wire::decode_packet(packet.bytes);
    if (!decoded || decoded->bth.opcode != wire::Opcode::kUdSendOnly) return std::nullopt;
    const auto message = wire::decode_connect_message(decoded->payload);
    return message ? std::optional(*message) : std::nullopt;
  }
  void kill_b() {
    network.tap = [](const CapturedPacket&) { return false; };  // it says nothing when it goes
    b.reset();
    network.tap = nullptr;
    network.forget_packets();
  }

  EngineOptions options_;
  VirtualClock clock;
  TestNetwork network{clock, 1};
  std::vector<std::byte> payload = std::vector<std::byte>(3000, std::byte{7});
  std::vector<CapturedPacket> swallowed;
  std::unique_ptr<Host> a;
  std::unique_ptr<Host> b;
};

TEST_F(InBand, ConnectionCarriesMessagesAndWritesOneWay) {
  Qp* const qp = connect(*a, 2, *b);
  EXPECT_FALSE(a->engine.can_post(*qp, 1));
  ASSERT_TRUE(run_until_connected(qp));
  EXPECT_TRUE(transfers(*a, qp, *b));
  EXPECT_EQ(b->messages.back(), payload);
  Message write = Pair::send(payload, this);
  write.kind = MessageKind::kWrite;
  write.remote_address = reinterpret_cast<std::uintptr_t>(b->area.data());
  write.rkey = b->rkey;
  ASSERT_EQ(a->engine.post(*qp, write), PostStatus::kPosted);
  ASSERT_TRUE(run_until([&] { return a->completions.size() == 2; }));
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), b->area.begin()));
  EXPECT_EQ(a->engine.qp_count(), 1u);
  EXPECT_EQ(b->engine.qp_count(), 1u);
}

TEST_F(InBand, BadNetworkDelaysAConnectionAndMakesNoSecondQp) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    network.faults = {.loss = 0.4, .duplicate = 0.4, .reorder = 0.5, .corrupt = 0.1};
    Qp* const qp = connect(*a, 2, *b);
    ASSERT_TRUE(run_until_connected(qp));
    ASSERT_TRUE(transfers(*a, qp, *b));
    EXPECT_EQ(b->engine.qp_count(), 1u);
    a->engine.destroy_qp(qp);
    network.faults = {};
    ASSERT_TRUE(run_until([&] { return b->engine.qp_count() == 0; }));
    a->messages.clear();
    b->messages.clear();
  }
  EXPECT_TRUE(a->failures.empty());
}

TEST_F(InBand, BothSidesAtOnceGetAConnectionEach) {
  Qp* const to_b = connect(*a, 2, *b);
  Qp* const to_a = connect(*b, 1, *a);
  ASSERT_TRUE(run_until_connected(to_b));
  ASSERT_TRUE(run_until_connected(to_a));
  EXPECT_TRUE(transfers(*a, to_b, *b));
  EXPECT_TRUE(transfers(*b, to_a, *a));
  EXPECT_EQ(a->engine.qp_count(), 2u);
  EXPECT_EQ(b->engine.qp_count(), 2u);
}

TEST_F(InBand, InterfaceConnectsToItselfAndSeveralTimesToOnePeer) {
  Qp* const own = connect(*a, 1, *a);
  ASSERT_TRUE(run_until_connected(own));
  EXPECT_TRUE(transfers(*a, own, *a));
  std::vector<Qp*> several;
  for (int i = 0; i < 5; ++i) several.push_back(connect(*a, 2, *b));
  for (Qp* const qp : several) {
    ASSERT_TRUE(run_until_connected(qp));
    EXPECT_TRUE(transfers(*a, qp, *b));
  }
  EXPECT_EQ(b->engine.qp_count(), 5u);
  a->engine.destroy_qp(own);
  for (Qp* const qp : several) a->engine.destroy_qp(qp);
  EXPECT_TRUE(run_until([&] { return a->engine.qp_count() == 0 && b->engine.qp_count() == 0; }));
}

TEST_F(InBand, PeerThatDoesNotProgressAnswersFromItsTimer) {
  Qp* const qp = connect(*a, 2, *b);
  for (int i = 0; i < 10 && !qp->is_connected(); ++i) {
    a->progress();
    b->engine.tick();
    clock.advance(4 * kMillisecond);
  }
  EXPECT_TRUE(qp->is_connected());
}

TEST_F(InBand, SignalHandlerLeavesTheAnswerToProgress) {
  Qp* const qp = connect(*a, 2, *b);
  for (int i = 0; i < 10; ++i) {
    a->progress();
    b->engine.tick(false);
    clock.advance(4 * kMillisecond);
  }
  EXPECT_TRUE(qp->is_connecting());
  EXPECT_EQ(b->engine.qp_count(), 0u);
  EXPECT_TRUE(run_until_connected(qp));
  EXPECT_EQ(b->engine.qp_count(), 1u);
}

TEST_F(InBand, SignalHandlerMayHearOfTheEnd) {
  Qp* const qp = connect(*a, 2, *b);
  ASSERT_TRUE(run_until_connected(qp));
  a->engine.destroy_qp(qp);
  for (int i = 0; i < 10; ++i) {
    a->engine.tick(false);
    b->engine.tick(false);
    clock.advance(4 * kMillisecond);
  }
  EXPECT_EQ(b->engine.qp_count(), 1u);
  ASSERT_TRUE(run_until([&] { return b->engine.qp_count() == 0; }));
  Qp* const again = connect(*a, 2, *b);
  ASSERT_TRUE(run_until_connected(again));
  EXPECT_TRUE(transfers(*a, again, *b));
}

TEST_F(InBand, SilentPeerIsGivenUpInTime) {
  Qp* const qp = connect(*a, 9, *b);
  const Nanoseconds begin = clock.now();
  ASSERT_TRUE(run_until([&] { return !a->failures.empty(); }, 100 * kSecond, kMillisecond));
  EXPECT_EQ(a->failures[0], std::pair(qp, QpError::kNoAnswer));
  EXPECT_NEAR(static_cast<double>(clock.now() - begin), 30e9, 0.3e9);
  a->engine.destroy_qp(qp);
}

TEST_F(InBand, AddressesThatMakeNoSenseAreRefused) {
  Qp* const qp = a->engine.create_qp();
  for (const ServiceAddress bad : {ServiceAddress{.qpn = 2, .instance = 1}, ServiceAddress{.qpn = 0x1000000, .instance = 1}, ServiceAddress{.qpn = 0x1000, .instance = 0},
                                   ServiceAddress{.qpn = 0x1000, .instance = ServiceAddress::kInstanceMask + 1}}) {
    EXPECT_FALSE(a->engine.connect_to_service(*qp, address(2), bad));
  }
  EXPECT_FALSE(a->engine.connect_to_service(*qp, wire::UdpAddress{.ip = {}, .port = 1, .is_ipv6 = true}, b->engine.service_address()));
  EXPECT_TRUE(a->engine.connect_to_service(*qp, address(2), b->engine.service_address()));
  EXPECT_FALSE(a->engine.connect_to_service(*qp, address(2), b->engine.service_address()));
}

TEST_F(InBand, ConnectToAnEarlierProcessIsRejected) {
  const ServiceAddress earlier = b->engine.service_address();
  kill_b();
  b = start(2);
  Qp* const qp = a->engine.create_qp();
  ASSERT_TRUE(a->engine.connect_to_service(*qp, address(2), earlier));
  ASSERT_TRUE(run_until([&] { return !a->failures.empty(); }, 100 * kMillisecond));
  EXPECT_EQ(a->failures[0].second, QpError::kRefused);
  EXPECT_EQ(qp->refusal, wire::ConnectRefusal::kNotHere);
  EXPECT_EQ(b->engine.qp_count(), 0u);
}

TEST_F(InBand, RestartedPeerIsNoticedByTheFirstMessageToIt) {
  Qp* const qp = connect(*a, 2, *b);
  ASSERT_TRUE(run_until_connected(qp));
  kill_b();
  b = start(2);
  ASSERT_EQ(a->engine.post(*qp, Pair::send(payload, this)), PostStatus::kPosted);
  ASSERT_TRUE(run_until([&] { return !a->failures.empty(); }, 100 * kMillisecond));
  EXPECT_EQ(a->failures[0], std::pair(qp, QpError::kReset));
  ASSERT_EQ(a->completions.size(), 1u);
  EXPECT_EQ(a->completions[0].error, QpError::kReset);
  EXPECT_TRUE(b->messages.empty());
}

TEST_F(InBand, PeerThatClosesItsInterfaceIsNoticedAtOnce) {
  Qp* const qp = connect(*a, 2, *b);
  ASSERT_TRUE(run_until_connected(qp));
  b.reset();
  ASSERT_TRUE(run_until([&] { return !a->failures.empty(); }, kMillisecond));
  EXPECT_EQ(a->failures[0], std::pair(qp, QpError::kReset));
}

TEST_F(InBand, ClosingTakesThePassiveQpAwayWhateverIsLost) {
  for (const ConnectKind lost : {ConnectKind::kClose, ConnectKind::kClosed}) {
    Qp* const qp = connect(*a, 2, *b);
    ASSERT_TRUE(run_until_connected(qp));
    ASSERT_TRUE(transfers(*a, qp, *b));
    swallow(lost, 3);
    a->engine.destroy_qp(qp);
    EXPECT_TRUE(run_until([&] { return b->engine.qp_count() == 0; }, kSecond));
    network.tap = nullptr;
  }
}

TEST_F(InBand, AcknowledgedMessagesAreDeliveredThoughTheConnectionIsClosed) {
  Qp* const qp = connect(*a, 2, *b);
  ASSERT_TRUE(run_until_connected(qp));
  ASSERT_EQ(a->engine.post(*qp, Pair::send(payload, this)), PostStatus::kPosted);
  for (int i = 0; i < 100 && a->completions.empty(); ++i) {  // b's user does not progress
    a->progress();
    b->engine.tick();
    clock.advance(100 * kMicrosecond);
  }
  ASSERT_EQ(a->completions.size(), 1u);
  a->engine.destroy_qp(qp);
  for (int i = 0; i < 100; ++i) {
    a->progress();
    b->engine.tick();
    clock.advance(100 * kMicrosecond);
  }
  EXPECT_EQ(b->engine.qp_count(), 0u);
  b->progress();
  EXPECT_EQ(b->messages.size(), 1u);
}

TEST_F(InBand, DestroyedWhileConnectingLeavesNothing) {
  Qp* const at_once = connect(*a, 2, *b);
  a->engine.destroy_qp(at_once);
  swallow(ConnectKind::kAccept, 2);
  Qp* const half_way = connect(*a, 2, *b);
  ASSERT_TRUE(run_until([&] { return swallowed.size() == 2; }));
  a->engine.destroy_qp(half_way);
  ASSERT_TRUE(run_until([&] { return b->engine.qp_count() == 0; }, kSecond));
  for (int i = 0; i < 3000; ++i) step(kMillisecond);
  EXPECT_EQ(a->engine.qp_count(), 0u);
  EXPECT_EQ(b->engine.qp_count(), 0u);
}

TEST_F(InBand, LateConnectOfAClosedConnectionIsClosedAgain) {
  swallow(ConnectKind::kConnect, 1);
  Qp* const qp = connect(*a, 2, *b);
  ASSERT_TRUE(run_until_connected(qp));
  ASSERT_EQ(swallowed.size(), 1u);
  a->engine.destroy_qp(qp);
  ASSERT_TRUE(run_until([&] { return b->engine.qp_count() == 0; }));
  for (int i = 0; i < 3000; ++i) step(kMillisecond);  // nobody remembers the nonce
  network.inject(swallowed[0]);
  step(kMillisecond);
  EXPECT_EQ(b->engine.qp_count(), 1u);
  EXPECT_TRUE(run_until([&] { return b->engine.qp_count() == 0; }, kSecond));
}

TEST_F(InBand, LateAcceptChangesNothing) {
  swallow(ConnectKind::kAccept, 1);
  Qp* const qp = connect(*a, 2, *b);
  ASSERT_TRUE(run_until_connected(qp));
  network.inject(swallowed[0]);
  EXPECT_TRUE(transfers(*a, qp, *b));
  EXPECT_EQ(b->engine.qp_count(), 1u);
}

TEST_F(InBand, StrangersCannotEndAConnection) {
  Qp* const qp = connect(*a, 2, *b);
  std::vector<CapturedPacket> accepts;
  network.tap = [&](const CapturedPacket& packet) {
    if (const auto message = message_in(packet); message && message->kind == ConnectKind::kAccept) accepts.push_back(packet);
    return true;
  };
  ASSERT_TRUE(run_until_connected(qp));
  ASSERT_FALSE(accepts.empty());
  const auto forge = [&](std::uint8_t from, std::uint64_t nonce, std::uint32_t peer_qpn) {
    wire::Packet packet{};
    packet.bth = {.opcode = wire::Opcode::kUdSendOnly, .dest_qpn = a->engine.service_address().qpn};
    packet.deth = {.queue_key = wire::kConnectQueueKey, .source_qpn = b->engine.service_address().qpn};
    std::vector<std::byte> bytes(64);
    bytes.resize(wire::encode_headers(packet, bytes));
    const auto body = wire::encode_connect_message({.kind = ConnectKind::kReset, .nonce = nonce, .qpn = qp->peer->qpn, .peer_qpn = peer_qpn});
    bytes.insert(bytes.end(), body.begin(), body.end());
    bytes.resize(bytes.size() + wire::kIcrcBytes);
    wire::IcrcFlow(address(from), address(1)).seal(bytes);
    network.inject({.from = address(from), .to = address(1), .bytes = bytes});
    step(kMillisecond);
    step(kMillisecond);
  };
  const std::uint64_t nonce = message_in(accepts[0])->nonce;
  forge(2, nonce + 1, qp->number());
  forge(3, nonce, qp->number());
  forge(2, nonce, qp->number() + 1);
  EXPECT_TRUE(transfers(*a, qp, *b));
  forge(2, nonce, qp->number());
  ASSERT_EQ(a->failures.size(), 1u);
  EXPECT_EQ(a->failures[0].second, QpError::kReset);
}

TEST_F(InBand, QpNumbersOfAPeerThatHasNoneLeftAreNotWaitedFor) {
  for (std::uint32_t i = 0; i < b->engine.max_qps(); ++i) ASSERT_NE(b->engine.create_qp(), nullptr);
  EXPECT_EQ(b->engine.create_qp(), nullptr);
  Qp* const qp = connect(*a, 2, *b);
  ASSERT_TRUE(run_until([&] { return !a->failures.empty(); }, kSecond));
  EXPECT_EQ(a->failures[0], std::pair(qp, QpError::kRefused));
  EXPECT_EQ(qp->refusal, wire::ConnectRefusal::kNoQp);
}

TEST_F(InBand, ManyConnectionsAtOnceAreMade) {
  std::vector<Qp*> qps;
  for (int i = 0; i < 500; ++i) qps.push_back(connect(*a, 2, *b));
  ASSERT_TRUE(run_until([&] { return std::all_of(qps.begin(), qps.end(), [](const Qp* qp) { return qp->is_connected(); }); }));
  EXPECT_EQ(b->engine.qp_count(), 500u);
  for (Qp* const qp : qps) a->engine.destroy_qp(qp);
  EXPECT_TRUE(run_until([&] { return b->engine.qp_count() == 0; }, 3 * kMillisecond));  // before anything is repeated
}

// As UCP does where the peer closes its end of a pair of connections and keeps what the other side opened.
TEST_F(InBand, ThousandsOfConnectionsThatAreLeftOverLeaveRoomForMore) {
  constexpr std::size_t kLeftOver = 10000;
  Qp* other = nullptr;
  for (std::size_t i = 0; i < kLeftOver; ++i) {
    Qp* const to_b = connect(*a, 2, *b);
    other = connect(*b, 1, *a);
    ASSERT_TRUE(run_until([&] { return to_b->is_connected() && other->is_connected(); })) << i;
    ASSERT_TRUE(transfers(*b, other, *a));
    a->messages.clear();
    b->completions.clear();
    a->engine.destroy_qp(to_b);
  }
  ASSERT_TRUE(run_until([&] { return b->engine.qp_count() == kLeftOver; }));
  EXPECT_EQ(a->engine.qp_count(), kLeftOver);
  EXPECT_TRUE(transfers(*b, other, *a));
  EXPECT_TRUE(a->failures.empty());
  EXPECT_TRUE(b->failures.empty());
}

TEST_F(InBand, HostThatUsesNoneOfItsConnectionsTakesAPartOfTheNumbersOnly) {
  constexpr std::size_t kMost = 8192;
  std::vector<Qp*> qps;
  while (qps.size() < kMost) {
    for (int i = 0; i < 64; ++i) qps.push_back(connect(*a, 2, *b));
    ASSERT_TRUE(run_until_connected(qps.back()));
  }
  Qp* const excess = connect(*a, 2, *b);
  EXPECT_FALSE(run_until([&] { return excess->is_connected(); }, kSecond));
  EXPECT_TRUE(excess->is_connecting());
  EXPECT_GT(b->engine.counters().half_open_drops.value(), 0u);
  EXPECT_EQ(b->engine.qp_count(), kMost);
  const auto other = start(3);
  Qp* const of_other = connect(*other, 2, *b);
  EXPECT_TRUE(run_until([&] { return other->progress(), of_other->is_connected(); }, kSecond));
  EXPECT_TRUE(transfers(*a, qps[17], *b));
  EXPECT_TRUE(run_until_connected(excess));
}

TEST_F(InBand, NumbersOfClosedConnectionsServeAgain) {
  Qp* const kept = connect(*a, 2, *b);
  ASSERT_TRUE(run_until_connected(kept));
  constexpr std::size_t kTogether = 50;
  const std::size_t rounds = a->engine.max_qps() / kTogether + 20;  // every number has its turn, some of them twice
  std::vector<Qp*> qps(kTogether);
  for (std::size_t round = 0; round < rounds; ++round) {
    for (Qp*& qp : qps) qp = connect(*a, 2, *b);
    ASSERT_TRUE(run_until([&] { return std::all_of(qps.begin(), qps.end(), [](const Qp* qp) { return qp->is_connected(); }); })) << round;
    for (Qp* const qp : qps) a->engine.destroy_qp(qp);
    ASSERT_TRUE(run_until([&] { return b->engine.qp_count() == 1; })) << round;
  }
  EXPECT_TRUE(transfers(*a, kept, *b));
  EXPECT_TRUE(a->failures.empty());
}

class Watched : public InBand {
 protected:
  Watched() : InBand(with_limits({.keepalive = 10 * kSecond})) {}
};

TEST_F(Watched, KilledPeerIsNoticedByOneThatOnlyReceives) {
  Qp* const to_b = connect(*a, 2, *b);
  Qp* const to_a = connect(*b, 1, *a);
  ASSERT_TRUE(run_until_connected(to_b));
  ASSERT_TRUE(transfers(*b, to_a, *a));
  kill_b();
  const Nanoseconds begin = clock.now();
  ASSERT_TRUE(run_until([&] { return !a->failures.empty(); }, 100 * kSecond, kMillisecond));
  EXPECT_EQ(a->failures[0], std::pair(to_b, QpError::kRetriesExhausted));
  EXPECT_LT(clock.now() - begin, 20 * kSecond);
  // What b had connected goes as well, later.
  EXPECT_TRUE(run_until([&] { return a->engine.qp_count() == 1; }, 100 * kSecond, kMillisecond));
  EXPECT_EQ(a->failures.size(), 1u);
}

TEST_F(Watched, PassiveQpGoesThoughEndpointsAreNeverGivenUp) {
  options_.requester.retry_limit = RequesterOptions::kNoLimit;
  a.reset();
  a = start(1);
  Qp* const to_a = connect(*b, 1, *a);
  ASSERT_TRUE(run_until_connected(to_a));
  kill_b();
  EXPECT_TRUE(run_until([&] { return a->engine.qp_count() == 0; }, 100 * kSecond, kMillisecond));
}

TEST_F(Watched, IdleConnectionsLive) {
  Qp* const qp = connect(*a, 2, *b);
  ASSERT_TRUE(run_until_connected(qp));
  for (int i = 0; i < 3600 * 100; ++i) step(10 * kMillisecond);
  EXPECT_TRUE(a->failures.empty());
  EXPECT_EQ(b->engine.qp_count(), 1u);
  const auto probes = a->engine.counters().probes_sent.value();
  EXPECT_GT(probes, 250u);
  EXPECT_LT(probes, 365u);
  EXPECT_EQ(b->engine.counters().probes_sent.value(), 0u);  // the passive side need not
  EXPECT_TRUE(transfers(*a, qp, *b));
}

TEST_F(Watched, PeerThatIsStoppedForSomeSecondsIsNotGivenUp) {
  Qp* const qp = connect(*a, 2, *b);
  ASSERT_TRUE(run_until_connected(qp));
  ASSERT_EQ(a->engine.post(*qp, Pair::send(payload, this)), PostStatus::kPosted);
  for (int i = 0; i < 5000; ++i) {
    a->progress();
    clock.advance(kMillisecond);
  }
  EXPECT_TRUE(run_until([&] { return a->completions.size() == 1; }));
  EXPECT_TRUE(a->failures.empty());
  EXPECT_TRUE(transfers(*a, qp, *b));
}

TEST_F(Watched, ConnectionsBetweenEndpointsAreLeftAlone) {
  Qp* const qp_a = a->engine.create_qp();
  Qp* const qp_b = b->engine.create_qp();
  ASSERT_TRUE(a->engine.connect(*qp_a, address(2), b->engine.address(*qp_b)));
  ASSERT_TRUE(b->engine.connect(*qp_b, address(1), a->engine.address(*qp_a)));
  network.tap = [](const CapturedPacket&) -> bool {
    ADD_FAILURE() << "a packet that nobody asked for";
    return false;
  };
  for (int i = 0; i < 100000; ++i) step(kMillisecond);
  kill_b();
  // Nobody is asked about them either.
  ASSERT_EQ(a->engine.post(*qp_a, Pair::send(payload, this)), PostStatus::kPosted);
  network.tap = [](const CapturedPacket& packet) {
    EXPECT_FALSE(message_in(packet));
    return false;
  };
  EXPECT_TRUE(run_until([&] { return !a->failures.empty(); }));
}

TEST_F(Watched, ProbeCompletesWhenThePeerAcknowledges) {
  Qp* const qp = connect(*a, 2, *b);
  ASSERT_TRUE(run_until_connected(qp));
  ASSERT_EQ(a->engine.probe(*qp, this), PostStatus::kPosted);
  ASSERT_TRUE(run_until([&] { return a->completions.size() == 1; }, 100 * kMillisecond));
  EXPECT_EQ(a->completions[0].error, QpError::kNone);
  EXPECT_TRUE(b->messages.empty());
}

}  // namespace
}  // namespace ina::engine::test
