// requester_test.cpp: what a connection sends, and how it takes acknowledgements.
#include <gtest/gtest.h>

#include "test/engine/raw_peer.hpp"

namespace ina::engine::test {
namespace {

using wire::Opcode;

class RequesterTest : public testing::Test {
 protected:
  RequesterTest() { payload = random_bytes(random, 1 << 20); }
  // Posts a WRITE; the token is its number from 1.
  PostStatus post(std::size_t bytes) {
    Message message;
    message.remote_address = 0x10000;
    message.rkey = 0x77;
    message.pieces[0] = {.address = payload.data(), .bytes = bytes};
    message.piece_count = 1;
    message.length = static_cast<std::uint32_t>(bytes);
    message.token = reinterpret_cast<void*>(++posted);
    return peer.host.engine.post(*peer.qp, message);
  }
  std::vector<std::uint32_t> sent_psns() {
    std::vector<std::uint32_t> psns;
    while (const auto packet = peer.answer()) psns.push_back(packet->bth.psn);
    return psns;
  }
  std::uint32_t psn(std::uint32_t n) const { return wire::psn_add(peer.qp->first_psn(), n); }
  const Counters& counters() const { return peer.host.engine.counters(); }

  std::mt19937_64 random{11};
  VirtualClock clock;
  TestNetwork network{clock, 1};
  RawPeer peer{network, clock, EngineOptions{.requester = {.window = 64}}};
  std::vector<std::byte> payload;
  std::uintptr_t posted = 0;
};

TEST_F(RequesterTest, MessageOfOnePacketIsAWriteOnly) {
  ASSERT_EQ(post(1024), PostStatus::kPosted);
  peer.host.progress();
  const auto packet = peer.answer();
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->bth.opcode, Opcode::kWriteOnly);
  EXPECT_EQ(packet->reth, (wire::Reth{.address = 0x10000, .rkey = 0x77, .dma_length = 1024}));
  EXPECT_EQ(packet->bth.psn, psn(0));
  EXPECT_TRUE(packet->bth.ack_request);
  EXPECT_TRUE(std::equal(packet->payload.begin(), packet->payload.end(), payload.begin()));
  EXPECT_TRUE(peer.host.completions.empty());
}

TEST_F(RequesterTest, LongMessageIsCutAtTheMtu) {
  ASSERT_EQ(post(2 * 1024 + 3), PostStatus::kPosted);
  peer.host.progress();
  const Opcode expected[] = {Opcode::kWriteFirst, Opcode::kWriteMiddle, Opcode::kWriteLast};
  std::size_t offset = 0;
  for (const Opcode opcode : expected) {
    const auto packet = peer.answer();
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->bth.opcode, opcode);
    EXPECT_TRUE(std::equal(packet->payload.begin(), packet->payload.end(), payload.begin() + static_cast<std::ptrdiff_t>(offset)));
    offset += packet->payload.size();
  }
  EXPECT_EQ(offset, 2051u);
  EXPECT_FALSE(peer.answer());
}

