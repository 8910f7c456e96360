// ina_header.hpp: the INA header, the trailer and the body of a bind packet (PROTOCOL.md 1 and 3).
// Used by the engine of the component and by every switch.
// Knows nothing of the RoCE headers before it nor of what the lanes mean.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/bytes.hpp"

namespace ina::wire {

inline constexpr std::uint16_t kMagic = 0x494e;
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::size_t kTrailerBytes = 4;
inline constexpr std::size_t kFramingBytes = kHeaderBytes + kTrailerBytes;  // payload minus lanes
inline constexpr std::size_t kLengthMultiple = 8;  // lanes are padded to this
inline constexpr std::size_t kBindBodyBytes = 24;
inline constexpr std::size_t kBindPayloadBytes = kFramingBytes + kBindBodyBytes;

enum class Kind : std::uint8_t { kBind = 1, kData = 2, kScale = 3, kPartial = 4, kResult = 5, kRevoked = 6 };
enum class Op : std::uint8_t { kNone = 0, kSum = 1, kMin = 2, kMax = 3, kAnd = 4, kOr = 5, kXor = 6 };
enum class LaneType : std::uint8_t {
  kNone = 0,
  kInt8 = 1, kInt16 = 2, kInt32 = 3, kInt64 = 4,
  kUint8 = 5, kUint16 = 6, kUint32 = 7, kUint64 = 8,
  kFloat32 = 9, kFloat64 = 10,
};

[[nodiscard]] std::size_t lane_bytes(LaneType) noexcept;  // 0 for kNone and unknown values
[[nodiscard]] const char* name(Kind) noexcept;            // "data", ...; "unknown"
[[nodiscard]] const char* name(Op) noexcept;
[[nodiscard]] const char* name(LaneType) noexcept;

struct Header {
  Kind kind;
  Op op;
  LaneType lane_type;
  std::uint16_t contributions;
  std::uint32_t group;
  std::uint32_t epoch;
  std::uint32_t seq;
  std::uint16_t member;
  std::uint16_t length;  // bytes of lanes
  bool operator==(const Header&) const = default;
};

enum class HeaderError : std::uint8_t { kTooShort, kBadMagic, kBadVersion, kBadKind, kBadOp, kBadLaneType, kBadLength, kBadTrailer, kBadField };
[[nodiscard]] const char* name(HeaderError) noexcept;

// Decodes the 24 bytes of a header alone: magic, version, kind, op, lane type and their combination are checked, nothing behind them.
[[nodiscard]] Result<Header, HeaderError> decode_header(std::span<const std::byte> payload) noexcept;
// Decodes a whole payload: header, length = payload size - 28 and a multiple of 8, trailer = seq.
[[nodiscard]] Result<Header, HeaderError> decode_payload(std::span<const std::byte> payload) noexcept;
void encode_header(const Header&, std::span<std::byte, kHeaderBytes> to) noexcept;
void encode_trailer(std::uint32_t seq, std::span<std::byte, kTrailerBytes> to) noexcept;
[[nodiscard]] std::uint32_t decode_trailer(std::span<const std::byte, kTrailerBytes>) noexcept;

enum class Direction : std::uint8_t { kForward = 1, kBackward = 2 };

struct Bind {
  std::uint32_t group;
  std::uint32_t epoch;
  std::uint16_t connection;
  Direction direction;
  std::uint16_t members;
  std::uint32_t window;
  std::uint32_t first_seq;
  std::uint32_t place_bytes;
  std::uint64_t mailbox;
  bool operator==(const Bind&) const = default;
};

// A whole bind payload: header, body, trailer.
[[nodiscard]] std::array<std::byte, kBindPayloadBytes> encode_bind(const Bind&) noexcept;
// Refuses a payload of another kind (kBadKind), size, reserved byte or direction (kBadLength), and a seq or a number of
// contributions that a bind cannot have (kBadField).
[[nodiscard]] Result<Bind, HeaderError> decode_bind(std::span<const std::byte> payload) noexcept;

// Serial arithmetic on seq (RFC 1982 with 32 bits): the signed distance from b to a.
[[nodiscard]] constexpr std::int32_t seq_distance(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>(a - b);
}

}  // namespace ina::wire
