// requester_answer_test.cpp: READs and atomics as a connection asks for them, and what it makes of the answers.
#include <gtest/gtest.h>

#include "test/engine/raw_peer.hpp"

namespace ina::engine::test {
namespace {

using wire::Opcode;
constexpr std::size_t kMtu = 1024;
constexpr std::byte kUntouched{0x5a};

class AnswerTest : public testing::Test {
 protected:
  // The token is the message's number from 1.
  PostStatus post(Message message) {
    message.remote_address = 0x10000;
    message.rkey = 0x77;
    message.token = reinterpret_cast<void*>(++posted);
    return peer.host.engine.post(*peer.qp, message);
  }
  PostStatus post_read(std::size_t bytes, bool fence = false) {
    Message message;
    message.kind = MessageKind::kRead;
    message.fence = fence;
    message.pieces[0] = {.address = destination.data() + kGuard, .bytes = bytes / 3};
    message.pieces[1] = {.address = destination.data() + kGuard + bytes / 3, .bytes = bytes - bytes / 3};
    message.piece_count = 2;
    message.length = static_cast<std::uint32_t>(bytes);
    return post(message);
  }
  PostStatus post_write(bool fence = false) {
    Message message;
    message.fence = fence;
    message.pieces[0] = {.address = source.data(), .bytes = 8};
    message.piece_count = 1;
    message.length = 8;
    return post(message);
  }
  PostStatus post_atomic(MessageKind kind, std::uint64_t operand, std::uint64_t compare, std::uint64_t* result) {
    Message message;
    message.kind = kind;
    message.operand = operand;
    message.compare = compare;
    message.pieces[0] = {.address = reinterpret_cast<std::byte*>(result), .bytes = 8};
    message.piece_count = result == nullptr ? 0 : 1;
    message.length = 8;
    return post(message);
  }
  std::vector<std::uint32_t> sent_psns() {
    std::vector<std::uint32_t> psns;
    while (const auto packet = peer.answer()) psns.push_back(wire::psn_add(packet->bth.psn, -peer.qp->first_psn()));
    return psns;
  }
  std::uint32_t psn(std::uint32_t n) const { return wire::psn_add(peer.qp->first_psn(), n); }
  void respond(std::uint32_t n, Opcode opcode, std::size_t bytes = kMtu) { peer.respond(opcode, psn(n), std::span(source).subspan(n * kMtu, bytes)); }
  // What a READ of so many packets from PSN n on is answered with, all but the ones named.
  void respond_all(std::uint32_t begin, std::uint32_t end, std::vector<std::uint32_t> lost = {}) {
    for (std::uint32_t n = begin; n < end; ++n) {
      if (std::find(lost.begin(), lost.end(), n) != lost.end()) continue;
      respond(n, end - begin == 1 ? Opcode::kReadResponseOnly : n == begin ? Opcode::kReadResponseFirst : n + 1 == end ? Opcode::kReadResponseLast : Opcode::kReadResponseMiddle);
    }
  }
  bool has_read(std::size_t bytes) const {
    return std::equal(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(bytes), destination.begin() + kGuard) && is_untouched(bytes);
  }
  // From `bytes` on, and before the begin.
  bool is_untouched(std::size_t bytes) const {
    return std::all_of(destination.begin(), destination.begin() + kGuard, [](std::byte b) { return b == kUntouched; }) &&
           std::all_of(destination.begin() + static_cast<std::ptrdiff_t>(kGuard + bytes), destination.end(), [](std::byte b) { return b == kUntouched; });
  }
  const Counters& counters() const { return peer.host.engine.counters(); }

