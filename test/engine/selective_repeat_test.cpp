// selective_repeat_test.cpp: the middle of a WRITE is kept behind a missing packet, and a peer that does so gets that packet alone again.
#include <gtest/gtest.h>

#include <numeric>

#include "test/engine/raw_peer.hpp"

namespace ina::engine::test {
namespace {

using wire::Opcode;
constexpr std::uint32_t kMtu = 1024;
constexpr std::uint32_t kFirst = RawPeer::kFirstPsn;

// A WRITE to us of ten packets and a bit.
class KeepingTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kPackets = 11;
  static constexpr std::size_t kBytes = (kPackets - 1) * kMtu + 5;

  void packet(std::uint32_t index) {
    const Opcode opcode = index == 0 ? Opcode::kWriteFirst : index + 1 < kPackets ? Opcode::kWriteMiddle : Opcode::kWriteLast;
    const std::size_t begin = std::size_t{index} * kMtu;
    peer.request(opcode, kFirst + index, std::span(payload).subspan(begin, std::min<std::size_t>(kMtu, kBytes - begin)), peer.reth(64, kBytes));
  }
  bool is_there(std::uint32_t index) const {
    const auto begin = static_cast<std::ptrdiff_t>(std::size_t{index} * kMtu);
    const auto end = std::min(begin + std::ptrdiff_t{kMtu}, static_cast<std::ptrdiff_t>(kBytes));
    return std::equal(payload.begin() + begin, payload.begin() + end, peer.host.area.begin() + 64 + begin);
  }
  std::optional<wire::Packet> last_answer() {
    std::optional<wire::Packet> last;
    while (auto answer = peer.answer()) last = answer;
    return last;
  }
  static std::uint32_t psn(std::uint32_t n) { return (kFirst + n) & wire::kPsnMask; }
  const Counters& counters() const { return peer.host.engine.counters(); }

  std::mt19937_64 random{5};
  VirtualClock clock;
  TestNetwork network{clock, 1};
  RawPeer peer{network, clock};
  std::vector<std::byte> payload = random_bytes(random, kBytes);
};

TEST_F(KeepingTest, MiddleIsInItsPlaceBeforeWhatIsMissing) {
  packet(0);
  for (const std::uint32_t index : {2u, 3u, 5u}) packet(index);
  EXPECT_TRUE(is_there(2) && is_there(3) && is_there(5));
  EXPECT_FALSE(is_there(1) || is_there(4));
  EXPECT_EQ(counters().kept_ahead.value(), 3u);
  EXPECT_EQ(counters().gaps.value(), 0u);
  auto answer = last_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->aeth.syndrome, wire::kSyndromeNakSequence);
  EXPECT_EQ(answer->bth.psn, psn(1));

  packet(1);
  answer = last_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->aeth.syndrome, wire::kSyndromeNakSequence) << "the next one that is missing is asked for at once";
  EXPECT_EQ(answer->bth.psn, psn(4));

  packet(4);
  for (std::uint32_t index = 6; index < kPackets; ++index) packet(index);
  answer = last_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->aeth, (wire::Aeth{.syndrome = wire::kSyndromeAck, .msn = 1}));
  EXPECT_EQ(answer->bth.psn, psn(kPackets - 1));
  for (std::uint32_t index = 0; index < kPackets; ++index) EXPECT_TRUE(is_there(index)) << index;
  EXPECT_EQ(counters().bytes_received.value(), kBytes);
}

TEST_F(KeepingTest, WhatIsKeptAndComesAgainIsTakenOnce) {
  packet(0);
  packet(2);
  peer.host.area[64 + 2 * kMtu] ^= std::byte{1};  // as if its owner had changed it
  packet(2);
  EXPECT_FALSE(is_there(2));
  EXPECT_EQ(counters().kept_ahead.value(), 1u);
  packet(1);
  packet(2);  // a duplicate by now
  EXPECT_FALSE(is_there(2));
  EXPECT_EQ(counters().duplicates.value(), 1u);
}

TEST_F(KeepingTest, LastPacketAndWhatIsOfNoKnownWriteIsNotKept) {
  const auto before = peer.host.area;
  packet(2);  // its first packet is missing
  EXPECT_EQ(peer.host.area, before);
  packet(0);
  packet(kPackets - 1);
  EXPECT_FALSE(is_there(kPackets - 1));
  // Not the length that the WRITE has at this place.
  peer.request(Opcode::kWriteMiddle, kFirst + 3, std::span(payload).first(kMtu - 4));
  // Nothing would be left for the last one, or it would be beyond the end.
  for (const std::uint32_t index : {kPackets - 1, kPackets, 400u, 600u}) peer.request(Opcode::kWriteMiddle, kFirst + index, std::span(payload).first(kMtu));
  peer.request(Opcode::kSendMiddle, kFirst + 2, std::span(payload).first(kMtu));
  EXPECT_EQ(counters().kept_ahead.value(), 0u);
  EXPECT_TRUE(std::equal(before.begin() + 64 + kMtu, before.end(), peer.host.area.begin() + 64 + kMtu));
}

