// roce_test.cpp: headers of every opcode: values, truncations, corruptions.
#include "wire/roce.hpp"

#include <gtest/gtest.h>

#include <random>

#include "test/support/pcap.hpp"
#include "test/wire/corruption.hpp"

namespace ina::wire {
namespace {

using Bytes = std::vector<std::byte>;

constexpr Opcode kOpcodes[] = {
    Opcode::kSendFirst,         Opcode::kSendMiddle,         Opcode::kSendLast,          Opcode::kSendLastImmediate, Opcode::kSendOnly,
    Opcode::kSendOnlyImmediate, Opcode::kWriteFirst,         Opcode::kWriteMiddle,       Opcode::kWriteLast,         Opcode::kWriteLastImmediate,
    Opcode::kWriteOnly,         Opcode::kWriteOnlyImmediate, Opcode::kReadRequest,       Opcode::kReadResponseFirst, Opcode::kReadResponseMiddle,
    Opcode::kReadResponseLast,  Opcode::kReadResponseOnly,   Opcode::kAcknowledge,       Opcode::kAtomicAcknowledge, Opcode::kCompareSwap,
    Opcode::kFetchAdd,          Opcode::kSendLastInvalidate, Opcode::kSendOnlyInvalidate, Opcode::kUdSendOnly,       Opcode::kCnp};

// A packet with every field of its opcode filled, and nothing else.
Packet filled(Opcode opcode, std::mt19937_64& random) {
  const OpcodeTraits t = traits(opcode);
  const auto word = [&] { return static_cast<std::uint32_t>(random()); };
  Packet packet{.bth = {.opcode = opcode, .solicited = random() % 2 == 0, .migration = random() % 2 == 0, .partition_key = static_cast<std::uint16_t>(random()),
                        .fecn = random() % 2 == 0, .becn = random() % 2 == 0, .dest_qpn = word() & kQpnMask, .ack_request = random() % 2 == 0, .psn = word() & kPsnMask}};
  if (t.reth) packet.reth = {.address = random(), .rkey = word(), .dma_length = word()};
  if (t.aeth) packet.aeth = {.syndrome = static_cast<std::uint8_t>(word()), .msn = word() & kPsnMask};
  if (t.atomic_eth) packet.atomic_eth = {.address = random(), .rkey = word(), .swap_or_add = random(), .compare = random()};
  if (t.deth) packet.deth = {.queue_key = word(), .source_qpn = word() & kQpnMask};
  if (t.atomic_aeth) packet.atomic_original = random();
  if (t.immediate) packet.immediate = word();
  if (t.ieth) packet.invalidate_rkey = word();
  packet.icrc = word();
  return packet;
}

Bytes encoded(const Packet& packet) {
  Bytes bytes(headers_bytes(packet.bth.opcode));
  EXPECT_EQ(encode_headers(packet, bytes), bytes.size());
  bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
  bytes.resize(bytes.size() + packet.bth.pad_count + kIcrcBytes);
  for (std::size_t i = 0; i < kIcrcBytes; ++i) bytes[bytes.size() - kIcrcBytes + i] = static_cast<std::byte>(packet.icrc >> (8 * i));
  return bytes;
}

void expect_equal(const Packet& a, const Packet& b) {
  EXPECT_EQ(a.bth, b.bth);
  EXPECT_EQ(a.reth, b.reth);
  EXPECT_EQ(a.aeth, b.aeth);
  EXPECT_EQ(a.atomic_eth, b.atomic_eth);
  EXPECT_EQ(a.deth, b.deth);
  EXPECT_EQ(a.atomic_original, b.atomic_original);
  EXPECT_EQ(a.immediate, b.immediate);
  EXPECT_EQ(a.invalidate_rkey, b.invalidate_rkey);
  EXPECT_EQ(a.icrc, b.icrc);
  EXPECT_EQ(test::to_hex(a.payload), test::to_hex(b.payload));
}

TEST(Roce, SizesOfHeadersAreThoseOfTheSpecification) {
  EXPECT_EQ(headers_bytes(Opcode::kSendOnly), 12U);
  EXPECT_EQ(headers_bytes(Opcode::kSendOnlyImmediate), 16U);
  EXPECT_EQ(headers_bytes(Opcode::kWriteOnly), 28U);
  EXPECT_EQ(headers_bytes(Opcode::kWriteOnlyImmediate), 32U);
  EXPECT_EQ(headers_bytes(Opcode::kReadRequest), 28U);
  EXPECT_EQ(headers_bytes(Opcode::kReadResponseMiddle), 12U);
  EXPECT_EQ(headers_bytes(Opcode::kAcknowledge), 16U);
  EXPECT_EQ(headers_bytes(Opcode::kAtomicAcknowledge), 24U);
  EXPECT_EQ(headers_bytes(Opcode::kCompareSwap), 40U);
  EXPECT_EQ(headers_bytes(Opcode::kSendLastInvalidate), 16U);
  EXPECT_EQ(headers_bytes(Opcode::kUdSendOnly), 20U);
  EXPECT_EQ(headers_bytes(Opcode::kCnp), 12U);
  EXPECT_EQ(headers_bytes(static_cast<Opcode>(0xff)), 0U);
}

TEST(Roce, FieldsStandAtTheOffsetsOfTheSpecification) {
  const Packet write{.bth = {.opcode = Opcode::kWriteOnly, .solicited = true, .migration = false, .partition_key = 0x8001, .becn = true, .dest_qpn = 0x123456, .ack_request = true, .psn = 0xabcdef},
                     .reth = {.address = 0x0102030405060708, .rkey = 0x11121314, .dma_length = 0x21222324}};
  EXPECT_EQ(test::to_hex(encoded(write)), "0a808001" "40123456" "80abcdef" "0102030405060708" "11121314" "21222324" "00000000");
  const Packet ack{.bth = {.opcode = Opcode::kAcknowledge, .dest_qpn = 0x11, .psn = 5}, .aeth = {.syndrome = kSyndromeNakSequence, .msn = 7}, .icrc = 0x04030201};
  EXPECT_EQ(test::to_hex(encoded(ack)), "1140ffff" "00000011" "00000005" "60000007" "01020304");
}

TEST(Roce, EveryOpcodeSurvivesEncodingAndDecoding) {
  const auto seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Bytes payload = test::from_hex("000102030405060708090a0b0c0d0e0f");
  for (const Opcode opcode : kOpcodes) {
    SCOPED_TRACE(name(opcode));
    ASSERT_TRUE(traits(opcode).known);
    const std::size_t most = traits(opcode).payload ? payload.size() : 0;
    for (std::size_t size = 0; size <= most; ++size) {
      Packet packet = filled(opcode, random);
      packet.payload = std::span(payload).first(size);
      packet.bth.pad_count = static_cast<std::uint8_t>(-size & 3);
      const Bytes bytes = encoded(packet);
      const auto decoded = decode_packet(bytes);
      ASSERT_TRUE(decoded) << name(decoded.error());
      expect_equal(*decoded, packet);
    }
  }
}

TEST(Roce, OpcodesOutsideTheTableAreRefused) {
  Bytes bytes(64);
  unsigned known = 0;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    bytes[0] = static_cast<std::byte>(opcode);
    const auto decoded = decode_packet(bytes);
    known += traits(static_cast<Opcode>(opcode)).known ? 1 : 0;
    if (!traits(static_cast<Opcode>(opcode)).known) {
      ASSERT_FALSE(decoded) << opcode;
      EXPECT_EQ(decoded.error(), PacketError::kUnknownOpcode);
      EXPECT_EQ(encode_headers({.bth = {.opcode = static_cast<Opcode>(opcode)}}, bytes), 0U);
    }
  }
  EXPECT_EQ(known, std::size(kOpcodes));
}

TEST(Roce, TruncatedIsRefusedOrHasLessPayload) {
  std::mt19937_64 random(1);
  const Bytes payload(8, std::byte{7});
  for (const Opcode opcode : kOpcodes) {
    Packet packet = filled(opcode, random);
    if (traits(opcode).payload) packet.payload = payload;
    const std::size_t least = headers_bytes(opcode) + kIcrcBytes;
    test::for_every_truncation(encoded(packet), [&](std::span<const std::byte> bytes) {
      const auto decoded = decode_packet(bytes);
      EXPECT_EQ(static_cast<bool>(decoded), bytes.size() >= least && (bytes.size() - least) % 4 == 0) << name(opcode) << " " << bytes.size();
      if (bytes.size() < least) {
        EXPECT_EQ(decoded.error(), PacketError::kTooShort);
      }
    });
  }
}

// Reserved bits are sent as zero and ignored on receipt: BTH bytes 4 and 8, the fifth byte of a DETH.
void clear_reserved(Bytes& bytes) {
  bytes[4] &= std::byte{0xc0};
  bytes[8] &= std::byte{0x80};
  if (static_cast<Opcode>(bytes[0]) == Opcode::kUdSendOnly) bytes[16] = std::byte{0};
}

TEST(Roce, CorruptedIsRefusedOrMeansExactlyWhatItSays) {
  std::mt19937_64 random(1);
  const Bytes payload(8);
  for (const Opcode opcode : kOpcodes) {
    Packet packet = filled(opcode, random);
    if (traits(opcode).payload) packet.payload = payload;
    test::for_every_corruption(encoded(packet), [&](std::span<const std::byte> bytes, std::size_t at) {
      const auto decoded = decode_packet(bytes);
      if (!decoded) return;
      Bytes expected(bytes.begin(), bytes.end());
      clear_reserved(expected);
      EXPECT_EQ(test::to_hex(encoded(*decoded)), test::to_hex(expected)) << name(opcode) << " byte " << at;
    });
  }
}

struct Refusal {
  const char* what;
  const char* hex;
  PacketError error;
};

TEST(Roce, IsRefusedForTheReasonThatItGives) {
  constexpr Refusal kRefusals[] = {
      {"nothing", "", PacketError::kTooShort},
      {"a BTH without ICRC", "0440ffff0000001100000001", PacketError::kTooShort},
      {"transport version 1", "0441ffff000000110000000100000000", PacketError::kBadVersion},
      {"UC", "2440ffff000000110000000100000000", PacketError::kUnknownOpcode},
      {"a payload of three bytes without pad", "0440ffff0000001100000001aaaaaa00000000", PacketError::kBadPad},
      {"more pad than payload", "0450ffff000000110000000100000000", PacketError::kBadPad},
      {"an ACK with a payload", "1140ffff00000011000000011f000001aaaaaaaa00000000", PacketError::kUnexpectedPayload},
      {"an ACK with a pad", "1150ffff00000011000000011f00000100000000", PacketError::kBadPad},
  };
  for (const Refusal& refusal : kRefusals) {
    const Bytes bytes = test::from_hex(refusal.hex);
    const auto decoded = decode_packet(bytes);
    ASSERT_FALSE(decoded) << refusal.what;
    EXPECT_EQ(decoded.error(), refusal.error) << refusal.what << ": " << name(decoded.error());
  }
}

TEST(Roce, HeadersAreNotWrittenWhereTheyDoNotFit) {
  Bytes room(kBthBytes + kRethBytes - 1, std::byte{0xee});
  EXPECT_EQ(encode_headers({.bth = {.opcode = Opcode::kWriteOnly}}, room), 0U);
  EXPECT_EQ(room, Bytes(room.size(), std::byte{0xee}));
}

TEST(Syndrome, ClassesAreDisjoint) {
  for (unsigned syndrome = 0; syndrome < 256; ++syndrome) {
    const auto s = static_cast<std::uint8_t>(syndrome);
    const int classes = (is_ack(s) ? 1 : 0) + (is_rnr_nak(s) ? 1 : 0) + (is_nak(s) ? 1 : 0);
    EXPECT_EQ(classes, syndrome < 0x40 || (syndrome >= 0x60 && syndrome < 0x80) ? 1 : 0) << syndrome;
  }
  EXPECT_TRUE(is_ack(kSyndromeAck));
  EXPECT_TRUE(is_nak(kSyndromeNakSequence));
}

TEST(Psn, DistanceAndSumWrapAt24Bits) {
  EXPECT_EQ(psn_distance(1, 0xffffff), 2);
  EXPECT_EQ(psn_distance(0xffffff, 1), -2);
  EXPECT_EQ(psn_distance(0x800000, 0), -0x800000);
  EXPECT_EQ(psn_add(0xfffffe, 3), 1U);
}

}  // namespace
}  // namespace ina::wire
