// relay_message_test.cpp: register messages and their answers.
#include "wire/relay_message.hpp"

#include <gtest/gtest.h>

#include "test/support/pcap.hpp"
#include "test/wire/corruption.hpp"

namespace ina::wire {
namespace {

constexpr RelayMessage kMessages[] = {
    {.kind = RelayKind::kRegister, .block = 0, .nonce = 0x1122334455667788},
    {.kind = RelayKind::kRegister, .block = kLastQpnBlock, .nonce = 1, .instance = 2},
    {.kind = RelayKind::kRegistered, .block = 7, .nonce = 0x1122334455667788, .instance = 0x99aabbccddeeff00},
    {.kind = RelayKind::kUnregister, .block = 7, .nonce = ~0ULL, .instance = ~0ULL},
    {.kind = RelayKind::kRefused, .block = 7, .reason = RelayRefusal::kTaken, .nonce = 3, .instance = 4},
    {.kind = RelayKind::kRefused, .reason = RelayRefusal::kUnknownVersion, .nonce = 3, .instance = 4},
};

TEST(RelayMessage, IsEncodedAtTheOffsetsOfTheProtocol) {
  EXPECT_EQ(test::to_hex(encode_relay_message(kMessages[2])), "494e0111" "00070000" "1122334455667788" "99aabbccddeeff00");
}

TEST(RelayMessage, SurvivesEncodingAndDecoding) {
  for (const RelayMessage& message : kMessages) {
    const auto decoded = decode_relay_message(encode_relay_message(message));
    ASSERT_TRUE(decoded) << name(decoded.error());
    EXPECT_EQ(*decoded, message);
  }
}

TEST(RelayMessage, TruncatedIsRefused) {
  test::for_every_truncation(encode_relay_message(kMessages[0]), [](std::span<const std::byte> bytes) {
    ASSERT_FALSE(decode_relay_message(bytes));
    EXPECT_EQ(decode_relay_message(bytes).error(), HeaderError::kTooShort);
  });
}

TEST(RelayMessage, CorruptedIsRefusedOrMeansExactlyWhatItSays) {
  for (const RelayMessage& message : kMessages) {
    test::for_every_corruption(encode_relay_message(message), [](std::span<const std::byte> bytes, std::size_t at) {
      const auto decoded = decode_relay_message(bytes);
      if (!decoded) return;
      EXPECT_EQ(test::to_hex(encode_relay_message(*decoded)), test::to_hex(bytes)) << "byte " << at;
    });
  }
}

TEST(RelayMessage, OfAnotherVersionSaysSoWhateverFollows) {
  auto bytes = encode_relay_message(kMessages[0]);
  bytes[2] = std::byte{9};
  bytes[3] = std::byte{77};
  ASSERT_FALSE(decode_relay_message(bytes));
  EXPECT_EQ(decode_relay_message(bytes).error(), HeaderError::kBadVersion);
}

TEST(RelayMessage, WithAReasonThatItsKindCannotHaveIsRefused) {
  RelayMessage refused_for_nothing{.kind = RelayKind::kRefused};
  RelayMessage registered_with_reason{.kind = RelayKind::kRegistered, .reason = RelayRefusal::kTaken};
  RelayMessage block_too_high{.kind = RelayKind::kRegister, .block = kLastQpnBlock + 1};
  for (const RelayMessage& message : {refused_for_nothing, registered_with_reason, block_too_high}) {
    const auto decoded = decode_relay_message(encode_relay_message(message));
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error(), HeaderError::kBadField);
  }
}

}  // namespace
}  // namespace ina::wire