TEST_F(KeepingTest, MemoryThatIsDeregisteredMeanwhileIsNotWrittenTo) {
  packet(0);
  peer.host.memory.remove(peer.host.rkey);
  const auto before = peer.host.area;
  packet(2);
  EXPECT_EQ(peer.host.area, before);
  EXPECT_EQ(counters().kept_ahead.value(), 0u);
}

// WRITEs from us.
class RepeatingTest : public testing::Test {
 protected:
  void post(std::uint32_t packets) {
    Message message;
    message.remote_address = 0x10000;
    message.rkey = 0x77;
    message.pieces[0] = {.address = payload.data(), .bytes = std::size_t{packets} * kMtu};
    message.piece_count = 1;
    message.length = packets * kMtu;
    message.token = this;
    ASSERT_EQ(peer.host.engine.post(*peer.qp, message), PostStatus::kPosted);
    peer.host.progress();
  }
  std::vector<std::uint32_t> sent() {
    peer.host.progress();
    std::vector<std::uint32_t> numbers;
    while (const auto packet = peer.answer()) numbers.push_back((packet->bth.psn - peer.qp->first_psn()) & wire::kPsnMask);
    return numbers;
  }
  void answer(std::uint32_t n, std::uint8_t syndrome) {
    clock.advance(kMillisecond);
    peer.acknowledge(wire::psn_add(peer.qp->first_psn(), n), syndrome);
  }
  static std::vector<std::uint32_t> range(std::uint32_t begin, std::uint32_t end) {
    std::vector<std::uint32_t> numbers(end - begin);
    std::iota(numbers.begin(), numbers.end(), begin);
    return numbers;
  }

  std::mt19937_64 random{6};
  VirtualClock clock;
  TestNetwork network{clock, 1};
  RawPeer peer{network, clock, EngineOptions{.requester = {.window = 64}}};
  std::vector<std::byte> payload = random_bytes(random, 100 * kMtu);
};

TEST_F(RepeatingTest, MissingPacketInTheMiddleIsSentAlone) {
  post(20);
  ASSERT_EQ(sent(), range(0, 20));
  answer(5, wire::kSyndromeNakSequence);
  EXPECT_EQ(sent(), (std::vector<std::uint32_t>{5, 19})) << "and the last one, which nobody keeps";
  answer(11, wire::kSyndromeNakSequence);
  EXPECT_EQ(sent(), (std::vector<std::uint32_t>{11, 19}));
  answer(19, wire::kSyndromeAck);
  EXPECT_EQ(peer.host.completions.size(), 1u);
  EXPECT_EQ(sent(), range(0, 0));
}

TEST_F(RepeatingTest, WhatFollowsTheMiddleIsSentAgain) {
  post(10);
  post(10);
  ASSERT_EQ(sent(), range(0, 20));
  answer(3, wire::kSyndromeNakSequence);
  std::vector<std::uint32_t> expected = range(9, 20);
  expected.insert(expected.begin(), 3);
  EXPECT_EQ(sent(), expected);
}

TEST_F(RepeatingTest, FirstAndLastPacketsAreGoneBackTo) {
  post(10);
  ASSERT_EQ(sent(), range(0, 10));
  answer(0, wire::kSyndromeNakSequence);
  EXPECT_EQ(sent(), range(0, 10));
  answer(9, wire::kSyndromeNakSequence);
  EXPECT_EQ(sent(), range(9, 10));
}

TEST_F(RepeatingTest, PeerThatKeepsNothingIsNotedAsSuch) {
  const auto is_sent_alone = [&](std::uint32_t missing) {
    answer(missing, wire::kSyndromeNakSequence);
    const auto numbers = sent();
    EXPECT_FALSE(numbers.empty());
    EXPECT_EQ(numbers.front(), missing);
    return numbers.size() == 1 || numbers[1] != missing + 1;
  };
  post(60);
  ASSERT_EQ(sent(), range(0, 60));
  for (std::uint32_t missing = 2; missing < 20; missing += 6) {
    EXPECT_TRUE(is_sent_alone(missing)) << missing;
    EXPECT_FALSE(is_sent_alone(missing + 1)) << missing;
  }
  EXPECT_FALSE(is_sent_alone(22));
  EXPECT_FALSE(is_sent_alone(30));
}

TEST_F(RepeatingTest, PacketThatIsLostAgainIsSentByTheTimer) {
  post(20);
  ASSERT_EQ(sent(), range(0, 20));
  answer(5, wire::kSyndromeNakSequence);
  EXPECT_EQ(sent(), (std::vector<std::uint32_t>{5, 19}));
  clock.advance(kSecond);
  const auto again = sent();
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(again.front(), 5u);
}

}  // namespace
}  // namespace ina::engine::test
