// connect_message.cpp: the 40 bytes of PROTOCOL.md 7. A message has one form only: what decodes, encodes to the same bytes.
#include "wire/connect_message.hpp"

#include "wire/roce.hpp"

namespace ina::wire {
namespace {

// Which fields a kind of message has; all others are zero.
struct Fields {
  bool address;   // qpn, first PSN and MTU of the sender
  bool qpn;       // of the sender alone, which may be 0 where `address` is not set
  bool peer_qpn;
  bool instance;
  bool reason;
};

constexpr Fields fields(ConnectKind kind) noexcept {
  switch (kind) {
    case ConnectKind::kConnect: return {.address = true, .qpn = true, .peer_qpn = false, .instance = true, .reason = false};
    case ConnectKind::kAccept: return {.address = true, .qpn = true, .peer_qpn = true, .instance = false, .reason = false};
    case ConnectKind::kReject: return {.address = false, .qpn = false, .peer_qpn = true, .instance = false, .reason = true};
    case ConnectKind::kClose:
    case ConnectKind::kClosed:
    case ConnectKind::kInquire:
    case ConnectKind::kReset: break;
  }
  return {.address = false, .qpn = true, .peer_qpn = true, .instance = false, .reason = false};
}

bool has_only_its_fields(const ConnectMessage& message) noexcept {
  const Fields has = fields(message.kind);
  if (message.qpn > kQpnMask || message.peer_qpn > kQpnMask || message.first_psn > kPsnMask) return false;
  if (has.address ? message.qpn == 0 || message.mtu == 0 : message.first_psn != 0 || message.mtu != 0) return false;
  if (message.kind == ConnectKind::kAccept && message.peer_qpn == 0) return false;
  if (!has.qpn && message.qpn != 0) return false;
  if (!has.peer_qpn && message.peer_qpn != 0) return false;
  if (has.instance != (message.instance != 0)) return false;
  return has.reason == (message.reason != ConnectRefusal::kNone) && message.reason <= ConnectRefusal::kBadAddress;
}

}  // namespace

const char* name(ConnectKind kind) noexcept {
  switch (kind) {
    case ConnectKind::kConnect: return "connect";
    case ConnectKind::kAccept: return "accept";
    case ConnectKind::kReject: return "reject";
    case ConnectKind::kClose: return "close";
    case ConnectKind::kClosed: return "closed";
    case ConnectKind::kInquire: return "inquire";
    case ConnectKind::kReset: return "reset";
  }
  return "unknown";
}

const char* describe(ConnectRefusal reason) noexcept {
  switch (reason) {
    case ConnectRefusal::kNoQp: return "it has no QP number left";
    case ConnectRefusal::kNotHere: return "the interface that is meant is not there any more";
    case ConnectRefusal::kUnknownVersion: return "it does not know our protocol version";
    case ConnectRefusal::kBadAddress: return "it cannot use our address";
    case ConnectRefusal::kNone: break;
  }
  return "for no known reason";
}

std::array<std::byte, kConnectMessageBytes> encode_connect_message(const ConnectMessage& message) noexcept {
  std::array<std::byte, kConnectMessageBytes> to{};
  store_be(&to[0], kMagic);
  store_be(&to[2], kConnectVersion);
  store_be(&to[3], static_cast<std::uint8_t>(message.kind));
  store_be(&to[4], static_cast<std::uint16_t>(message.reason));
  store_be(&to[6], message.mtu);
  store_be(&to[8], message.nonce);
  store_be(&to[16], message.instance);
  store_be(&to[24], message.qpn);
  store_be(&to[28], message.peer_qpn);
  store_be(&to[32], message.first_psn);
  return to;
}

Result<ConnectMessage, HeaderError> decode_connect_message(std::span<const std::byte> payload) noexcept {
  if (payload.size() < kConnectMessageBytes) return HeaderError::kTooShort;
  const std::byte* from = payload.data();
  if (load_be<std::uint16_t>(from) != kMagic) return HeaderError::kBadMagic;
  if (load_be<std::uint8_t>(from + 2) != kConnectVersion) return HeaderError::kBadVersion;
  if (payload.size() != kConnectMessageBytes) return HeaderError::kBadLength;
  const auto kind = load_be<std::uint8_t>(from + 3);
  if (kind < static_cast<std::uint8_t>(ConnectKind::kConnect) || kind > static_cast<std::uint8_t>(ConnectKind::kReset)) return HeaderError::kBadKind;
  const ConnectMessage message{.kind = static_cast<ConnectKind>(kind),
                               .reason = static_cast<ConnectRefusal>(load_be<std::uint16_t>(from + 4)),
                               .mtu = load_be<std::uint16_t>(from + 6),
                               .nonce = load_be<std::uint64_t>(from + 8),
                               .instance = load_be<std::uint64_t>(from + 16),
                               .qpn = load_be<std::uint32_t>(from + 24),
                               .peer_qpn = load_be<std::uint32_t>(from + 28),
                               .first_psn = load_be<std::uint32_t>(from + 32)};
  if (load_be<std::uint32_t>(from + 36) != 0 || !has_only_its_fields(message)) return HeaderError::kBadField;
  return message;
}

}  // namespace ina::wire
