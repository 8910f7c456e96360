// engine_test.cpp: two engines and a network between them.
#include <gtest/gtest.h>

#include "test/engine/test_network.hpp"

namespace ina::engine::test {
namespace {

constexpr std::size_t kMtu = 1024;

bool arrived(const Pair& pair, std::span<const std::byte> bytes, std::size_t offset) {
  return std::equal(bytes.begin(), bytes.end(), pair.b.area.begin() + static_cast<std::ptrdiff_t>(offset));
}

TEST(Engine, WritesOfEverySizeAroundTheMtuArriveAndNothingElseIsTouched) {
  std::mt19937_64 random(3);
  for (const std::size_t bytes : {1ul, 2ul, 3ul, 4ul, 5ul, 7ul, 8ul, 9ul, kMtu - 1, kMtu, kMtu + 1, 2 * kMtu - 1, 2 * kMtu, 2 * kMtu + 1, 50 * kMtu + 13}) {
    for (const std::size_t offset : {0ul, 1ul, 6ul, 4096ul}) {
      Pair pair;
      const auto payload = random_bytes(random, bytes);
      ASSERT_EQ(pair.a.engine.post(*pair.qp_a, pair.write(payload, offset, &pair)), PostStatus::kPosted);
      ASSERT_TRUE(pair.run_until([&] { return !pair.a.completions.empty(); })) << bytes;
      EXPECT_TRUE(arrived(pair, payload, offset)) << bytes << " at " << offset;
      EXPECT_EQ(pair.b.area[offset + bytes], std::byte{0});
      if (offset != 0) {
        EXPECT_EQ(pair.b.area[offset - 1], std::byte{0});
      }
    }
  }
}

TEST(Engine, MessagesOfEverySizeUpToTheSegmentArriveInOrder) {
  std::mt19937_64 random(4);
  Pair pair;
  std::vector<std::vector<std::byte>> sent;
  for (const std::size_t bytes : {0ul, 1ul, kMtu - 1, kMtu, kMtu + 1, 3 * kMtu, 8192ul}) sent.push_back(random_bytes(random, bytes));
  for (const auto& message : sent) ASSERT_EQ(pair.a.engine.post(*pair.qp_a, Pair::send(message, &pair)), PostStatus::kPosted);
  ASSERT_TRUE(pair.run_until([&] { return pair.a.completions.size() == sent.size(); }));
  EXPECT_TRUE(std::equal(sent.begin(), sent.end(), pair.b.messages.begin(), pair.b.messages.end()));
}

TEST(Engine, MessageLongerThanTheSegmentFailsTheConnection) {
  std::mt19937_64 random(5);
  Pair pair;
  const auto payload = random_bytes(random, 8193);
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, Pair::send(payload, &pair)), PostStatus::kPosted);
  ASSERT_TRUE(pair.run_until([&] { return !pair.a.failures.empty(); }));
  EXPECT_EQ(pair.a.failures[0].second, QpError::kInvalidRequest);
  EXPECT_TRUE(pair.b.messages.empty());
}

TEST(Engine, PayloadIsGatheredFromPieces) {
  std::mt19937_64 random(6);
  Pair pair;
  const auto payload = random_bytes(random, 3000);
  Message message = pair.write(payload, 0, &pair);
  const std::size_t cuts[] = {0, 1, 1023, 1025, 2048, 2999, 3000};
  for (std::size_t i = 0; i + 1 < std::size(cuts); ++i) message.pieces[i] = {.address = payload.data() + cuts[i], .bytes = cuts[i + 1] - cuts[i]};
  message.piece_count = 6;
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, message), PostStatus::kPosted);
  ASSERT_TRUE(pair.run_until([&] { return !pair.a.completions.empty(); }));
  EXPECT_TRUE(arrived(pair, payload, 0));
}

TEST(Engine, SmallerMtuOfThePeerCounts) {
  VirtualClock clock;
  TestNetwork network(clock, 1);
  Host a(network, clock, 1, EngineOptions{.mtu = 4096});
  Host b(network, clock, 2, EngineOptions{.mtu = 512});
  Qp* qp_a = a.engine.create_qp();
  Qp* qp_b = b.engine.create_qp();
  ASSERT_TRUE(a.engine.connect(*qp_a, address(2), b.engine.address(*qp_b)));
  ASSERT_TRUE(b.engine.connect(*qp_b, address(1), a.engine.address(*qp_a)));
  std::size_t longest = 0;
  network.tap = [&](const CapturedPacket& packet) {
    longest = std::max(longest, wire::decode_packet(packet.bytes)->payload.size());
    return true;
  };
  const std::vector<std::byte> payload(4096);
  ASSERT_EQ(a.engine.post(*qp_a, Pair::send(payload, &a)), PostStatus::kPosted);
  for (int i = 0; i < 100 && a.completions.empty(); ++i) {
    a.progress();
    b.progress();
    clock.advance(10 * kMicrosecond);
  }
  EXPECT_EQ(a.completions.size(), 1u);
  EXPECT_EQ(longest, 512u);
}

