// requester_answer.cpp: what comes back for READs and atomics. Only its own data completes such a message: an acknowledgement of something later says
// that the data was sent, and if it is not there, that it was lost.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "ucx_tl/engine/requester.hpp"

namespace ina::engine {
namespace {

using wire::Opcode;

// Into the pieces of a message, from `offset` of its payload on. Never beyond them.
void scatter(const Message& message, std::size_t offset, std::span<const std::byte> payload) noexcept {
  for (std::size_t i = 0; i < message.piece_count && !payload.empty(); ++i) {
    const Piece& piece = message.pieces[i];
    if (offset >= piece.bytes) {
      offset -= piece.bytes;
      continue;
    }
    const std::size_t part = std::min(piece.bytes - offset, payload.size());
    std::memcpy(piece.destination() + offset, payload.data(), part);
    payload = payload.subspan(part);
    offset = 0;
  }
}

std::uint32_t requests_of(const Message& message, std::uint32_t begin, std::uint32_t end) noexcept {
  if (begin >= end) return 0;
  if (message.kind != MessageKind::kRead) return 1;
  return (end - 1) / Requester::kReadPackets - begin / Requester::kReadPackets + 1;
}

}  // namespace

// The peer claims to have everything before `psn`: true up to the first READ or atomic whose data is not here.
std::uint32_t Requester::credible_end(std::uint32_t psn) const noexcept {
  if (unanswered_ == 0 || wire::psn_distance(psn, unacknowledged_psn_) <= 0) return psn;
  for (std::uint64_t number = acknowledged_; number != posted_; ++number) {
    const Message& candidate = message(number);
    if (wire::psn_distance(psn, candidate.first_psn) <= 0) return psn;
    if (!is_answered_with_data(candidate.kind)) continue;
    return wire::psn_distance(unacknowledged_psn_, candidate.first_psn) > 0 ? unacknowledged_psn_ : candidate.first_psn;
  }
  return psn;
}

void Requester::count_reads_in_flight() noexcept {
  reads_in_flight_ = 0;
  if (unanswered_ == 0) return;
  for (std::uint64_t number = acknowledged_; number != posted_ && number <= cursor_message_; ++number) {
    const Message& candidate = message(number);
    if (!is_answered_with_data(candidate.kind)) continue;
    const auto begin = static_cast<std::uint32_t>(std::max(0, wire::psn_distance(unacknowledged_psn_, candidate.first_psn)));
    reads_in_flight_ += requests_of(candidate, begin, number == cursor_message_ ? cursor_packet_ : candidate.packets);
  }
}

// The PSN tells which part of which message this has to be; opcode and length must be what that part has.
bool Requester::is_expected(const Message& message, const wire::Packet& packet) const noexcept {
  const Opcode opcode = packet.bth.opcode;
  if (message.kind != MessageKind::kRead) return is_answered_with_data(message.kind) && opcode == Opcode::kAtomicAcknowledge;
  if (opcode == Opcode::kAtomicAcknowledge) return false;
  const auto index = static_cast<std::uint32_t>(wire::psn_distance(packet.bth.psn, message.first_psn));
  const bool ends = opcode == Opcode::kReadResponseLast || opcode == Opcode::kReadResponseOnly;
  if (ends != (index + 1 == message.packets || (index + 1) % kReadPackets == 0)) return false;
  return packet.payload.size() == std::min(mtu_, message.length - index * mtu_);
}

void Requester::on_answer(const wire::Packet& packet, Nanoseconds now) noexcept {
  if (error_ != QpError::kNone) return;
  const std::uint32_t psn = packet.bth.psn;
  const bool is_refusal = packet.bth.opcode != Opcode::kReadResponseMiddle && !wire::is_ack(packet.aeth.syndrome);
  if (is_refusal || wire::psn_distance(psn, sent_end_psn_) >= 0) return counters_.bad_acks.add();
  silent_timeouts_ = 0;
  if (wire::psn_distance(psn, unacknowledged_psn_) < 0) return counters_.duplicates.add();
  const std::uint32_t end = credible_end(psn);
  if (end != psn) {
    acknowledge_before(end, now);
    return on_missing_answer(end, psn, now);
  }
  acknowledge_before(psn, now);
  const Message& asked = message(acknowledged_);
  if (!is_expected(asked, packet)) return counters_.bad_acks.add();
  const auto index = static_cast<std::uint32_t>(wire::psn_distance(psn, asked.first_psn));
  if (asked.kind == MessageKind::kRead) {
    scatter(asked, std::size_t{index} * mtu_, packet.payload);
    counters_.bytes_received.add(packet.payload.size());
  } else {
    scatter(asked, 0, std::as_bytes(std::span(&packet.atomic_original, 1)));
  }
  const bool is_last = index + 1 == asked.packets;
  if (is_last) --unanswered_;
  if ((is_last || (index + 1) % kReadPackets == 0) && wire::psn_distance(psn, next_psn_) < 0) --reads_in_flight_;
  acknowledge_before(wire::psn_add(psn, 1), now);
}

// Something behind a missing answer has arrived. The request is repeated once; then the answers to the first request, which may still come for a while,
// say nothing new. An answer that is not behind the one before it belongs to the repetition: if what is missing is not the first of it, it was lost again.
void Requester::on_missing_answer(std::uint32_t psn, std::uint32_t later_psn, Nanoseconds now) noexcept {
  const bool is_repeated = psn == gone_back_to_ && gone_back_at_ != 0;
  const bool begins_again = wire::psn_distance(later_psn, latest_answer_) <= 0;
  if (!is_repeated || (begins_again && !was_repeated_just_now(psn, now))) {
    if (wire::psn_distance(next_psn_, psn) > 0) repeat_from(psn, now);
  }
  if (is_repeated && !begins_again) latest_answer_ = later_psn;
}

}  // namespace ina::engine
