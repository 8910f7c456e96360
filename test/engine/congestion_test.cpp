// congestion_test.cpp: what congestion marks and full queues do to senders that share a bottleneck, in virtual time.
#include <gtest/gtest.h>

#include "test/engine/raw_peer.hpp"

namespace ina::engine::test {
namespace {

constexpr double kNanosecondsPerByte = 0.8;  // 10 Gbit/s
constexpr std::uint8_t kSink = 100;

// Senders that write to one receiver as fast as they may.
class Incast {
 public:
  // by_read: the receiver asks for it.
  Incast(unsigned senders, bool ecn, Bottleneck bottleneck, bool by_read = false) : by_read_(by_read), sink_(network_, clock_, kSink, options(ecn)) {
    bottleneck.nanoseconds_per_byte = kNanosecondsPerByte;
    network_.bottlenecks[address(kSink)] = bottleneck;
    for (unsigned i = 0; i < senders; ++i) {
      auto& sender = senders_.emplace_back(std::make_unique<Sender>(network_, clock_, static_cast<std::uint8_t>(1 + i), options(ecn)));
      sender->qp = sender->host.engine.create_qp();
      sender->at_sink = sink_.engine.create_qp();
      is_connected_ = is_connected_ && sender->host.engine.connect(*sender->qp, address(kSink), sink_.engine.address(*sender->at_sink)) &&
                      sink_.engine.connect(*sender->at_sink, address(static_cast<std::uint8_t>(1 + i)), sender->host.engine.address(*sender->qp));
    }
  }

  void run(Nanoseconds time) {
    ASSERT_TRUE(is_connected_);
    for (const Nanoseconds end = clock_.now() + time; clock_.now() < end; clock_.advance(2 * kMicrosecond)) {
      ++turn_;  // nobody is always the first to find the queue short
      for (std::size_t each = 0; each < senders_.size(); ++each) {
        const std::size_t i = (each + turn_) % senders_.size();
        if (i < active) post(*senders_[i]);
        senders_[i]->host.progress();
      }
      sink_.progress();
      count_completions();
    }
  }
  // Starts to count.
  void mark() {
    bottleneck().longest = bottleneck().marked = bottleneck().dropped = 0;
    since_ = clock_.now();
    for (auto& sender : senders_) sender->completed_before = sender->completed;
  }
  // Payload that was acknowledged since then, as a part of what the link can carry.
  double share(std::size_t sender) {
    const double seconds = static_cast<double>(clock_.now() - since_) * 1e-9;
    const double bytes = static_cast<double>(senders_[sender]->completed - senders_[sender]->completed_before) * kMessage;
    return bytes / seconds * kNanosecondsPerByte * 1e-9 * (1024 + 16 + 4) / 1024;  // BTH, ICRC
  }
  double utilisation() {
    double sum = 0;
    for (std::size_t i = 0; i < senders_.size(); ++i) sum += share(i);
    return sum;
  }
  double unfairness() {
    double least = share(0), most = share(0);
    for (std::size_t i = 1; i < senders_.size(); ++i) {
      least = std::min(least, share(i));
      most = std::max(most, share(i));
    }
    return least == 0 ? 1e9 : most / least;
  }
  Bottleneck& bottleneck() { return network_.bottlenecks[address(kSink)]; }
  const Counters& counters(std::size_t sender) const { return senders_[sender]->host.engine.counters(); }

  std::size_t active = 1000;

 private:
  static constexpr std::size_t kMessage = 16384;
  struct Sender {
    Sender(TestNetwork& network, VirtualClock& clock, std::uint8_t number, EngineOptions options) : host(network, clock, number, options, kMessage) {}
    Host host;
    Qp* qp = nullptr;
    Qp* at_sink = nullptr;
    std::size_t posted = 0;
    std::size_t completed = 0;
    std::size_t completed_before = 0;
  };
  static EngineOptions options(bool ecn) {
    EngineOptions options;
    options.ecn = ecn;
    options.seed = 7;
    return options;
  }
  void post(Sender& sender) {
    Host& target = by_read_ ? sender.host : sink_;
    while (sender.posted - sender.completed < 40) {
      Message message;
      message.kind = by_read_ ? MessageKind::kRead : MessageKind::kWrite;
      message.remote_address = reinterpret_cast<std::uintptr_t>(target.area.data());
      message.rkey = target.rkey;
      message.pieces[0] = {.address = payload_.data(), .bytes = payload_.size()};
      message.piece_count = 1;
      message.length = static_cast<std::uint32_t>(payload_.size());
      message.token = &sender;
      const PostStatus status = by_read_ ? sink_.engine.post(*sender.at_sink, message) : sender.host.engine.post(*sender.qp, message);
      if (status != PostStatus::kPosted) return;
      ++sender.posted;
    }
  }
  void count_completions() {
    const auto count = [](Host& host) {
      for (const Host::Completion& each : host.completions) static_cast<Sender*>(each.token)->completed += each.error == QpError::kNone ? 1 : 0;
      host.completions.clear();
    };
    count(sink_);
    for (auto& sender : senders_) count(sender->host);
  }

