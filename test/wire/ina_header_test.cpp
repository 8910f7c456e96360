// ina_header_test.cpp: the INA header, payloads and bind messages: values, truncations, corruptions.
#include "wire/ina_header.hpp"

#include <gtest/gtest.h>

#include "test/support/pcap.hpp"
#include "test/wire/corruption.hpp"
#include "wire/limits.hpp"

namespace ina::wire {
namespace {

using Bytes = std::vector<std::byte>;

constexpr Header kData{.kind = Kind::kData,
                       .op = Op::kSum,
                       .lane_type = LaneType::kInt32,
                       .contributions = 1,
                       .group = 17,
                       .epoch = 0x12345678,
                       .seq = 0xfffffe05,
                       .member = 2,
                       .length = 16};

constexpr Bind kForwardBind{.group = 17,
                            .epoch = 0x12345678,
                            .connection = 2,
                            .direction = Direction::kForward,
                            .members = 4,
                            .window = 64,
                            .first_seq = 0xfffffe00,
                            .place_bytes = 1024,
                            .mailbox = 0x7f0000020000};

Bytes encoded(const Header& header) {
  Bytes payload(kFramingBytes + header.length);
  encode_header(header, std::span(payload).first<kHeaderBytes>());
  for (std::size_t i = 0; i < header.length; ++i) payload[kHeaderBytes + i] = static_cast<std::byte>(i);
  encode_trailer(header.seq, std::span(payload).last<kTrailerBytes>());
  return payload;
}

TEST(Header, IsEncodedAtTheOffsetsOfTheProtocol) {
  EXPECT_EQ(test::to_hex(encoded(kData)), "494e0102" "01030001" "00000011" "12345678" "fffffe05" "00020010"
                                          "000102030405060708090a0b0c0d0e0f" "fffffe05");
}

TEST(Header, SurvivesEncodingAndDecodingForEveryKindOpAndLaneType) {
  for (unsigned kind = 2; kind <= 6; ++kind) {
    for (unsigned op = 1; op <= 6; ++op) {
      for (unsigned type = 1; type <= 10; ++type) {
        Header header = kData;
        header.kind = static_cast<Kind>(kind);
        header.op = static_cast<Op>(op);
        header.lane_type = static_cast<LaneType>(type);
        const auto decoded = decode_payload(encoded(header));
        const bool exists = op <= 3 || type <= 8;
        ASSERT_EQ(static_cast<bool>(decoded), exists) << name(header.op) << " " << name(header.lane_type);
        if (exists) {
          EXPECT_EQ(*decoded, header);
        } else {
          EXPECT_EQ(decoded.error(), HeaderError::kBadOp);
        }
      }
    }
  }
}

TEST(Header, TruncatedIsRefused) {
  test::for_every_truncation(encoded(kData), [](std::span<const std::byte> bytes) {
    EXPECT_FALSE(decode_payload(bytes)) << bytes.size();
    EXPECT_EQ(static_cast<bool>(decode_header(bytes)), bytes.size() >= kHeaderBytes) << bytes.size();
    EXPECT_FALSE(decode_bind(bytes)) << bytes.size();
  });
}

TEST(Header, WithBytesBehindItIsRefusedAsAPayload) {
  Bytes longer = encoded(kData);
  longer.resize(longer.size() + 8);
  ASSERT_FALSE(decode_payload(longer));
  EXPECT_EQ(decode_payload(longer).error(), HeaderError::kBadLength);
}

TEST(Header, CorruptedIsRefusedOrMeansExactlyWhatItSays) {
  test::for_every_corruption(encoded(kData), [](std::span<const std::byte> bytes, std::size_t at) {
    const auto decoded = decode_payload(bytes);
    if (!decoded) return;
    Bytes again = encoded(*decoded);
    std::copy_n(bytes.begin() + kHeaderBytes, decoded->length, again.begin() + kHeaderBytes);
    EXPECT_EQ(test::to_hex(again), test::to_hex(bytes)) << "byte " << at;
  });
}

struct Refusal {
  const char* what;
  std::size_t at;
  unsigned value;
  HeaderError error;
};

TEST(Header, IsRefusedForTheReasonThatItGives) {
  constexpr Refusal kRefusals[] = {
      {"another magic", 0, 0x48, HeaderError::kBadMagic},       {"a newer version", 2, 2, HeaderError::kBadVersion},
      {"version 0", 2, 0, HeaderError::kBadVersion},            {"kind 0", 3, 0, HeaderError::kBadKind},
      {"a relay message", 3, 16, HeaderError::kBadKind},        {"kind 7", 3, 7, HeaderError::kBadKind},
      {"data without op", 4, 0, HeaderError::kBadOp},           {"op 7", 4, 7, HeaderError::kBadOp},
      {"data without type", 5, 0, HeaderError::kBadLaneType},   {"lane type 11", 5, 11, HeaderError::kBadLaneType},
      {"a bind with an op", 3, 1, HeaderError::kBadOp},         {"another length", 23, 8, HeaderError::kBadLength},
      {"an odd length", 23, 15, HeaderError::kBadLength},       {"another seq in front", 19, 6, HeaderError::kBadTrailer},
      {"another trailer", 43, 6, HeaderError::kBadTrailer},
  };
  for (const Refusal& refusal : kRefusals) {
    Bytes bytes = encoded(kData);
    bytes[refusal.at] = static_cast<std::byte>(refusal.value);
    const auto decoded = decode_payload(bytes);
    ASSERT_FALSE(decoded) << refusal.what;
    EXPECT_EQ(decoded.error(), refusal.error) << refusal.what << ": " << name(decoded.error());
  }
}

TEST(Header, LengthIsAMultipleOfEightFromEightOn) {
  for (std::uint16_t length = 0; length <= kMaxPayload - kFramingBytes; ++length) {
    Header header = kData;
    header.length = length;
    EXPECT_EQ(static_cast<bool>(decode_payload(encoded(header))), length >= 8 && length % 8 == 0) << length;
  }
}

TEST(Bind, IsEncodedAtTheOffsetsOfTheProtocol) {
  EXPECT_EQ(test::to_hex(encode_bind(kForwardBind)), "494e0101" "00000000" "00000011" "12345678" "fffffd80" "00020018"
                                                     "01000004" "00000040" "fffffe00" "00000400" "00007f0000020000" "fffffd80");
}

TEST(Bind, SurvivesEncodingAndDecodingAtTheWrap) {
  for (const std::uint32_t first_seq : {0U, 64U, 128U, 0x80000000U, 0xffffff80U}) {
    Bind bind = kForwardBind;
    bind.first_seq = first_seq;
    bind.direction = Direction::kBackward;
    bind.mailbox = 0;
    const auto decoded = decode_bind(encode_bind(bind));
    ASSERT_TRUE(decoded) << first_seq;
    EXPECT_EQ(*decoded, bind);
  }
}

TEST(Bind, TruncatedIsRefused) {
  test::for_every_truncation(encode_bind(kForwardBind), [](std::span<const std::byte> bytes) { EXPECT_FALSE(decode_bind(bytes)) << bytes.size(); });
}

TEST(Bind, CorruptedIsRefusedOrMeansExactlyWhatItSays) {
  test::for_every_corruption(encode_bind(kForwardBind), [](std::span<const std::byte> bytes, std::size_t at) {
    const auto decoded = decode_bind(bytes);
    if (!decoded) return;
    EXPECT_EQ(test::to_hex(encode_bind(*decoded)), test::to_hex(bytes)) << "byte " << at;
  });
}

TEST(Bind, IsNotReadFromAPacketOfAnotherKind) {
  Header header = kData;
  header.length = kBindBodyBytes;
  const auto decoded = decode_bind(encoded(header));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error(), HeaderError::kBadKind);
}

TEST(Seq, DistanceIsSignedAndWraps) {
  EXPECT_EQ(seq_distance(5, 3), 2);
  EXPECT_EQ(seq_distance(3, 5), -2);
  EXPECT_EQ(seq_distance(1, 0xffffffff), 2);
  EXPECT_EQ(seq_distance(0xffffffff, 1), -2);
}

TEST(Names, OfUnknownValuesAreUnknown) {
  EXPECT_STREQ(name(static_cast<Kind>(99)), "unknown");
  EXPECT_STREQ(name(static_cast<Op>(99)), "unknown");
  EXPECT_STREQ(name(static_cast<LaneType>(99)), "unknown");
  EXPECT_STREQ(name(static_cast<HeaderError>(99)), "unknown");
  EXPECT_EQ(lane_bytes(static_cast<LaneType>(99)), 0U);
  EXPECT_STREQ(name(LaneType::kFloat64), "float64");
}

}  // namespace
}  // namespace ina::wire
