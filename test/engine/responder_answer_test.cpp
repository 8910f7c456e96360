// responder_answer_test.cpp: what a connection does with READs, atomics, and the opcodes that we do not send ourselves.
#include <gtest/gtest.h>

#include "test/engine/raw_peer.hpp"

namespace ina::engine::test {
namespace {

using wire::Opcode;
constexpr std::uint32_t kFirst = RawPeer::kFirstPsn;
constexpr std::size_t kMtu = 1024;

class ResponderAnswerTest : public testing::Test {
 protected:
  ResponderAnswerTest() {
    for (std::byte& byte : peer.host.area) byte = static_cast<std::byte>(random());
  }
  // Puts the request into the engine's socket, to be looked at together with others.
  void enqueue(Opcode opcode, std::uint32_t psn, wire::Reth reth) {
    wire::Packet packet{};
    packet.bth = {.opcode = opcode, .ack_request = true, .psn = psn & wire::kPsnMask};
    packet.reth = reth;
    const std::vector<std::byte> payload(opcode == Opcode::kWriteOnly ? reth.dma_length : 0);
    network.inject({.from = address(9), .to = address(1), .bytes = peer.encode(packet, payload)});
  }
  std::uint64_t& word(std::size_t offset) { return *reinterpret_cast<std::uint64_t*>(peer.host.area.data() + offset); }
  // All of them are answers to a READ from `offset`, in order, the first one with PSN psn.
  void expect_read(std::uint32_t psn, std::size_t offset, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes || done == 0;) {
      const auto answer = peer.answer();
      ASSERT_TRUE(answer) << done;
      const std::size_t part = std::min(kMtu, bytes - done);
      const bool first = done == 0, last = done + part == bytes;
      EXPECT_EQ(answer->bth.opcode, first ? (last ? Opcode::kReadResponseOnly : Opcode::kReadResponseFirst) : last ? Opcode::kReadResponseLast : Opcode::kReadResponseMiddle);
      EXPECT_EQ(answer->bth.psn, psn++ & wire::kPsnMask);
      ASSERT_EQ(answer->payload.size(), part);
      EXPECT_TRUE(std::equal(answer->payload.begin(), answer->payload.end(), peer.host.area.begin() + static_cast<std::ptrdiff_t>(offset + done)));
      done += part;
      if (bytes == 0) break;
    }
  }
  std::uint8_t syndrome_of_only_answer() {
    EXPECT_EQ(peer.answers.size(), 1u);
    const auto answer = peer.answer();
    return answer && answer->bth.opcode == Opcode::kAcknowledge ? answer->aeth.syndrome : 0xff;
  }
  const Counters& counters() const { return peer.host.engine.counters(); }