TEST_F(RequesterTest, AcknowledgementCompletesEverythingBeforeIt) {
  for (int i = 0; i < 5; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  peer.acknowledge(psn(2), wire::kSyndromeAck);
  ASSERT_EQ(peer.host.completions.size(), 3u);
  for (std::uintptr_t i = 0; i < 3; ++i) {
    EXPECT_EQ(peer.host.completions[i].token, reinterpret_cast<void*>(i + 1));
    EXPECT_EQ(peer.host.completions[i].error, QpError::kNone);
  }
}

TEST_F(RequesterTest, WindowLimitsWhatIsInFlight) {
  for (int i = 0; i < 100; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  EXPECT_EQ(sent_psns().size(), 64u);
  peer.acknowledge(psn(9), wire::kSyndromeAck);
  EXPECT_EQ(sent_psns().size(), 10u);
}

TEST_F(RequesterTest, FullQueueSaysNotNow) {
  for (std::uint32_t i = 0; i < Requester::kQueueMessages; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  EXPECT_EQ(post(8), PostStatus::kNoResource);
  peer.acknowledge(psn(0), wire::kSyndromeAck);
  EXPECT_EQ(post(8), PostStatus::kPosted);
}

TEST_F(RequesterTest, NakGoesBackAndAcknowledgesWhatIsBeforeIt) {
  for (int i = 0; i < 6; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  peer.answers.clear();
  peer.acknowledge(psn(2), wire::kSyndromeNakSequence);
  EXPECT_EQ(sent_psns(), (std::vector{psn(2), psn(3), psn(4), psn(5)}));
  EXPECT_EQ(peer.host.completions.size(), 2u);
  EXPECT_EQ(counters().retransmissions.value(), 4u);
}

TEST_F(RequesterTest, SecondNakForTheSamePsnAtOnceIsIgnored) {
  for (int i = 0; i < 6; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  peer.acknowledge(psn(2), wire::kSyndromeNakSequence);
  peer.answers.clear();
  peer.acknowledge(psn(2), wire::kSyndromeNakSequence);
  EXPECT_TRUE(peer.answers.empty());
}

TEST_F(RequesterTest, NakForAPsnNeverSentIsIgnored) {
  ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  peer.answers.clear();
  peer.acknowledge(psn(1), wire::kSyndromeNakSequence);
  peer.acknowledge(psn(5), wire::kSyndromeAck);
  EXPECT_TRUE(peer.answers.empty());
  EXPECT_TRUE(peer.host.completions.empty());
  EXPECT_EQ(counters().bad_acks.value(), 2u);
}

TEST_F(RequesterTest, RetransmissionReadsMemoryAgain) {
  ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  peer.answers.clear();
  payload[0] ^= std::byte{0xff};
  peer.acknowledge(psn(0), wire::kSyndromeNakSequence);
  const auto packet = peer.answer();
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->payload[0], payload[0]);
}

TEST_F(RequesterTest, NakInsideAMessageResumesThere) {
  ASSERT_EQ(post(4 * 1024), PostStatus::kPosted);
  peer.host.progress();
  peer.answers.clear();
  peer.acknowledge(psn(2), wire::kSyndromeNakSequence);
  const auto packet = peer.answer();
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->bth.opcode, Opcode::kWriteMiddle);
  EXPECT_TRUE(std::equal(packet->payload.begin(), packet->payload.end(), payload.begin() + 2048));
  EXPECT_TRUE(peer.host.completions.empty());
}

TEST_F(RequesterTest, RnrNakWaitsAndGoesBack) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  peer.answers.clear();
  peer.acknowledge(psn(1), 0x20 | 14);  // 1.28 ms
  clock.advance(kMillisecond);
  peer.host.progress();
  EXPECT_TRUE(peer.answers.empty());
  clock.advance(kMillisecond);
  peer.host.progress();
  EXPECT_EQ(sent_psns(), (std::vector{psn(1), psn(2)}));
  EXPECT_EQ(counters().timeouts.value(), 0u);
}

TEST_F(RequesterTest, TimeoutSendsAgainAndBacksOffUpToItsLimit) {
  ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  std::vector<Nanoseconds> gaps;
  Nanoseconds last = clock.now();
  peer.answers.clear();
  while (gaps.size() < 10) {
    clock.advance(100 * kMicrosecond);
    peer.host.progress();
    if (sent_psns().empty()) continue;
    gaps.push_back(clock.now() - last);
    last = clock.now();
  }
  EXPECT_LE(gaps.front(), 10 * kMillisecond);
  EXPECT_TRUE(std::is_sorted(gaps.begin(), gaps.end()));
  EXPECT_LE(gaps.back(), 101 * kMillisecond);
  EXPECT_GE(gaps.back(), 99 * kMillisecond);
}

TEST_F(RequesterTest, AcknowledgementThatLayInTheSocketComesBeforeTheTimer) {
  ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  peer.answers.clear();
  wire::Packet ack{};
  ack.bth = {.opcode = Opcode::kAcknowledge, .psn = psn(0)};
  network.inject({.from = address(9), .to = address(1), .bytes = peer.encode(ack)});
  clock.advance(kSecond);  // we did not run
  peer.host.progress();
  EXPECT_EQ(peer.host.completions.size(), 1u);
  EXPECT_EQ(counters().timeouts.value(), 0u);
  EXPECT_FALSE(peer.answer());
}

TEST_F(RequesterTest, TimeoutThatWasTooEarlyLeavesNoTrace) {
  for (int i = 0; i < 64; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  clock.advance(6 * kMillisecond);  // the peer did not run
  peer.host.progress();
  EXPECT_EQ(counters().timeouts.value(), 1u);
  peer.acknowledge(psn(63), wire::kSyndromeAck);
  peer.answers.clear();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  EXPECT_EQ(sent_psns().size(), 64u) << "the whole window";
  clock.advance(6 * kMillisecond);
  peer.host.progress();
  EXPECT_EQ(counters().timeouts.value(), 1u) << "the round trip was measured";
}

TEST_F(RequesterTest, AcknowledgementsThatWaitForASlowMemberLengthenTheTimeoutByLittle) {
  const auto exchange = [&](std::uint32_t n, Nanoseconds round_trip) {
    ASSERT_EQ(post(8), PostStatus::kPosted);
    peer.host.progress();
    clock.advance(round_trip);
    peer.acknowledge(psn(n), wire::kSyndromeAck);
  };
  for (std::uint32_t n = 0; n < 20; ++n) exchange(n, n % 2 == 0 ? 50 * kMicrosecond : 10 * kSecond);
  ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  const std::uint64_t before = counters().timeouts.value();
  clock.advance(100 * kMillisecond);
  peer.host.progress();
  EXPECT_EQ(counters().timeouts.value(), before + 1);
}

TEST_F(RequesterTest, RoundTripsOfASlowLinkAreLearntAlthoughTimeoutsCameBefore) {
  const auto exchange = [&](std::uint32_t n, Nanoseconds round_trip) {
    ASSERT_EQ(post(8), PostStatus::kPosted);
    const Nanoseconds end = clock.now() + round_trip;
    for (; clock.now() < end; clock.advance(20 * kMicrosecond)) peer.host.progress();
    peer.acknowledge(psn(n), wire::kSyndromeAck);
  };
  std::uint32_t n = 0;
  for (; n < 50; ++n) exchange(n, 60 * kMicrosecond);
  for (; n < 54; ++n) exchange(n, 8 * kMillisecond);
  const std::uint64_t before = counters().timeouts.value();
  EXPECT_GE(before, 1u);
  for (; n < 100; ++n) exchange(n, 8 * kMillisecond);
  EXPECT_EQ(counters().timeouts.value(), before);
}

TEST_F(RequesterTest, BackOffEndsWhereTheReceiverSawAGap) {
  for (int i = 0; i < 20; ++i) {  // the round trip is known
    ASSERT_EQ(post(8), PostStatus::kPosted);
    peer.host.progress();
    clock.advance(50 * kMicrosecond);
    peer.acknowledge(psn(i), wire::kSyndromeAck);
  }
  for (int i = 0; i < 64; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  for (int i = 0; i < 4; ++i) {
    clock.advance(100 * kMillisecond);
    peer.host.progress();
  }
  const std::uint64_t before = counters().timeouts.value();
  peer.acknowledge(psn(20), wire::kSyndromeNakSequence);
  clock.advance(5 * kMillisecond);
  peer.host.progress();
  EXPECT_EQ(counters().timeouts.value(), before + 1);
}

TEST_F(RequesterTest, WithoutALimitNoSilenceBreaksTheConnection) {
  ASSERT_EQ(post(8), PostStatus::kPosted);
  for (int i = 0; i < 6000; ++i) {  // ten minutes
    peer.host.progress();
    clock.advance(100 * kMillisecond);
  }
  EXPECT_FALSE(peer.qp->has_failed());
  peer.acknowledge(psn(0), wire::kSyndromeAck);
  EXPECT_EQ(peer.host.completions.size(), 1u);
}

TEST_F(RequesterTest, RetryLimitFailsTheConnectionOnce) {
  RawPeer limited(network, clock, EngineOptions{.requester = {.retry_limit = 3}});
  Message message;
  message.pieces[0] = {.address = payload.data(), .bytes = 8};
  message.piece_count = 1;
  message.length = 8;
  message.token = &message;
  ASSERT_EQ(limited.host.engine.post(*limited.qp, message), PostStatus::kPosted);
  for (int i = 0; i < 100; ++i) {
    limited.host.progress();
    clock.advance(20 * kMillisecond);
  }
  ASSERT_EQ(limited.host.failures.size(), 1u);
  EXPECT_EQ(limited.host.failures[0].second, QpError::kRetriesExhausted);
  ASSERT_EQ(limited.host.completions.size(), 1u);
  EXPECT_EQ(limited.host.completions[0].error, QpError::kRetriesExhausted);
  EXPECT_EQ(limited.host.engine.post(*limited.qp, message), PostStatus::kFailed);
}

TEST_F(RequesterTest, PeerThatAnswersWithoutProgressIsNotGivenUp) {
  RawPeer limited(network, clock, EngineOptions{.requester = {.retry_limit = 3}});
  Message message;
  message.pieces[0] = {.address = payload.data(), .bytes = 8};
  message.piece_count = 1;
  message.length = 8;
  ASSERT_EQ(limited.host.engine.post(*limited.qp, message), PostStatus::kPosted);
  const std::uint32_t psn = limited.qp->first_psn();
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t timeouts = limited.host.engine.counters().timeouts.value();
    while (limited.host.engine.counters().timeouts.value() < timeouts + 2) {
      limited.host.progress();
      clock.advance(kMillisecond);
    }
    // Not ready, or a repeated acknowledgement of what came before.
    limited.acknowledge(round % 2 == 0 ? psn : wire::psn_add(psn, wire::kPsnMask), round % 2 == 0 ? 0x20 | 1 : wire::kSyndromeAck);
  }
  EXPECT_TRUE(limited.host.failures.empty());
  EXPECT_FALSE(limited.qp->has_failed());
}

TEST_F(RequesterTest, FatalNakFailsEverythingFromItsPsnOn) {
  for (int i = 0; i < 4; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  peer.acknowledge(psn(2), wire::kSyndromeNakRemoteAccess);
  ASSERT_EQ(peer.host.completions.size(), 4u);
  EXPECT_EQ(peer.host.completions[1].error, QpError::kNone);
  EXPECT_EQ(peer.host.completions[2].error, QpError::kRemoteAccess);
  ASSERT_EQ(peer.host.failures.size(), 1u);
}

TEST_F(RequesterTest, PacketsThatTheSystemDoesNotTakeGoOutLater) {
  network.send_limit = 3;
  for (int i = 0; i < 10; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  std::vector<std::uint32_t> psns;
  for (int i = 0; i < 10; ++i) {
    peer.host.progress();
    for (const std::uint32_t sent : sent_psns()) psns.push_back(sent);
  }
  ASSERT_EQ(psns.size(), 10u);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(psns[i], psn(i));
}

TEST_F(RequesterTest, ManySmallMessagesGoOutInFewCalls) {
  for (int i = 0; i < 63; ++i) ASSERT_EQ(post(8), PostStatus::kPosted);
  peer.host.progress();
  EXPECT_EQ(sent_psns().size(), 63u);
  EXPECT_EQ(counters().send_calls.value(), 1u);
}

}  // namespace
}  // namespace ina::engine::test
