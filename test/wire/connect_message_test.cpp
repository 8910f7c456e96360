// connect_message_test.cpp: messages of connections in band.
#include "wire/connect_message.hpp"

#include <gtest/gtest.h>

#include "test/support/pcap.hpp"
#include "test/wire/corruption.hpp"

namespace ina::wire {
namespace {

constexpr ConnectMessage kMessages[] = {
    {.kind = ConnectKind::kConnect, .mtu = 1440, .nonce = 0x1122334455667788, .instance = 0x99aabbccdd, .qpn = 0x1011, .first_psn = 0xfffffe},
    {.kind = ConnectKind::kAccept, .mtu = 4096, .nonce = 0x1122334455667788, .qpn = 0xffffff, .peer_qpn = 0x1011, .first_psn = 0},
    {.kind = ConnectKind::kReject, .reason = ConnectRefusal::kNotHere, .nonce = 1, .peer_qpn = 0x1011},
    {.kind = ConnectKind::kReject, .reason = ConnectRefusal::kUnknownVersion, .nonce = 1},
    {.kind = ConnectKind::kClose, .nonce = 2, .qpn = 0x1011, .peer_qpn = 0x2022},
    {.kind = ConnectKind::kClose, .nonce = 2, .qpn = 0x1011},
    {.kind = ConnectKind::kClosed, .nonce = 2, .qpn = 0x2022, .peer_qpn = 0x1011},
    {.kind = ConnectKind::kInquire, .nonce = 3, .qpn = 0x1011, .peer_qpn = 0x2022},
    {.kind = ConnectKind::kReset, .nonce = ~0ULL, .qpn = 0x2022, .peer_qpn = 0x1011},
};

TEST(ConnectMessage, IsEncodedAtTheOffsetsOfTheProtocol) {
  EXPECT_EQ(test::to_hex(encode_connect_message(kMessages[0])),
            "494e0120" "000005a0" "1122334455667788" "00000099aabbccdd" "00001011" "00000000" "00fffffe" "00000000");
  EXPECT_EQ(test::to_hex(encode_connect_message(kMessages[2])),
            "494e0122" "00020000" "0000000000000001" "0000000000000000" "00000000" "00001011" "00000000" "00000000");
}

TEST(ConnectMessage, SurvivesEncodingAndDecoding) {
  for (const ConnectMessage& message : kMessages) {
    const auto decoded = decode_connect_message(encode_connect_message(message));
    ASSERT_TRUE(decoded) << name(message.kind) << ": " << name(decoded.error());
    EXPECT_EQ(*decoded, message);
  }
}

TEST(ConnectMessage, TruncatedIsRefused) {
  test::for_every_truncation(encode_connect_message(kMessages[0]), [](std::span<const std::byte> bytes) {
    ASSERT_FALSE(decode_connect_message(bytes));
    EXPECT_EQ(decode_connect_message(bytes).error(), HeaderError::kTooShort);
  });
}

TEST(ConnectMessage, CorruptedIsRefusedOrMeansExactlyWhatItSays) {
  for (const ConnectMessage& message : kMessages) {
    test::for_every_corruption(encode_connect_message(message), [](std::span<const std::byte> bytes, std::size_t at) {
      const auto decoded = decode_connect_message(bytes);
      if (!decoded) return;
      EXPECT_EQ(test::to_hex(encode_connect_message(*decoded)), test::to_hex(bytes)) << "byte " << at;
    });
  }
}

TEST(ConnectMessage, OfAnotherVersionSaysSoWhateverFollows) {
  auto bytes = encode_connect_message(kMessages[0]);
  bytes[2] = std::byte{9};
  bytes[3] = std::byte{77};
  ASSERT_FALSE(decode_connect_message(bytes));
  EXPECT_EQ(decode_connect_message(bytes).error(), HeaderError::kBadVersion);
}

TEST(ConnectMessage, WithAFieldThatItsKindHasNotIsRefused) {
  const ConnectMessage wrong[] = {
      {.kind = ConnectKind::kConnect, .mtu = 1440, .nonce = 1, .instance = 0, .qpn = 0x1011, .first_psn = 1},
      {.kind = ConnectKind::kConnect, .mtu = 1440, .nonce = 1, .instance = 1, .qpn = 0, .first_psn = 1},
      {.kind = ConnectKind::kConnect, .mtu = 0, .nonce = 1, .instance = 1, .qpn = 0x1011, .first_psn = 1},
      {.kind = ConnectKind::kConnect, .mtu = 1440, .nonce = 1, .instance = 1, .qpn = 0x1011, .peer_qpn = 5, .first_psn = 1},
      {.kind = ConnectKind::kConnect, .mtu = 1440, .nonce = 1, .instance = 1, .qpn = 0x1011, .first_psn = 0x1000000},
      {.kind = ConnectKind::kConnect, .mtu = 1440, .nonce = 1, .instance = 1, .qpn = 0x1000000, .first_psn = 1},
      {.kind = ConnectKind::kAccept, .reason = ConnectRefusal::kNoQp, .mtu = 1440, .nonce = 1, .qpn = 0x1011, .peer_qpn = 5},
      {.kind = ConnectKind::kAccept, .mtu = 1440, .nonce = 1, .instance = 7, .qpn = 0x1011, .peer_qpn = 5},
      {.kind = ConnectKind::kReject, .nonce = 1},
      {.kind = ConnectKind::kReject, .reason = static_cast<ConnectRefusal>(5), .nonce = 1},
      {.kind = ConnectKind::kReject, .reason = ConnectRefusal::kNoQp, .nonce = 1, .qpn = 0x1011},
      {.kind = ConnectKind::kClose, .mtu = 1440, .nonce = 1, .qpn = 0x1011},
      {.kind = ConnectKind::kReset, .nonce = 1, .peer_qpn = 0x1011, .first_psn = 4},
  };
  for (const ConnectMessage& message : wrong) {
    const auto decoded = decode_connect_message(encode_connect_message(message));
    ASSERT_FALSE(decoded) << name(message.kind) << " " << &message - wrong;
    EXPECT_EQ(decoded.error(), HeaderError::kBadField);
  }
  auto reserved = encode_connect_message(kMessages[0]);
  reserved[39] = std::byte{1};
  EXPECT_FALSE(decode_connect_message(reserved));
}

TEST(ConnectMessage, KindsAndReasonsHaveNames) {
  for (const ConnectMessage& message : kMessages) EXPECT_STRNE(name(message.kind), "unknown");
  EXPECT_STREQ(name(static_cast<ConnectKind>(31)), "unknown");
  for (unsigned reason = 1; reason <= 4; ++reason) EXPECT_STRNE(describe(static_cast<ConnectRefusal>(reason)), describe(ConnectRefusal::kNone));
}

}  // namespace
}  // namespace ina::wire