  std::mt19937_64 random{7};
  VirtualClock clock;
  TestNetwork network{clock, 1};
  RawPeer peer{network, clock};
};

TEST_F(ResponderAnswerTest, ReadIsAnsweredFromMemoryAcrossThePsnWrap) {
  peer.request(Opcode::kReadRequest, kFirst, {}, peer.reth(33, 4 * kMtu + 3));
  expect_read(kFirst, 33, 4 * kMtu + 3);
  EXPECT_TRUE(peer.answers.empty());
  peer.request(Opcode::kWriteOnly, kFirst + 5, random_bytes(random, 8), peer.reth(0, 8));
  const auto ack = peer.answer();
  EXPECT_EQ(ack->bth.psn, (kFirst + 5) & wire::kPsnMask);
  EXPECT_EQ(ack->aeth.msn, 2u);
}

TEST_F(ResponderAnswerTest, ReadsOfEverySizeAroundTheMtu) {
  std::uint32_t psn = kFirst;
  for (const std::size_t bytes : {0ul, 1ul, 3ul, kMtu - 1, kMtu, kMtu + 1, 2 * kMtu, 300 * kMtu + 7}) {
    peer.request(Opcode::kReadRequest, psn, {}, peer.reth(5, bytes));
    expect_read(psn, 5, bytes);
    EXPECT_TRUE(peer.answers.empty()) << bytes;
    psn += static_cast<std::uint32_t>(bytes == 0 ? 1 : (bytes + kMtu - 1) / kMtu);
  }
}

TEST_F(ResponderAnswerTest, AnswersHaveAValidIcrc) {
  peer.request(Opcode::kReadRequest, kFirst, {}, peer.reth(1, 5));
  ASSERT_EQ(peer.answers.size(), 1u);
  EXPECT_TRUE(wire::IcrcFlow(address(1), address(9)).is_valid(peer.answers[0].bytes));
}

TEST_F(ResponderAnswerTest, AcknowledgementOfSomethingLaterFollowsTheAnswers) {
  enqueue(Opcode::kReadRequest, kFirst, peer.reth(0, 20 * kMtu));
  enqueue(Opcode::kWriteOnly, kFirst + 20, peer.reth(30 * kMtu, 8));
  peer.host.engine.tick();
  expect_read(kFirst, 0, 20 * kMtu);
  EXPECT_EQ(peer.answer()->bth.psn, (kFirst + 20) & wire::kPsnMask);
}

TEST_F(ResponderAnswerTest, NakFollowsTheAnswers) {
  enqueue(Opcode::kReadRequest, kFirst, peer.reth(0, 3 * kMtu));
  enqueue(Opcode::kWriteOnly, kFirst + 4, peer.reth(30 * kMtu, 8));
  peer.host.engine.tick();
  expect_read(kFirst, 0, 3 * kMtu);
  const auto nak = peer.answer();
  EXPECT_EQ(nak->aeth.syndrome, wire::kSyndromeNakSequence);
  EXPECT_EQ(nak->bth.psn, (kFirst + 3) & wire::kPsnMask);
}

TEST_F(ResponderAnswerTest, RepeatedReadIsAnsweredAgainFromWhereItAsks) {
  peer.request(Opcode::kReadRequest, kFirst, {}, peer.reth(0, 4 * kMtu));
  peer.answers.clear();
  peer.request(Opcode::kReadRequest, kFirst + 2, {}, peer.reth(2 * kMtu, 2 * kMtu));
  expect_read(kFirst + 2, 2 * kMtu, 2 * kMtu);
  EXPECT_TRUE(peer.answers.empty());
}

TEST_F(ResponderAnswerTest, RepetitionOfAReadThatWasNotAnsweredYetAddsNothing) {
  for (int i = 0; i < 5; ++i) enqueue(Opcode::kReadRequest, kFirst, peer.reth(0, 4 * kMtu));
  peer.host.engine.tick();
  expect_read(kFirst, 0, 4 * kMtu);
  EXPECT_TRUE(peer.answers.empty());
}

TEST_F(ResponderAnswerTest, RepetitionThatAsksForMoreThanTheFirstTimeIsDropped) {
  peer.request(Opcode::kReadRequest, kFirst, {}, peer.reth(0, 2 * kMtu));
  peer.answers.clear();
  peer.request(Opcode::kReadRequest, kFirst, {}, peer.reth(0, 3 * kMtu));
  EXPECT_TRUE(peer.answers.empty());
}

TEST_F(ResponderAnswerTest, RepetitionOfWhatIsGoneIsRefusedWithoutHarm) {
  peer.request(Opcode::kReadRequest, kFirst, {}, peer.reth(0, 8));
  ASSERT_TRUE(peer.host.memory.remove(peer.host.rkey));
  peer.answers.clear();
  peer.request(Opcode::kReadRequest, kFirst, {}, peer.reth(0, 8));
  const auto nak = peer.answer();
  ASSERT_TRUE(nak);
  EXPECT_EQ(nak->aeth.syndrome, wire::kSyndromeNakRemoteAccess);
  EXPECT_EQ(nak->bth.psn, kFirst);
  peer.answers.clear();
  peer.host.rkey = *peer.host.memory.add(peer.host.area.data(), peer.host.area.size());
  peer.request(Opcode::kWriteOnly, kFirst + 1, random_bytes(random, 8), peer.reth(0, 8));
  EXPECT_EQ(syndrome_of_only_answer(), wire::kSyndromeAck);
}

TEST_F(ResponderAnswerTest, MemoryDeregisteredBetweenTwoAnswersIsNotRead) {
  network.send_limit = 3;  // then the system takes no more
  enqueue(Opcode::kReadRequest, kFirst, peer.reth(0, 8 * kMtu));
  peer.host.engine.tick();
  EXPECT_EQ(peer.answers.size(), 3u);
  ASSERT_TRUE(peer.host.memory.remove(peer.host.rkey));
  peer.answers.clear();
  peer.host.progress();
  ASSERT_EQ(peer.answers.size(), 1u);
  const auto nak = peer.answer();
  EXPECT_EQ(nak->aeth.syndrome, wire::kSyndromeNakRemoteAccess);
  EXPECT_EQ(nak->bth.psn, (kFirst + 3) & wire::kPsnMask);
}

TEST_F(ResponderAnswerTest, PacketsThatTheSystemDoesNotTakeGoOutLaterInOrder) {
  network.send_limit = 5;
  enqueue(Opcode::kReadRequest, kFirst, peer.reth(0, 12 * kMtu));
  enqueue(Opcode::kReadRequest, kFirst + 12, peer.reth(12 * kMtu, 7 * kMtu));
  for (int i = 0; i < 10; ++i) peer.host.engine.tick();
  expect_read(kFirst, 0, 12 * kMtu);
  expect_read(kFirst + 12, 12 * kMtu, 7 * kMtu);
  EXPECT_TRUE(peer.answers.empty());
}

TEST_F(ResponderAnswerTest, ReadWithinAMessageIsRefused) {
  peer.request(Opcode::kWriteFirst, kFirst, random_bytes(random, kMtu), peer.reth(0, 4 * kMtu));
  peer.answers.clear();
  peer.request(Opcode::kReadRequest, kFirst + 1, {}, peer.reth(0, 8));
  EXPECT_EQ(syndrome_of_only_answer(), wire::kSyndromeNakInvalidRequest);
}

TEST_F(ResponderAnswerTest, MoreReadsThanAreRememberedAreRefused) {
  for (std::uint32_t i = 0; i < 17; ++i) enqueue(Opcode::kReadRequest, kFirst + i, peer.reth(0, 8));
  peer.host.engine.tick();
  for (std::uint32_t i = 0; i < 16; ++i) expect_read(kFirst + i, 0, 8);
  EXPECT_EQ(syndrome_of_only_answer(), wire::kSyndromeNakInvalidRequest);
}

TEST_F(ResponderAnswerTest, OneLongReadDoesNotHoldUpTheCaller) {
  MemoryTable& memory = peer.host.memory;
  std::vector<std::byte> large(32 << 20);
  const std::uint32_t rkey = *memory.add(large.data(), large.size());
  wire::Reth reth{.address = reinterpret_cast<std::uintptr_t>(large.data()), .rkey = rkey, .dma_length = static_cast<std::uint32_t>(large.size())};
  peer.request(Opcode::kReadRequest, kFirst, {}, reth);
  EXPECT_LE(peer.answers.size(), 64 * kBatchPackets);
  EXPECT_FALSE(peer.host.engine.prepare_to_wait());
  for (int i = 0; i < 20; ++i) peer.host.progress();
  EXPECT_EQ(peer.answers.size(), large.size() / kMtu);
}

TEST_F(ResponderAnswerTest, FetchAddAddsAndAnswersWithTheOldValue) {
  word(64) = 0xfffffffffffffffe;
  peer.request(Opcode::kFetchAdd, kFirst, {}, peer.reth(64, 8), 5);
  const auto answer = peer.answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->bth.opcode, Opcode::kAtomicAcknowledge);
  EXPECT_EQ(answer->bth.psn, kFirst);
  EXPECT_EQ(answer->aeth, (wire::Aeth{.syndrome = wire::kSyndromeAck, .msn = 1}));
  EXPECT_EQ(answer->atomic_original, 0xfffffffffffffffeu);
  EXPECT_EQ(word(64), 3u);
}

