// relay_message.hpp: messages between an interface and the relay (PROTOCOL.md 5).
// Used by the transport and by the software switch.
// Covers the 24 bytes of payload only; carrier headers are roce.hpp's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.hpp"
#include "wire/ina_header.hpp"

namespace ina::wire {

inline constexpr std::uint32_t kRelayQpn = 2;
inline constexpr std::uint32_t kRelayQueueKey = 0x494e4101;
inline constexpr std::size_t kRelayMessageBytes = 24;
inline constexpr std::uint32_t kQpnBlockBits = 12;  // a block has 4096 QPNs
inline constexpr std::uint16_t kFirstQpnBlock = 1;
inline constexpr std::uint16_t kLastQpnBlock = 4095;

enum class RelayKind : std::uint8_t { kRegister = 16, kRegistered = 17, kUnregister = 18, kRefused = 19 };
enum class RelayRefusal : std::uint16_t { kNone = 0, kNoBlock = 1, kTaken = 2, kUnknownVersion = 3 };

struct RelayMessage {
  RelayKind kind;
  std::uint16_t block = 0;
  RelayRefusal reason = RelayRefusal::kNone;
  std::uint64_t nonce = 0;
  std::uint64_t instance = 0;
  bool operator==(const RelayMessage&) const = default;
};

[[nodiscard]] std::array<std::byte, kRelayMessageBytes> encode_relay_message(const RelayMessage&) noexcept;
[[nodiscard]] Result<RelayMessage, HeaderError> decode_relay_message(std::span<const std::byte>) noexcept;

}  // namespace ina::wire