  bool by_read_;
  VirtualClock clock_;
  TestNetwork network_{clock_, 1};
  Host sink_;
  std::vector<std::unique_ptr<Sender>> senders_;
  std::vector<std::byte> payload_ = std::vector<std::byte>(kMessage);
  Nanoseconds since_ = 0;
  std::size_t turn_ = 0;
  bool is_connected_ = true;
};

class MarkingQueue : public testing::TestWithParam<unsigned> {};

TEST_P(MarkingQueue, StaysShortAndIsSharedFairlyWithoutLoss) {
  Incast incast(GetParam(), true, {.mark_above = 40});
  incast.run(60 * kMillisecond);
  incast.mark();
  incast.run(200 * kMillisecond);
  EXPECT_GE(incast.utilisation(), 0.9);
  EXPECT_LE(incast.unfairness(), 2.0);
  EXPECT_LE(incast.bottleneck().longest, 160u);
  EXPECT_EQ(incast.bottleneck().dropped, 0u);
  for (std::size_t i = 0; i < GetParam(); ++i) EXPECT_EQ(incast.counters(i).naks_received.value(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Senders, MarkingQueue, testing::Values(1u, 2u, 4u, 8u, 16u, 32u));

// A READ asks for up to 16 packets at once: its steps are coarser, which costs some of the link and some of the queue.
TEST(Congestion, AnswersToReadsThroughAMarkingQueueKeepItShort) {
  for (const unsigned senders : {1u, 4u}) {
    Incast incast(senders, true, {.mark_above = 40}, true);
    incast.run(60 * kMillisecond);
    incast.mark();
    incast.run(100 * kMillisecond);
    EXPECT_GE(incast.utilisation(), 0.85);
    EXPECT_LE(incast.unfairness(), 2.0);
    EXPECT_LE(incast.bottleneck().longest, 200u);
  }
}

class DroppingQueue : public testing::TestWithParam<unsigned> {};

TEST_P(DroppingQueue, IsUsedWell) {
  Incast incast(GetParam(), false, {.drop_above = 200});
  incast.run(20 * kMillisecond);
  incast.mark();
  incast.run(200 * kMillisecond);
  EXPECT_GE(incast.utilisation(), 0.6);
}

INSTANTIATE_TEST_SUITE_P(Senders, DroppingQueue, testing::Values(1u, 2u, 4u, 8u));

TEST(Congestion, WhoIsLeftAloneHasTheWholeLinkAgain) {
  Incast incast(8, true, {.mark_above = 40});
  incast.run(60 * kMillisecond);
  incast.active = 1;
  incast.run(10 * kMillisecond);
  incast.mark();
  incast.run(50 * kMillisecond);
  EXPECT_GE(incast.share(0), 0.9);
}

TEST(CongestionControl, LimitsNothingWithoutANotification) {
  CongestionControl control(256);
  control.on_sent(1, 1);
  control.on_acknowledged(1000, 10 * kMicrosecond, kSecond);
  EXPECT_FALSE(control.is_limiting());
  EXPECT_EQ(control.window(), 256u);
  EXPECT_EQ(control.next_send(), 0u);
  EXPECT_TRUE(control.is_due(0));
}

TEST(CongestionControl, FirstNotificationHalvesWhatIsInFlight) {
  CongestionControl control(256);
  control.on_notification(100, 20 * kMicrosecond, kSecond);
  EXPECT_EQ(control.window(), 50u);
}

TEST(CongestionControl, ReactsOnceARoundTrip) {
  CongestionControl control(256);
  control.on_notification(100, 80 * kMicrosecond, kSecond);
  control.on_notification(100, 80 * kMicrosecond, kSecond + 79 * kMicrosecond);
  EXPECT_EQ(control.window(), 50u);
  control.on_notification(100, 80 * kMicrosecond, kSecond + 81 * kMicrosecond);
  EXPECT_LT(control.window(), 50u);
}

TEST(CongestionControl, NeverForbidsToSend) {
  CongestionControl control(256);
  Nanoseconds now = kSecond;
  for (int i = 0; i < 1000; ++i) control.on_notification(100, 20 * kMicrosecond, now += 50 * kMicrosecond);
  EXPECT_EQ(control.window(), CongestionControl::kLeastInFlight);
  unsigned sent = 0;
  for (; control.is_due(now) && sent < 100; ++sent) control.on_sent(1, now);
  EXPECT_LE(sent, 5u);  // what it may catch up
  EXPECT_LE(control.next_send(), now + 100 * kMicrosecond);
  EXPECT_TRUE(control.is_due(control.next_send()));
}

TEST(CongestionControl, ReturnsQuicklyToWhereItWasThenSlowlyBeyond) {
  CongestionControl control(256);
  Nanoseconds now = kSecond;
  control.on_notification(100, 20 * kMicrosecond, now);
  for (int period = 0; period < 5; ++period) control.on_acknowledged(1, 20 * kMicrosecond, now += 55 * kMicrosecond);
  EXPECT_GE(control.window(), 97u);
  EXPECT_LE(control.window(), 100u);
  for (int period = 0; period < 20; ++period) control.on_acknowledged(1, 20 * kMicrosecond, now += 55 * kMicrosecond);
  EXPECT_GE(control.window(), 110u);
  EXPECT_LE(control.window(), 121u);
  for (int period = 0; period < 200; ++period) control.on_acknowledged(1, 20 * kMicrosecond, now += 55 * kMicrosecond);
  EXPECT_FALSE(control.is_limiting());
}

TEST(CongestionControl, ForgetsCongestionWhenIdle) {
  CongestionControl control(256);
  control.on_notification(100, 20 * kMicrosecond, kSecond);
  control.on_acknowledged(1, 20 * kMicrosecond, 2 * kSecond);
  EXPECT_FALSE(control.is_limiting());
}

TEST(CongestionControl, PacesAWindowOverTheRoundTrip) {
  CongestionControl control(256);
  Nanoseconds now = kSecond;
  control.on_notification(64, kMillisecond, now);  // a window of 32 packets
  const Nanoseconds end = now + 10 * kMillisecond;
  unsigned sent = 0;
  unsigned turns = 0;
  while (now < end) {
    ++turns;
    for (; control.is_due(now); ++sent) control.on_sent(1, now);
    now = control.next_send();
  }
  EXPECT_NEAR(sent, 400, 10);   // 32 a round trip and a quarter more
  EXPECT_NEAR(turns, 50, 3);    // 8 together
}

class NotificationTest : public testing::Test {
 protected:
  void post(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      Message message;
      message.remote_address = 0x10000;
      message.pieces[0] = {.address = payload.data(), .bytes = payload.size()};
      message.piece_count = 1;
      message.length = static_cast<std::uint32_t>(payload.size());
      ASSERT_EQ(peer.host.engine.post(*peer.qp, message), PostStatus::kPosted);
    }
    peer.host.progress();
  }
  static wire::Packet notification() {
    wire::Packet packet{};
    packet.bth.opcode = wire::Opcode::kCnp;
    packet.bth.becn = true;
    return packet;
  }
  std::vector<std::byte> request(std::uint32_t n) const {
    wire::Packet packet{};
    packet.bth.opcode = wire::Opcode::kWriteOnly;
    packet.bth.psn = wire::psn_add(RawPeer::kFirstPsn, n);
    packet.reth = peer.reth(0, payload.size());
    return peer.encode(packet, payload);
  }
  void deliver_marked(std::vector<std::byte> bytes) {
    network.inject({.from = address(9), .to = address(1), .bytes = std::move(bytes), .has_congestion_mark = true});
    peer.host.engine.tick();
  }
  unsigned notifications_to_peer() {
    unsigned count = 0;
    while (const auto packet = peer.answer()) {
      if (packet->bth.opcode != wire::Opcode::kCnp) continue;
      ++count;
      EXPECT_TRUE(packet->bth.becn);
      EXPECT_EQ(packet->bth.dest_qpn, 0x999u);
      EXPECT_EQ(packet->payload.size(), 16u);
      for (const std::byte byte : packet->payload) EXPECT_EQ(byte, std::byte{0});
    }
    return count;
  }
  std::uint32_t sent_before_acknowledgement() {
    post(100);
    return static_cast<std::uint32_t>(peer.answers.size());
  }
  const Counters& counters() const { return peer.host.engine.counters(); }

  VirtualClock clock;
  TestNetwork network{clock, 1};
  RawPeer peer{network, clock, EngineOptions{.requester = {.window = 64}, .ecn = true}};
  std::vector<std::byte> payload = std::vector<std::byte>(16);
  std::array<std::byte, 16> reserved{};
};

TEST_F(NotificationTest, MarkedPacketsLeadToOneIn50Microseconds) {
  for (std::uint32_t n = 0; n < 4; ++n) deliver_marked(request(n));
  EXPECT_EQ(notifications_to_peer(), 1u);
  clock.advance(CongestionReporter::kInterval);
  for (std::uint32_t n = 4; n < 8; ++n) deliver_marked(request(n));
  EXPECT_EQ(notifications_to_peer(), 1u);
  EXPECT_EQ(counters().congestion_marks.value(), 8u);
  EXPECT_EQ(counters().notifications_sent.value(), 2u);
}

TEST_F(NotificationTest, MarkedAcknowledgementsAndDamagedPacketsDoNot) {
  post(1);
  peer.answers.clear();
  wire::Packet packet{};
  packet.bth.opcode = wire::Opcode::kAcknowledge;
  packet.bth.psn = peer.qp->first_psn();
  packet.aeth.syndrome = wire::kSyndromeAck;
  deliver_marked(peer.encode(packet));
  auto damaged = request(0);
  damaged.back() ^= std::byte{1};
  deliver_marked(std::move(damaged));
  EXPECT_EQ(notifications_to_peer(), 0u);
}

TEST_F(NotificationTest, SlowsItsConnectionDown) {
  post(64);
  EXPECT_EQ(peer.answers.size(), 64u);
  peer.deliver(peer.encode(notification(), reserved));
  peer.acknowledge(wire::psn_add(peer.qp->first_psn(), 63), wire::kSyndromeAck);
  peer.answers.clear();
  post(100);
  EXPECT_LT(peer.answers.size(), 40u);
  EXPECT_EQ(counters().notifications_received.value(), 1u);
}

TEST_F(NotificationTest, ForgedOnesAreDroppedAndCounted) {
  auto damaged = peer.encode(notification(), reserved);
  damaged.back() ^= std::byte{1};
  peer.deliver(std::move(damaged));
  EXPECT_EQ(counters().bad_icrc.value(), 1u);
  peer.deliver(peer.encode(notification(), reserved, address(8)), address(8));
  EXPECT_EQ(counters().foreign_source.value(), 1u);
  wire::Packet unknown = notification();
  unknown.bth.dest_qpn = peer.qp->number() ^ 1;
  peer.deliver(peer.encode(unknown, reserved));
  EXPECT_EQ(counters().unknown_qpn.value(), 1u);
  wire::Packet without = notification();
  without.bth.becn = false;
  peer.deliver(peer.encode(without, reserved));
  EXPECT_EQ(counters().bad_packets.value(), 1u);
  EXPECT_EQ(counters().notifications_received.value(), 0u);
  EXPECT_EQ(sent_before_acknowledgement(), 64u);
}

TEST(Notification, IsIgnoredWhereMarksWereNotAskedFor) {
  VirtualClock clock;
  TestNetwork network(clock, 1);
  RawPeer peer(network, clock);
  wire::Packet packet{};
  packet.bth.opcode = wire::Opcode::kCnp;
  packet.bth.becn = true;
  peer.deliver(peer.encode(packet, std::array<std::byte, 16>{}));
  EXPECT_EQ(peer.host.engine.counters().notifications_received.value(), 0u);
  EXPECT_EQ(peer.host.engine.counters().bad_packets.value(), 1u);
}

}  // namespace
}  // namespace ina::engine::test