TEST_F(ResponderAnswerTest, CompareSwapSwapsOnlyWhatIsEqual) {
  word(8) = 7;
  peer.request(Opcode::kCompareSwap, kFirst, {}, peer.reth(8, 8), 9, 6);
  EXPECT_EQ(peer.answer()->atomic_original, 7u);
  EXPECT_EQ(word(8), 7u);
  peer.request(Opcode::kCompareSwap, kFirst + 1, {}, peer.reth(8, 8), 9, 7);
  EXPECT_EQ(peer.answer()->atomic_original, 7u);
  EXPECT_EQ(word(8), 9u);
}

TEST_F(ResponderAnswerTest, RepeatedAtomicIsNotExecutedAgain) {
  word(0) = 100;
  for (std::uint32_t i = 0; i < 16; ++i) peer.request(Opcode::kFetchAdd, kFirst + i, {}, peer.reth(0, 8), 1);
  peer.answers.clear();
  for (std::uint32_t i = 0; i < 16; ++i) {
    peer.request(Opcode::kFetchAdd, kFirst + i, {}, peer.reth(0, 8), 1);
    const auto answer = peer.answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->atomic_original, 100u + i);
  }
  EXPECT_EQ(word(0), 116u);
  peer.request(Opcode::kFetchAdd, kFirst + 16, {}, peer.reth(0, 8), 1);
  peer.answers.clear();
  peer.request(Opcode::kFetchAdd, kFirst, {}, peer.reth(0, 8), 1);
  EXPECT_TRUE(peer.answers.empty()) << "nobody can still want to know this one";
  EXPECT_EQ(word(0), 117u);
}