  static constexpr std::size_t kGuard = 64;
  std::mt19937_64 random{13};
  VirtualClock clock;
  TestNetwork network{clock, 1};
  RawPeer peer{network, clock, EngineOptions{.requester = {.window = 64}}};
  std::vector<std::byte> source = random_bytes(random, 1 << 20);
  std::vector<std::byte> destination = std::vector<std::byte>((1 << 20) + 2 * kGuard, kUntouched);
  std::uintptr_t posted = 0;
};

TEST_F(AnswerTest, ShortReadIsOneRequestAndOneAnswer) {
  ASSERT_EQ(post_read(100), PostStatus::kPosted);
  peer.host.progress();
  const auto request = peer.answer();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->bth.opcode, Opcode::kReadRequest);
  EXPECT_EQ(request->reth, (wire::Reth{.address = 0x10000, .rkey = 0x77, .dma_length = 100}));
  respond(0, Opcode::kReadResponseOnly, 100);
  ASSERT_EQ(peer.host.completions.size(), 1u);
  EXPECT_TRUE(has_read(100));
}

TEST_F(AnswerTest, ReadTakesOnePsnForEachAnswer) {
  ASSERT_EQ(post_read(3 * kMtu + 5), PostStatus::kPosted);
  ASSERT_EQ(post_write(), PostStatus::kPosted);
  peer.host.progress();
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{0, 4}));
}

TEST_F(AnswerTest, LongReadIsAskedForInPartsWithinTheWindow) {
  ASSERT_EQ(post_read(100 * kMtu), PostStatus::kPosted);
  peer.host.progress();
  std::uint32_t n = 0;
  for (; const auto request = peer.answer(); n += 16) {
    EXPECT_EQ(request->bth.psn, psn(n));
    EXPECT_EQ(request->reth, (wire::Reth{.address = 0x10000 + n * kMtu, .rkey = 0x77, .dma_length = 16 * kMtu}));
  }
  EXPECT_EQ(n, 64u);
  respond_all(0, 16);
  peer.answers.clear();
  respond_all(16, 32);
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{80}));
}

TEST_F(AnswerTest, ReadsInFlightAreLimited) {
  for (int i = 0; i < 20; ++i) ASSERT_EQ(post_read(8), PostStatus::kPosted);
  peer.host.progress();
  EXPECT_EQ(sent_psns().size(), Requester::kMostReads);
  respond(0, Opcode::kReadResponseOnly, 8);
  EXPECT_EQ(sent_psns().size(), 1u);
}

TEST_F(AnswerTest, AnswerAcknowledgesWhatWasPostedBefore) {
  ASSERT_EQ(post_write(), PostStatus::kPosted);
  ASSERT_EQ(post_read(8), PostStatus::kPosted);
  peer.host.progress();
  respond(1, Opcode::kReadResponseOnly, 8);
  EXPECT_EQ(peer.host.completions.size(), 2u);
}

TEST_F(AnswerTest, AcknowledgementOfSomethingLaterDoesNotCompleteARead) {
  ASSERT_EQ(post_write(), PostStatus::kPosted);
  ASSERT_EQ(post_read(2 * kMtu), PostStatus::kPosted);
  ASSERT_EQ(post_write(), PostStatus::kPosted);
  peer.host.progress();
  peer.answers.clear();
  peer.acknowledge(psn(3), wire::kSyndromeAck);
  EXPECT_EQ(peer.host.completions.size(), 1u) << "the WRITE before it";
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{1, 3})) << "the answers are lost: it is asked for again";
  respond_all(1, 3);
  peer.acknowledge(psn(3), wire::kSyndromeAck);
  EXPECT_EQ(peer.host.completions.size(), 3u);
}

TEST_F(AnswerTest, LostAnswerIsAskedForFromThereOn) {
  ASSERT_EQ(post_read(16 * kMtu), PostStatus::kPosted);
  peer.host.progress();
  peer.answers.clear();
  respond_all(0, 16, {5});
  const auto request = peer.answer();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->bth.psn, psn(5));
  EXPECT_EQ(request->reth, (wire::Reth{.address = 0x10000 + 5 * kMtu, .rkey = 0x77, .dma_length = 11 * kMtu}));
  EXPECT_FALSE(peer.answer()) << "once";
  EXPECT_TRUE(is_untouched(5 * kMtu));
  respond_all(5, 16);
  EXPECT_EQ(peer.host.completions.size(), 1u);
  EXPECT_TRUE(has_read(16 * kMtu));
}

TEST_F(AnswerTest, AnswerThatIsLostAgainIsAskedForAgain) {
  ASSERT_EQ(post_read(16 * kMtu), PostStatus::kPosted);
  peer.host.progress();
  respond_all(0, 16, {5});
  peer.answers.clear();
  clock.advance(200 * kMicrosecond);
  respond_all(5, 16, {5});
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{5}));
}