TEST(Engine, AddressesThatMakeNoSenseAreRefused) {
  VirtualClock clock;
  TestNetwork network(clock, 1);
  Host host(network, clock, 1);
  Qp* qp = host.engine.create_qp();
  const QpAddress good{.qpn = 0x10, .first_psn = 5, .mtu = 1024};
  for (QpAddress bad : {QpAddress{.qpn = 1, .first_psn = 5, .mtu = 1024}, QpAddress{.qpn = 0x1000000, .first_psn = 5, .mtu = 1024},
                        QpAddress{.qpn = 0x10, .first_psn = 0x1000000, .mtu = 1024}, QpAddress{.qpn = 0x10, .first_psn = 5, .mtu = 128},
                        QpAddress{.qpn = 0x10, .first_psn = 5, .mtu = 8968}, QpAddress{.qpn = 0x10, .first_psn = 5, .mtu = 1023}}) {
    EXPECT_FALSE(host.engine.connect(*qp, address(2), bad));
  }
  EXPECT_FALSE(host.engine.connect(*qp, wire::UdpAddress{.ip = {}, .port = 1, .is_ipv6 = true}, good));
  EXPECT_TRUE(host.engine.connect(*qp, address(2), good));
  EXPECT_FALSE(host.engine.connect(*qp, address(2), good));
}

TEST(Engine, QpNumbersAreNeverThoseOfTheManagementQueues) {
  VirtualClock clock;
  TestNetwork network(clock, 1);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Host host(network, clock, 1, EngineOptions{.seed = seed});
    EXPECT_GT(host.engine.create_qp()->number(), 2u);
  }
}

TEST(Engine, DestroyedConnectionReportsNothingAndItsPacketsAreDropped) {
  std::mt19937_64 random(8);
  Pair pair;
  const auto payload = random_bytes(random, 100);
  ASSERT_EQ(pair.b.engine.post(*pair.qp_b, Pair::send(payload, &pair)), PostStatus::kPosted);
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, Pair::send(payload, &pair)), PostStatus::kPosted);
  pair.a.engine.destroy_qp(pair.qp_a);
  pair.b.progress();
  pair.clock.advance(kMillisecond);
  pair.a.progress();
  EXPECT_TRUE(pair.a.completions.empty());
  EXPECT_EQ(pair.a.engine.counters().unknown_qpn.value(), 1u);
}

TEST(Engine, DestroyedConnectionSendsTheAcknowledgementThatItOwes) {
  std::mt19937_64 random(8);
  Pair pair;
  const auto payload = random_bytes(random, 100);
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, Pair::send(payload, &pair)), PostStatus::kPosted);
  pair.a.progress();
  pair.clock.advance(10 * kMicrosecond);
  pair.b.progress();
  pair.b.engine.destroy_qp(pair.qp_b);
  EXPECT_TRUE(pair.run_until([&] { return !pair.a.completions.empty(); }, kMillisecond));
}

TEST(Engine, WaitingCallerSendsDelayedAcknowledgementsFirst) {
  std::mt19937_64 random(8);
  Pair pair;
  const auto payload = random_bytes(random, 100);
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, pair.write(payload, 0, &pair)), PostStatus::kPosted);
  pair.a.progress();
  pair.clock.advance(10 * kMicrosecond);
  pair.b.progress();
  EXPECT_EQ(pair.b.engine.counters().acks_sent.value(), 0u);
  EXPECT_TRUE(pair.b.engine.prepare_to_wait());
  EXPECT_EQ(pair.b.engine.counters().acks_sent.value(), 1u);
}

TEST(Engine, AcknowledgementsThatMayWaitLongerWaitForTheTickOfAWaitingCaller) {
  std::mt19937_64 random(8);
  Pair pair(1, {.acknowledge_delay = 500 * kMicrosecond});
  const auto payload = random_bytes(random, 100);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(pair.a.engine.post(*pair.qp_a, pair.write(payload, 0, &pair)), PostStatus::kPosted);
    pair.a.progress();
    pair.clock.advance(100 * kMicrosecond);
    pair.b.progress();
    EXPECT_TRUE(pair.b.engine.prepare_to_wait());
  }
  EXPECT_EQ(pair.b.engine.counters().acks_sent.value(), 0u);
  pair.b.engine.tick();
  EXPECT_EQ(pair.b.engine.counters().acks_sent.value(), 1u);
  pair.clock.advance(10 * kMicrosecond);
  pair.a.progress();
  EXPECT_EQ(pair.a.completions.size(), 3u);
}