TEST_F(ResponderAnswerTest, AtomicsAndReadsAreAnsweredInOrderWhateverTheSystemTakes) {
  network.send_limit = 1;
  word(0) = 1;
  for (std::uint32_t i = 0; i < 6; ++i) enqueue(i % 2 == 0 ? Opcode::kReadRequest : Opcode::kFetchAdd, kFirst + i, peer.reth(8, 8));
  for (int i = 0; i < 20; ++i) peer.host.engine.tick();
  ASSERT_FALSE(peer.answers.empty());
  std::uint32_t psn = kFirst;
  while (const auto answer = peer.answer()) EXPECT_EQ(answer->bth.psn, psn++ & wire::kPsnMask);
}

TEST_F(ResponderAnswerTest, ImmediateDataIsCountedAndTheRestIsDone) {
  const auto payload = random_bytes(random, 12);
  peer.request(Opcode::kWriteOnlyImmediate, kFirst, payload, peer.reth(16, 12));
  EXPECT_EQ(syndrome_of_only_answer(), wire::kSyndromeAck);
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), peer.host.area.begin() + 16));
  peer.request(Opcode::kSendOnlyImmediate, kFirst + 1, payload);
  ASSERT_EQ(peer.host.messages.size(), 1u);
  EXPECT_EQ(peer.host.messages[0], payload);
  EXPECT_EQ(counters().immediates.value(), 2u);
}

TEST_F(ResponderAnswerTest, LongMessagesMayEndWithImmediateData) {
  peer.request(Opcode::kWriteFirst, kFirst, random_bytes(random, kMtu), peer.reth(0, kMtu + 8));
  peer.request(Opcode::kWriteLastImmediate, kFirst + 1, random_bytes(random, 8));
  peer.request(Opcode::kSendFirst, kFirst + 2, random_bytes(random, kMtu));
  peer.request(Opcode::kSendLastImmediate, kFirst + 3, random_bytes(random, 8));
  ASSERT_EQ(peer.host.messages.size(), 1u);
  EXPECT_EQ(peer.host.messages[0].size(), kMtu + 8);
  EXPECT_EQ(counters().immediates.value(), 2u);
}