TEST_F(AnswerTest, SilenceIsATimeout) {
  ASSERT_EQ(post_read(4 * kMtu), PostStatus::kPosted);
  peer.host.progress();
  respond(0, Opcode::kReadResponseFirst);
  peer.answers.clear();
  clock.advance(20 * kMillisecond);
  peer.host.progress();
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(counters().timeouts.value(), 1u);
}

TEST_F(AnswerTest, TimeoutThatWasTooEarlyLeavesNoTrace) {
  ASSERT_EQ(post_read(200 * kMtu), PostStatus::kPosted);
  peer.host.progress();
  clock.advance(6 * kMillisecond);  // the peer did not run
  peer.host.progress();
  EXPECT_EQ(counters().timeouts.value(), 1u);
  peer.answers.clear();
  for (std::uint32_t n = 0; n < 64; ++n) {
    wire::Packet answer{};
    answer.bth.opcode = n % 16 == 0 ? Opcode::kReadResponseFirst : n % 16 == 15 ? Opcode::kReadResponseLast : Opcode::kReadResponseMiddle;
    answer.bth.psn = psn(n);
    answer.aeth.syndrome = wire::kSyndromeAck;
    network.inject({.from = address(9), .to = address(1), .bytes = peer.encode(answer, std::span(source).subspan(n * kMtu, kMtu))});
  }
  peer.host.engine.tick();
  EXPECT_EQ(peer.qp->requester.in_flight(), 64u) << "the whole window";
}

TEST_F(AnswerTest, AnswersOfTheWrongShapeAreNotTaken) {
  ASSERT_EQ(post_read(2 * kMtu), PostStatus::kPosted);
  ASSERT_EQ(post_write(), PostStatus::kPosted);
  peer.host.progress();
  respond(0, Opcode::kReadResponseFirst, 512);          // short
  respond(0, Opcode::kReadResponseOnly);                // more must follow
  peer.respond(Opcode::kAtomicAcknowledge, psn(0), {}, 7);
  respond(7, Opcode::kReadResponseOnly);                // never asked for
  EXPECT_EQ(counters().bad_acks.value(), 4u);
  respond(0, Opcode::kReadResponseFirst);
  respond(1, Opcode::kReadResponseMiddle);              // it was the last
  EXPECT_EQ(counters().bad_acks.value(), 5u);
  EXPECT_TRUE(peer.host.completions.empty());
  respond(1, Opcode::kReadResponseLast);
  respond(2, Opcode::kReadResponseOnly, 8);             // to a WRITE
  EXPECT_EQ(counters().bad_acks.value(), 6u);
  EXPECT_EQ(peer.host.completions.size(), 1u);
  EXPECT_TRUE(has_read(2 * kMtu));
}

TEST_F(AnswerTest, NothingIsWrittenAfterCompletionOrCancellation) {
  ASSERT_EQ(post_read(8), PostStatus::kPosted);
  ASSERT_EQ(post_read(8), PostStatus::kPosted);
  peer.host.progress();
  respond(0, Opcode::kReadResponseOnly, 8);
  std::fill(destination.begin(), destination.end(), kUntouched);
  respond(0, Opcode::kReadResponseOnly, 8);
  EXPECT_EQ(counters().duplicates.value(), 1u);
  peer.host.engine.fail_qp(*peer.qp, QpError::kCancelled);
  respond(1, Opcode::kReadResponseOnly, 8);
  EXPECT_TRUE(is_untouched(0));
  ASSERT_EQ(peer.host.completions.size(), 2u);
  EXPECT_EQ(peer.host.completions[1].error, QpError::kCancelled);
}

TEST_F(AnswerTest, RefusedReadFailsTheConnection) {
  ASSERT_EQ(post_write(), PostStatus::kPosted);
  ASSERT_EQ(post_read(4 * kMtu), PostStatus::kPosted);
  peer.host.progress();
  respond(1, Opcode::kReadResponseFirst);
  peer.acknowledge(psn(2), wire::kSyndromeNakRemoteAccess);
  ASSERT_EQ(peer.host.completions.size(), 2u);
  EXPECT_EQ(peer.host.completions[0].error, QpError::kNone);
  EXPECT_EQ(peer.host.completions[1].error, QpError::kRemoteAccess);
}

