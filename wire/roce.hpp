// roce.hpp: RoCEv2 packets from the BTH on: headers of every RC opcode (and the UD SEND ONLY of relay messages), encode and decode.
// Used by the engine of the transport and by every switch.
// Does not compute the ICRC (icrc.hpp) and knows nothing of IP (frame.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.hpp"

namespace ina::wire {

inline constexpr std::uint16_t kRocePort = 4791;
inline constexpr std::size_t kBthBytes = 12;
inline constexpr std::size_t kBthTopByteOfQpn = 5;  // where in the BTH the most significant byte of the destination QP is
inline constexpr std::size_t kRethBytes = 16;
inline constexpr std::size_t kAethBytes = 4;
inline constexpr std::size_t kDethBytes = 8;
inline constexpr std::size_t kImmediateBytes = 4;
inline constexpr std::size_t kIcrcBytes = 4;
inline constexpr std::uint32_t kPsnMask = 0xffffff;
inline constexpr std::uint32_t kQpnMask = 0xffffff;

enum class Opcode : std::uint8_t {
  kSendFirst = 0x00, kSendMiddle, kSendLast, kSendLastImmediate, kSendOnly, kSendOnlyImmediate,
  kWriteFirst = 0x06, kWriteMiddle, kWriteLast, kWriteLastImmediate, kWriteOnly = 0x0a, kWriteOnlyImmediate,
  kReadRequest = 0x0c, kReadResponseFirst, kReadResponseMiddle, kReadResponseLast, kReadResponseOnly = 0x10,
  kAcknowledge = 0x11, kAtomicAcknowledge = 0x12, kCompareSwap = 0x13, kFetchAdd = 0x14,
  kSendLastInvalidate = 0x16, kSendOnlyInvalidate = 0x17,
  kUdSendOnly = 0x64,
  kCnp = 0x81,
};

struct Bth {
  Opcode opcode;
  bool solicited = false;
  bool migration = true;
  std::uint8_t pad_count = 0;
  std::uint16_t partition_key = 0xffff;
  bool fecn = false;
  bool becn = false;
  std::uint32_t dest_qpn = 0;
  bool ack_request = false;
  std::uint32_t psn = 0;
  bool operator==(const Bth&) const = default;
};
struct Reth { std::uint64_t address = 0; std::uint32_t rkey = 0; std::uint32_t dma_length = 0; bool operator==(const Reth&) const = default; };
struct Aeth { std::uint8_t syndrome = 0; std::uint32_t msn = 0; bool operator==(const Aeth&) const = default; };
struct AtomicEth { std::uint64_t address = 0; std::uint32_t rkey = 0; std::uint64_t swap_or_add = 0; std::uint64_t compare = 0; bool operator==(const AtomicEth&) const = default; };
struct Deth { std::uint32_t queue_key = 0; std::uint32_t source_qpn = 0; bool operator==(const Deth&) const = default; };

// Syndromes (InfiniBand Architecture Specification, volume 1, 9.7.5.2).
inline constexpr std::uint8_t kSyndromeAck = 0x1f;  // ACK, credits not valid
inline constexpr std::uint8_t kSyndromeNakSequence = 0x60;
inline constexpr std::uint8_t kSyndromeNakInvalidRequest = 0x61;
inline constexpr std::uint8_t kSyndromeNakRemoteAccess = 0x62;
inline constexpr std::uint8_t kSyndromeNakOperational = 0x63;
[[nodiscard]] constexpr bool is_ack(std::uint8_t syndrome) noexcept { return (syndrome & 0xe0) == 0x00; }
[[nodiscard]] constexpr bool is_rnr_nak(std::uint8_t syndrome) noexcept { return (syndrome & 0xe0) == 0x20; }
[[nodiscard]] constexpr bool is_nak(std::uint8_t syndrome) noexcept { return (syndrome & 0xe0) == 0x60; }

// Which extended headers an opcode carries. kUnknown opcodes are refused by decode.
struct OpcodeTraits {
  bool known = false;
  bool reth = false, aeth = false, immediate = false, atomic_eth = false, atomic_aeth = false, ieth = false, deth = false;
  bool payload = false;  // may carry payload
};
[[nodiscard]] OpcodeTraits traits(Opcode) noexcept;
[[nodiscard]] const char* name(Opcode) noexcept;
// Bytes of BTH and extended headers of this opcode.
[[nodiscard]] std::size_t headers_bytes(Opcode) noexcept;

// A decoded packet; payload (without pad) refers to the bytes that were decoded. Members that the opcode has not are default.
struct Packet {
  Bth bth;
  Reth reth;
  Aeth aeth;
  AtomicEth atomic_eth;
  Deth deth;
  std::uint64_t atomic_original = 0;
  std::uint32_t immediate = 0;
  std::uint32_t invalidate_rkey = 0;
  std::span<const std::byte> payload;
  std::uint32_t icrc = 0;  // as on the wire, read least significant byte first: what icrc() returns
};

enum class PacketError : std::uint8_t { kTooShort, kUnknownOpcode, kBadVersion, kBadPad, kUnexpectedPayload };
[[nodiscard]] const char* name(PacketError) noexcept;

// bytes: from the BTH to the ICRC inclusive (a UDP payload). Checks sizes, opcode, TVer and pad, not the ICRC.
[[nodiscard]] Result<Packet, PacketError> decode_packet(std::span<const std::byte> bytes) noexcept;

// The BTH alone, of kBthBytes bytes. For whoever must know more of an opcode that decode_packet does not.
[[nodiscard]] Bth decode_bth(const std::byte* from) noexcept;

// Writes BTH and extended headers of packet.bth.opcode to `to` (headers_bytes() bytes must fit) and returns their size. Neither payload,
// pad nor ICRC are written. pad_count is taken as given.
std::size_t encode_headers(const Packet& packet, std::span<std::byte> to) noexcept;

// Serial comparison of PSNs: the signed distance from b to a, in [-2^23, 2^23).
[[nodiscard]] constexpr std::int32_t psn_distance(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>((a - b) << 8) >> 8;
}
[[nodiscard]] constexpr std::uint32_t psn_add(std::uint32_t psn, std::uint32_t n) noexcept { return (psn + n) & kPsnMask; }

}  // namespace ina::wire