TEST(Engine, TickAloneReceivesAcknowledgesAndRetransmits) {
  std::mt19937_64 random(9);
  Pair pair;
  pair.network.faults.loss = 0.2;
  const auto payload = random_bytes(random, 100 * kMtu);
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, pair.write(payload, 0, &pair)), PostStatus::kPosted);
  for (int i = 0; i < 5000 && pair.qp_a->requester.deadline() != kNever; ++i) {
    pair.a.engine.tick();
    pair.b.engine.tick();
    pair.clock.advance(4 * kMillisecond);
  }
  EXPECT_TRUE(arrived(pair, payload, 0));
  EXPECT_TRUE(pair.a.completions.empty());  // ticks call nobody back
  pair.a.engine.report(pair.a);
  EXPECT_EQ(pair.a.completions.size(), 1u);
}

TEST(Engine, CallerThatComesSeldomGetsMoreThanABatch) {
  Pair pair(1);
  const std::vector<std::byte> payload(200 * 1024);
  const auto write_all = [&] {
    pair.a.completions.clear();
    ASSERT_EQ(pair.a.engine.post(*pair.qp_a, pair.write(payload, 0, &pair)), PostStatus::kPosted);
  };
  write_all();
  ASSERT_TRUE(pair.run_until([&] { return !pair.a.completions.empty(); }));  // the sender has found out how much the path takes
  write_all();
  pair.a.progress();
  pair.clock.advance(100 * kMicrosecond);
  EXPECT_GT(pair.b.engine.progress(), kBatchPackets);
}

TEST(Engine, CallbacksMayPostAndDestroy) {
  class Reposting final : public EventSink {
   public:
    explicit Reposting(Pair& pair) : pair_(pair) {}
    void on_completed(void*, QpError) noexcept override {
      if (++completed < 10) {
        ASSERT_EQ(pair_.a.engine.post(*pair_.qp_a, Pair::send(payload, this)), PostStatus::kPosted);
      } else {
        pair_.a.engine.destroy_qp(pair_.qp_a);
      }
    }
    void on_received(std::span<std::byte>) noexcept override {}
    void on_failed(Qp&, QpError) noexcept override {}
    int completed = 0;
    std::vector<std::byte> payload = std::vector<std::byte>(10);

   private:
    Pair& pair_;
  };
  Pair pair;
  Reposting sink(pair);
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, Pair::send(sink.payload, &sink)), PostStatus::kPosted);
  for (int i = 0; i < 1000 && sink.completed < 10; ++i) {
    pair.a.engine.progress();
    pair.a.engine.report(sink);
    pair.b.progress();
    pair.clock.advance(10 * kMicrosecond);
  }
  EXPECT_EQ(sink.completed, 10);
}

TEST(Engine, SendBuffersComeBackAfterCompletionAndAfterDestruction) {
  Pair pair(1, EngineOptions{.send_buffers = 4});
  const auto post_copied = [&] {
    std::byte* buffer = pair.a.engine.take_send_buffer();
    if (buffer == nullptr) return false;
    Message message = Pair::send({buffer, 100}, nullptr);
    message.buffer = buffer;
    return pair.a.engine.post(*pair.qp_a, message) == PostStatus::kPosted;
  };
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(post_copied());
    EXPECT_FALSE(post_copied());
    pair.settle();
  }
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(post_copied());
  pair.a.engine.destroy_qp(pair.qp_a);
  EXPECT_TRUE(pair.a.engine.has_send_buffer());
}

// Virtual time that a long WRITE takes. Both sides progress every 5 us, the path takes 20 us.
Nanoseconds time_of_write(double loss, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto payload = random_bytes(random, 1 << 20);
  Pair pair(seed, EngineOptions{.mtu = 4096});
  pair.network.delay = 20 * kMicrosecond;
  pair.network.faults.loss = loss;
  const Nanoseconds begin = pair.clock.now();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(pair.a.engine.post(*pair.qp_a, pair.write(payload, 0, &pair)), PostStatus::kPosted);
  while (pair.a.completions.size() < 4 && pair.clock.now() < begin + 10 * kSecond) pair.step(5 * kMicrosecond);
  EXPECT_TRUE(arrived(pair, payload, 0));
  return pair.clock.now() - begin;
}

TEST(Engine, LossesDoNotWaitForTimeouts) {
  // About ten losses a run: a time-out for each would take 20 ms and more.
  Nanoseconds total = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) total += time_of_write(0.01, seed);
  EXPECT_LT(total / 10, 8 * kMillisecond);
}

TEST(Engine, LossOfAnySinglePacketIsRecoveredWithinMilliseconds) {
  std::mt19937_64 random(10);
  const auto payload = random_bytes(random, 8 * kMtu);
  for (int lost = 0; lost < 12; ++lost) {
    Pair pair;
    int count = 0;
    pair.network.tap = [&](const CapturedPacket&) { return count++ != lost; };
    ASSERT_EQ(pair.a.engine.post(*pair.qp_a, pair.write(payload, 0, &pair)), PostStatus::kPosted);
    EXPECT_TRUE(pair.run_until([&] { return !pair.a.completions.empty(); }, 12 * kMillisecond)) << "packet " << lost;
    EXPECT_TRUE(arrived(pair, payload, 0));
  }
}

}  // namespace
}  // namespace ina::engine::test
