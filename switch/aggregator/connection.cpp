#include "switch/aggregator/connection.hpp"

#include <algorithm>

namespace ina::aggregator {

namespace {

// Offsets in an encoded packet (InfiniBand Architecture Specification, volume 1, 9.2 and 9.3.3; PROTOCOL.md 1).
constexpr std::size_t kPsnOffset = 8;  // with AckReq in its first byte
constexpr std::size_t kRethAddressOffset = wire::kBthBytes;
constexpr std::size_t kRethLengthOffset = wire::kBthBytes + 12;
constexpr std::size_t kInaOffset = wire::kBthBytes + wire::kRethBytes;
constexpr std::size_t kInaMemberOffset = kInaOffset + 20;
constexpr std::uint32_t kAckRequestBit = 0x80000000;

}  // namespace

Connection::Learnt Connection::learn(const Forward& forward) noexcept {
  if (has_forward_) return forward == forward_ ? Learnt::kSame : Learnt::kConflict;
  if (has_backward_ && (forward.sender != backward_.sender || forward.receiver != backward_.receiver)) return Learnt::kConflict;
  forward_ = forward;
  has_forward_ = true;
  return Learnt::kNew;
}

Connection::Learnt Connection::learn(const Backward& backward) noexcept {
  if (has_backward_) return backward == backward_ ? Learnt::kSame : Learnt::kConflict;
  if (has_forward_ && (backward.sender != forward_.sender || backward.receiver != forward_.receiver)) return Learnt::kConflict;
  backward_ = backward;
  has_backward_ = true;
  return Learnt::kNew;
}

void Connection::start(const GroupSpec& spec, std::uint16_t member) noexcept {
  first_seq_ = spec.first_seq;
  place_mask_ = 2 * spec.window - 1;
  place_bytes_ = spec.place_bytes;
  member_ = member;
  next = acknowledged = gap_first = quiet_from = quiet_to = nak_answered = spec.first_seq;
  gap_is_open = nak_is_answered = false;
  msn = 0;
  wire::Packet packet{};
  packet.bth = {.opcode = wire::Opcode::kWriteOnly, .dest_qpn = forward_.qpn, .ack_request = true};
  packet.reth.rkey = forward_.rkey;
  (void)wire::encode_headers(packet, result_head_);
  packet = {};
  packet.bth = {.opcode = wire::Opcode::kAcknowledge, .dest_qpn = backward_.qpn};
  packet.aeth.syndrome = wire::kSyndromeNakSequence;
  (void)wire::encode_headers(packet, nak_head_);
}

std::span<const std::byte> Connection::result_head(const std::array<std::byte, wire::kHeaderBytes>& header, std::uint32_t seq,
                                                   std::size_t payload) noexcept {
  wire::store_be<std::uint32_t>(&result_head_[kPsnOffset], psn_of(seq) | kAckRequestBit);
  wire::store_be<std::uint64_t>(&result_head_[kRethAddressOffset], address_of(seq, payload));
  wire::store_be<std::uint32_t>(&result_head_[kRethLengthOffset], static_cast<std::uint32_t>(payload));
  std::copy(header.begin(), header.end(), result_head_.begin() + kInaOffset);
  wire::store_be<std::uint16_t>(&result_head_[kInaMemberOffset], member_);
  return result_head_;
}

std::span<const std::byte> Connection::nak_head(std::uint32_t seq) noexcept {
  wire::store_be<std::uint32_t>(&nak_head_[kPsnOffset], psn_of(seq));
  wire::store_be<std::uint32_t>(&nak_head_[wire::kBthBytes],
                                (std::uint32_t{wire::kSyndromeNakSequence} << 24) | (msn & wire::kPsnMask));
  return nak_head_;
}

}  // namespace ina::aggregator