TEST_F(AnswerTest, NakBehindAReadWithoutItsAnswersRepeatsTheRead) {
  ASSERT_EQ(post_read(8), PostStatus::kPosted);
  ASSERT_EQ(post_write(), PostStatus::kPosted);
  peer.host.progress();
  peer.answers.clear();
  peer.acknowledge(psn(1), wire::kSyndromeNakSequence);
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_TRUE(peer.host.completions.empty());
}

TEST_F(AnswerTest, RnrNakBehindAReadHoldsAndRepeatsBoth) {
  ASSERT_EQ(post_read(8), PostStatus::kPosted);
  ASSERT_EQ(post_write(), PostStatus::kPosted);
  peer.host.progress();
  peer.answers.clear();
  peer.acknowledge(psn(1), 0x20 | 14);  // 1.28 ms
  EXPECT_TRUE(sent_psns().empty());
  clock.advance(2 * kMillisecond);
  peer.host.progress();
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{0, 1}));
}

TEST_F(AnswerTest, FenceWaitsForReadsAndAtomics) {
  std::uint64_t result = 0;
  ASSERT_EQ(post_read(8), PostStatus::kPosted);
  ASSERT_EQ(post_atomic(MessageKind::kFetchAdd, 1, 0, &result), PostStatus::kPosted);
  ASSERT_EQ(post_write(true), PostStatus::kPosted);
  peer.host.progress();
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{0, 1}));
  respond(0, Opcode::kReadResponseOnly, 8);
  EXPECT_TRUE(sent_psns().empty());
  peer.respond(Opcode::kAtomicAcknowledge, psn(1), {}, 5);
  EXPECT_EQ(sent_psns(), (std::vector<std::uint32_t>{2}));
}

TEST_F(AnswerTest, AtomicsCarryTheirOperandsAndBringTheOldValue) {
  std::uint64_t result = 0;
  ASSERT_EQ(post_atomic(MessageKind::kFetchAdd, 3, 0, &result), PostStatus::kPosted);
  ASSERT_EQ(post_atomic(MessageKind::kCompareSwap, 4, 5, nullptr), PostStatus::kPosted);
  peer.host.progress();
  const auto add = peer.answer();
  ASSERT_TRUE(add);
  EXPECT_EQ(add->bth.opcode, Opcode::kFetchAdd);
  EXPECT_EQ(add->atomic_eth, (wire::AtomicEth{.address = 0x10000, .rkey = 0x77, .swap_or_add = 3, .compare = 0}));
  const auto swap = peer.answer();
  ASSERT_TRUE(swap);
  EXPECT_EQ(swap->bth.opcode, Opcode::kCompareSwap);
  EXPECT_EQ(swap->atomic_eth, (wire::AtomicEth{.address = 0x10000, .rkey = 0x77, .swap_or_add = 4, .compare = 5}));
  peer.acknowledge(psn(1), wire::kSyndromeAck);
  EXPECT_TRUE(peer.host.completions.empty()) << "an acknowledgement brings no value";
  peer.respond(Opcode::kAtomicAcknowledge, psn(0), {}, 0x0102030405060708);
  peer.respond(Opcode::kAtomicAcknowledge, psn(1), {}, 9);
  EXPECT_EQ(peer.host.completions.size(), 2u);
  EXPECT_EQ(result, 0x0102030405060708u);
}

TEST_F(AnswerTest, EmptyReadIsAnsweredWithNothing) {
  ASSERT_EQ(post_read(0), PostStatus::kPosted);
  peer.host.progress();
  EXPECT_EQ(peer.answer()->reth.dma_length, 0u);
  respond(0, Opcode::kReadResponseOnly, 0);
  EXPECT_EQ(peer.host.completions.size(), 1u);
  EXPECT_TRUE(is_untouched(0));
}

}  // namespace
}  // namespace ina::engine::test
