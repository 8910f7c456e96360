// ina_header.cpp: the INA header, field by field, at the offsets of PROTOCOL.md 1 and 3.
#include "wire/ina_header.hpp"

namespace ina::wire {
namespace {

constexpr std::uint8_t kLastKind = static_cast<std::uint8_t>(Kind::kRevoked);
constexpr std::uint8_t kLastOp = static_cast<std::uint8_t>(Op::kXor);
constexpr std::uint8_t kLastLaneType = static_cast<std::uint8_t>(LaneType::kFloat64);

constexpr bool is_bitwise(Op op) noexcept { return op == Op::kAnd || op == Op::kOr || op == Op::kXor; }
constexpr bool is_float(LaneType type) noexcept { return type == LaneType::kFloat32 || type == LaneType::kFloat64; }

}  // namespace

std::size_t lane_bytes(LaneType type) noexcept {
  switch (type) {
    case LaneType::kNone: return 0;
    case LaneType::kInt8: case LaneType::kUint8: return 1;
    case LaneType::kInt16: case LaneType::kUint16: return 2;
    case LaneType::kInt32: case LaneType::kUint32: case LaneType::kFloat32: return 4;
    case LaneType::kInt64: case LaneType::kUint64: case LaneType::kFloat64: return 8;
  }
  return 0;
}

const char* name(Kind kind) noexcept {
  switch (kind) {
    case Kind::kBind: return "bind";
    case Kind::kData: return "data";
    case Kind::kScale: return "scale";
    case Kind::kPartial: return "partial";
    case Kind::kResult: return "result";
    case Kind::kRevoked: return "revoked";
  }
  return "unknown";
}

const char* name(Op op) noexcept {
  switch (op) {
    case Op::kNone: return "none";
    case Op::kSum: return "sum";
    case Op::kMin: return "min";
    case Op::kMax: return "max";
    case Op::kAnd: return "and";
    case Op::kOr: return "or";
    case Op::kXor: return "xor";
  }
  return "unknown";
}

const char* name(LaneType type) noexcept {
  switch (type) {
    case LaneType::kNone: return "none";
    case LaneType::kInt8: return "int8";
    case LaneType::kInt16: return "int16";
    case LaneType::kInt32: return "int32";
    case LaneType::kInt64: return "int64";
    case LaneType::kUint8: return "uint8";
    case LaneType::kUint16: return "uint16";
    case LaneType::kUint32: return "uint32";
    case LaneType::kUint64: return "uint64";
    case LaneType::kFloat32: return "float32";
    case LaneType::kFloat64: return "float64";
  }
  return "unknown";
}

const char* name(HeaderError error) noexcept {
  switch (error) {
    case HeaderError::kTooShort: return "too short";
    case HeaderError::kBadMagic: return "bad magic";
    case HeaderError::kBadVersion: return "bad version";
    case HeaderError::kBadKind: return "bad kind";
    case HeaderError::kBadOp: return "bad op";
    case HeaderError::kBadLaneType: return "bad lane type";
    case HeaderError::kBadLength: return "bad length";
    case HeaderError::kBadTrailer: return "bad trailer";
    case HeaderError::kBadField: return "bad field";
  }
  return "unknown";
}

Result<Header, HeaderError> decode_header(std::span<const std::byte> payload) noexcept {
  if (payload.size() < kHeaderBytes) return HeaderError::kTooShort;
  const std::byte* from = payload.data();
  if (load_be<std::uint16_t>(from) != kMagic) return HeaderError::kBadMagic;
  if (load_be<std::uint8_t>(from + 2) != kVersion) return HeaderError::kBadVersion;
  const auto kind = load_be<std::uint8_t>(from + 3);
  const auto op = load_be<std::uint8_t>(from + 4);
  const auto lane_type = load_be<std::uint8_t>(from + 5);
  if (kind == 0 || kind > kLastKind) return HeaderError::kBadKind;
  const bool is_bind = static_cast<Kind>(kind) == Kind::kBind;
  if (op > kLastOp || (op == 0) != is_bind) return HeaderError::kBadOp;
  if (lane_type > kLastLaneType || (lane_type == 0) != is_bind) return HeaderError::kBadLaneType;
  if (is_bitwise(static_cast<Op>(op)) && is_float(static_cast<LaneType>(lane_type))) return HeaderError::kBadOp;
  return Header{.kind = static_cast<Kind>(kind),
                .op = static_cast<Op>(op),
                .lane_type = static_cast<LaneType>(lane_type),
                .contributions = load_be<std::uint16_t>(from + 6),
                .group = load_be<std::uint32_t>(from + 8),
                .epoch = load_be<std::uint32_t>(from + 12),
                .seq = load_be<std::uint32_t>(from + 16),
                .member = load_be<std::uint16_t>(from + 20),
                .length = load_be<std::uint16_t>(from + 22)};
}

Result<Header, HeaderError> decode_payload(std::span<const std::byte> payload) noexcept {
  const auto header = decode_header(payload);
  if (!header) return header.error();
  if (payload.size() < kFramingBytes + kLengthMultiple) return HeaderError::kTooShort;
  if (header->length != payload.size() - kFramingBytes || header->length % kLengthMultiple != 0) return HeaderError::kBadLength;
  if (load_be<std::uint32_t>(&payload[kHeaderBytes + header->length]) != header->seq) return HeaderError::kBadTrailer;
  return header;
}

void encode_header(const Header& header, std::span<std::byte, kHeaderBytes> to) noexcept {
  store_be(&to[0], kMagic);
  store_be(&to[2], kVersion);
  store_be(&to[3], static_cast<std::uint8_t>(header.kind));
  store_be(&to[4], static_cast<std::uint8_t>(header.op));
  store_be(&to[5], static_cast<std::uint8_t>(header.lane_type));
  store_be(&to[6], header.contributions);
  store_be(&to[8], header.group);
  store_be(&to[12], header.epoch);
  store_be(&to[16], header.seq);
  store_be(&to[20], header.member);
  store_be(&to[22], header.length);
}

void encode_trailer(std::uint32_t seq, std::span<std::byte, kTrailerBytes> to) noexcept { store_be(to.data(), seq); }

std::uint32_t decode_trailer(std::span<const std::byte, kTrailerBytes> from) noexcept { return load_be<std::uint32_t>(from.data()); }

std::array<std::byte, kBindPayloadBytes> encode_bind(const Bind& bind) noexcept {
  std::array<std::byte, kBindPayloadBytes> payload{};
  const std::span bytes(payload);
  const Header header{.kind = Kind::kBind,
                      .op = Op::kNone,
                      .lane_type = LaneType::kNone,
                      .contributions = 0,
                      .group = bind.group,
                      .epoch = bind.epoch,
                      .seq = bind.first_seq - 2 * bind.window,
                      .member = bind.connection,
                      .length = kBindBodyBytes};
  encode_header(header, bytes.first<kHeaderBytes>());
  std::byte* body = &payload[kHeaderBytes];
  store_be(body, static_cast<std::uint8_t>(bind.direction));
  store_be(body + 2, bind.members);
  store_be(body + 4, bind.window);
  store_be(body + 8, bind.first_seq);
  store_be(body + 12, bind.place_bytes);
  store_be(body + 16, bind.mailbox);
  encode_trailer(header.seq, bytes.last<kTrailerBytes>());
  return payload;
}

Result<Bind, HeaderError> decode_bind(std::span<const std::byte> payload) noexcept {
  const auto header = decode_payload(payload);
  if (!header) return header.error();
  if (header->kind != Kind::kBind) return HeaderError::kBadKind;
  if (payload.size() != kBindPayloadBytes) return HeaderError::kBadLength;
  const std::byte* body = &payload[kHeaderBytes];
  const auto direction = load_be<std::uint8_t>(body);
  if (direction < 1 || direction > 2 || load_be<std::uint8_t>(body + 1) != 0) return HeaderError::kBadLength;
  const Bind bind{.group = header->group,
                  .epoch = header->epoch,
                  .connection = header->member,
                  .direction = static_cast<Direction>(direction),
                  .members = load_be<std::uint16_t>(body + 2),
                  .window = load_be<std::uint32_t>(body + 4),
                  .first_seq = load_be<std::uint32_t>(body + 8),
                  .place_bytes = load_be<std::uint32_t>(body + 12),
                  .mailbox = load_be<std::uint64_t>(body + 16)};
  // Fields that follow from others must agree with them: a bind has one form only.
  if (header->contributions != 0 || header->seq != bind.first_seq - 2 * bind.window) return HeaderError::kBadField;
  return bind;
}

}  // namespace ina::wire
