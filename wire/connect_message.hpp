// connect_message.hpp: messages by which two interfaces connect QPs, close them and ask after them (PROTOCOL.md 7).
// Used by the transport.
// Covers the 40 bytes of payload only; carrier headers are roce.hpp's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.hpp"
#include "wire/ina_header.hpp"

namespace ina::wire {

inline constexpr std::uint32_t kConnectQueueKey = 0x494e4102;
inline constexpr std::size_t kConnectMessageBytes = 40;
inline constexpr std::uint8_t kConnectVersion = 1;

enum class ConnectKind : std::uint8_t { kConnect = 32, kAccept = 33, kReject = 34, kClose = 35, kClosed = 36, kInquire = 37, kReset = 38 };
enum class ConnectRefusal : std::uint16_t { kNone = 0, kNoQp = 1, kNotHere = 2, kUnknownVersion = 3, kBadAddress = 4 };
[[nodiscard]] const char* name(ConnectKind) noexcept;  // "connect", ...; "unknown"
[[nodiscard]] const char* describe(ConnectRefusal) noexcept;

struct ConnectMessage {
  ConnectKind kind;
  ConnectRefusal reason = ConnectRefusal::kNone;  // reject
  std::uint16_t mtu = 0;                          // connect, accept: the sender's
  std::uint64_t nonce = 0;                        // names the connection; drawn by the side that connects
  std::uint64_t instance = 0;                     // connect: of the interface that is meant
  std::uint32_t qpn = 0;                          // the sender's QP; 0: it has none
  std::uint32_t peer_qpn = 0;                     // the receiver's QP; 0: not known
  std::uint32_t first_psn = 0;                    // connect, accept: the sender's
  bool operator==(const ConnectMessage&) const = default;
};

[[nodiscard]] std::array<std::byte, kConnectMessageBytes> encode_connect_message(const ConnectMessage&) noexcept;
// Refuses what no kind of message may hold; whether the numbers make sense to the receiver is not checked.
[[nodiscard]] Result<ConnectMessage, HeaderError> decode_connect_message(std::span<const std::byte>) noexcept;

}  // namespace ina::wire
