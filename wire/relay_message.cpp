// relay_message.cpp: the 24 bytes of PROTOCOL.md 5. A message has one form only: what decodes, encodes to the same bytes.
#include "wire/relay_message.hpp"

namespace ina::wire {

std::array<std::byte, kRelayMessageBytes> encode_relay_message(const RelayMessage& message) noexcept {
  std::array<std::byte, kRelayMessageBytes> to{};
  store_be(&to[0], kMagic);
  store_be(&to[2], kVersion);
  store_be(&to[3], static_cast<std::uint8_t>(message.kind));
  store_be(&to[4], message.block);
  store_be(&to[6], static_cast<std::uint16_t>(message.reason));
  store_be(&to[8], message.nonce);
  store_be(&to[16], message.instance);
  return to;
}

Result<RelayMessage, HeaderError> decode_relay_message(std::span<const std::byte> payload) noexcept {
  if (payload.size() < kRelayMessageBytes) return HeaderError::kTooShort;
  const std::byte* from = payload.data();
  if (load_be<std::uint16_t>(from) != kMagic) return HeaderError::kBadMagic;
  if (load_be<std::uint8_t>(from + 2) != kVersion) return HeaderError::kBadVersion;
  if (payload.size() != kRelayMessageBytes) return HeaderError::kBadLength;
  const auto kind = load_be<std::uint8_t>(from + 3);
  if (kind < static_cast<std::uint8_t>(RelayKind::kRegister) || kind > static_cast<std::uint8_t>(RelayKind::kRefused)) return HeaderError::kBadKind;
  const RelayMessage message{.kind = static_cast<RelayKind>(kind),
                             .block = load_be<std::uint16_t>(from + 4),
                             .reason = static_cast<RelayRefusal>(load_be<std::uint16_t>(from + 6)),
                             .nonce = load_be<std::uint64_t>(from + 8),
                             .instance = load_be<std::uint64_t>(from + 16)};
  const bool is_refused = message.kind == RelayKind::kRefused;
  if (message.block > kLastQpnBlock || message.reason > RelayRefusal::kUnknownVersion) return HeaderError::kBadField;
  if (is_refused != (message.reason != RelayRefusal::kNone)) return HeaderError::kBadField;
  return message;
}

}  // namespace ina::wire