TEST_F(ResponderAnswerTest, SendInvalidatesWhatItsOwnerAllows) {
  std::vector<std::byte> other(64);
  MemoryTable& memory = peer.host.memory;
  const std::uint32_t rkey = *memory.add(other.data(), other.size(), {.invalidate = true});
  peer.request(Opcode::kSendOnlyInvalidate, kFirst, random_bytes(random, 8), {.rkey = rkey});
  EXPECT_EQ(syndrome_of_only_answer(), wire::kSyndromeAck);
  EXPECT_EQ(peer.host.messages.size(), 1u);
  peer.request(Opcode::kWriteOnly, kFirst + 1, random_bytes(random, 8), {.address = reinterpret_cast<std::uintptr_t>(other.data()), .rkey = rkey, .dma_length = 8});
  EXPECT_EQ(syndrome_of_only_answer(), wire::kSyndromeNakRemoteAccess);
  EXPECT_TRUE(memory.remove(rkey)) << "it stays its owner's to deregister";
}

TEST(ResponderRights, MemoryIsUsedOnlyAsItWasRegisteredFor) {
  struct Case {
    Opcode opcode;
    MemoryRights allowed;
  };
  for (const auto& [opcode, allowed] : {Case{Opcode::kReadRequest, {.read = true, .write = false, .atomic = false}}, Case{Opcode::kWriteOnly, {.read = false, .write = true, .atomic = false}},
                                        Case{Opcode::kFetchAdd, {.read = false, .write = false, .atomic = true}}, Case{Opcode::kCompareSwap, {.read = false, .write = false, .atomic = true}}}) {
    for (const bool is_allowed : {true, false}) {
      VirtualClock clock;
      TestNetwork network(clock, 1);
      RawPeer peer(network, clock);
      const MemoryRights rights{.read = allowed.read == is_allowed, .write = allowed.write == is_allowed, .atomic = allowed.atomic == is_allowed};
      peer.host.rkey = *peer.host.memory.add(peer.host.area.data(), peer.host.area.size(), rights);
      const std::vector<std::byte> before = peer.host.area;
      peer.request(opcode, RawPeer::kFirstPsn, opcode == Opcode::kWriteOnly ? std::vector<std::byte>(8, std::byte{1}) : std::vector<std::byte>{}, peer.reth(0, 8), 1);
      const auto answer = peer.answer();
      ASSERT_TRUE(answer) << wire::name(opcode);
      EXPECT_EQ(answer->aeth.syndrome, is_allowed ? wire::kSyndromeAck : wire::kSyndromeNakRemoteAccess) << wire::name(opcode);
      if (!is_allowed) {
        EXPECT_EQ(peer.host.area, before) << wire::name(opcode);
      }
    }
  }
}

TEST_F(ResponderAnswerTest, OpcodesThatNobodyKnowsAreRefused) {
  for (const int opcode : {0x15, 0x18, 0x1c, 0x1d, 0x1f}) {
    VirtualClock other_clock;
    TestNetwork other_network(other_clock, 1);
    RawPeer other(other_network, other_clock);
    wire::Packet packet{};
    packet.bth = {.opcode = Opcode::kSendOnly, .ack_request = true, .psn = kFirst};
    auto bytes = other.encode(packet, random_bytes(random, 28));
    bytes[0] = static_cast<std::byte>(opcode);
    wire::IcrcFlow(address(9), address(1)).seal(bytes);
    other.deliver(bytes);
    const auto nak = other.answer();
    ASSERT_TRUE(nak) << opcode;
    EXPECT_EQ(nak->aeth.syndrome, wire::kSyndromeNakInvalidRequest);
    EXPECT_TRUE(other.host.messages.empty());
  }
}

}  // namespace
}  // namespace ina::engine::test
