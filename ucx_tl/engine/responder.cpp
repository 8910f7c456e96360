#include "ucx_tl/engine/responder.hpp"

#include <cstring>

#include "ucx_tl/engine/request.hpp"

namespace ina::engine {
namespace {

using wire::Opcode;

// An acknowledgement costs the peer, a switch and us a packet each: it may wait for more requests, but not for many.
constexpr std::uint32_t kAcknowledgeEvery = 8;
// Packets behind a gap after which it is reported again.
constexpr std::uint32_t kNakEvery = 4;
// Timer code of RNR NAKs: 0.64 ms, some turns of a progress loop.
constexpr std::uint8_t kSyndromeNotReady = 0x20 | 12;

// Readers poll the end of what they expect without a lock: it is stored last, after everything before it. The widest aligned word
// at the end is stored in one piece.
template <typename Word>
void store_last(std::byte* end, const std::byte* from_end) noexcept {
  Word word;
  std::memcpy(&word, from_end - sizeof word, sizeof word);
  __atomic_store_n(reinterpret_cast<Word*>(end - sizeof word), word, __ATOMIC_RELEASE);
}

void copy_trailer_last(std::byte* to, std::span<const std::byte> from) noexcept {
  if (from.empty()) return;
  std::byte* const end = to + from.size();
  const std::byte* const from_end = from.data() + from.size();
  const auto alignment = reinterpret_cast<std::uintptr_t>(end);
  if (alignment % 8 == 0 && from.size() >= 8) {
    std::memcpy(to, from.data(), from.size() - 8);
    store_last<std::uint64_t>(end, from_end);
  } else if (alignment % 4 == 0 && from.size() >= 4) {
    std::memcpy(to, from.data(), from.size() - 4);
    store_last<std::uint32_t>(end, from_end);
  } else {
    std::memcpy(to, from.data(), from.size() - 1);
    store_last<std::uint8_t>(end, from_end);
  }
}

}  // namespace

Responder::Responder(MemoryTable& memory, ReceiveResources& resources, Counters& counters)
    : memory_(memory), resources_(resources), counters_(counters) {}

Responder::~Responder() { resources_.pool.give_back(send_buffer_); }

void Responder::start(std::uint32_t expected_psn, std::uint32_t mtu) noexcept {
  expected_psn_ = expected_psn;
  mtu_ = mtu;
}

void Responder::on_request(const wire::Packet& packet, Nanoseconds now) noexcept {
  const std::int32_t distance = wire::psn_distance(packet.bth.psn, expected_psn_);
  if (distance < 0) return on_duplicate(packet);
  if (distance > 0) {
    (store_ahead(packet, static_cast<std::uint32_t>(distance)) ? counters_.kept_ahead : counters_.gaps).add();
    if (fatal_syndrome_ == 0) report_gap(packet.bth.psn);
    return;
  }
  if (fatal_syndrome_ != 0) {  // the NAK was lost
    has_nak_ = true;
    nak_syndrome_ = fatal_syndrome_;
    refused_psn_ = fatal_psn_;
    return;
  }
  switch (execute(packet)) {
    case Outcome::kExecuted: return on_executed(packet, now);
    case Outcome::kNotReady:
      has_nak_ = true;
      nak_syndrome_ = kSyndromeNotReady;
      is_gap_reported_ = true;  // what follows is sent again anyway
      return;
    case Outcome::kInvalid:
      counters_.invalid_requests.add();
      return refuse(wire::kSyndromeNakInvalidRequest, expected_psn_);
    case Outcome::kAccess:
      counters_.access_errors.add();
      return refuse(wire::kSyndromeNakRemoteAccess, expected_psn_);
  }
}

void Responder::on_executed(const wire::Packet& packet, Nanoseconds now) noexcept {
  const Meaning& meaning = meaning_of(packet.bth.opcode);
  expected_psn_ = wire::psn_add(expected_psn_, meaning.request == Request::kRead ? packets_of(packet.reth.dma_length) : 1);
  is_gap_reported_ = false;
  // The packet that showed the gap was dropped: it is asked for unless it has come again.
  if (nak_syndrome_ != wire::kSyndromeNakSequence || wire::psn_distance(expected_psn_, gap_psn_) > 0) has_nak_ = false;
  if (ahead_count_ != 0) take_what_is_ahead();
  if (meaning.ends) msn_ = (msn_ + 1) & wire::kPsnMask;
  if (meaning.immediate) counters_.immediates.add();
  counters_.bytes_received.add(packet.payload.size());
  if (meaning.request == Request::kRead || meaning.request == Request::kAtomic) {
    unacknowledged_ = 0;  // the answer acknowledges what was before it
  } else if (unacknowledged_++ == 0) {
    unacknowledged_since_ = now;
  }
}

// The middle of a WRITE may be written in any order: nobody knows that it is complete before its last packet was executed, which is never
// kept. False: it is not of the WRITE in progress, or too far ahead.
bool Responder::store_ahead(const wire::Packet& packet, std::uint32_t distance) noexcept {
  if (packet.bth.opcode != Opcode::kWriteMiddle || in_message_ != InMessage::kWrite || packet.payload.size() != mtu_ || fatal_syndrome_ != 0) return false;
  if (distance >= kMostAhead || std::uint64_t{distance + 1} * mtu_ >= write_remaining_) return false;
  if (ahead_[packet.bth.psn % kMostAhead]) return false;
  std::byte* const to = memory_.find(write_rkey_, write_address_, write_remaining_, MemoryAccess::kWrite);
  if (to == nullptr) return false;
  std::memcpy(to + std::size_t{distance} * mtu_, packet.payload.data(), mtu_);
  counters_.bytes_received.add(mtu_);
  ahead_.set(packet.bth.psn % kMostAhead);
  ++ahead_count_;
  return true;
}

// What was missing has come: up to the next packet that is missing, everything is there. Those that are kept are of the WRITE in progress, which
// goes on behind them.
void Responder::take_what_is_ahead() noexcept {
  for (; ahead_[expected_psn_ % kMostAhead]; expected_psn_ = wire::psn_add(expected_psn_, 1)) {
    ahead_.reset(expected_psn_ % kMostAhead);
    --ahead_count_;
    write_address_ += mtu_;
    write_remaining_ -= mtu_;
    ++unacknowledged_;
  }
  if (wire::psn_distance(expected_psn_, gap_psn_) > 0) has_nak_ = false;
  if (ahead_count_ != 0) report_gap(wire::psn_add(expected_psn_, 1));
}

// Once a gap. Again when the first packet behind it comes again, which shows that the repetition was lost as well, and after some more
// packets, since the NAK may have been lost: a time-out of the sender takes much longer.
void Responder::report_gap(std::uint32_t psn) noexcept {
  if (!is_gap_reported_) {
    gap_psn_ = psn;
    behind_gap_ = 0;
  } else if (wire::psn_distance(psn, gap_psn_) > 0 && ++behind_gap_ % kNakEvery != 0) {
    return;
  }
  is_gap_reported_ = true;
  has_nak_ = true;
  nak_syndrome_ = wire::kSyndromeNakSequence;
}

void Responder::refuse(std::uint8_t syndrome, std::uint32_t psn) noexcept {
  fatal_syndrome_ = nak_syndrome_ = syndrome;
  fatal_psn_ = refused_psn_ = psn;
  has_nak_ = true;
}

// First, Middle, Last and Only in the right order, with the payload that each has by its nature.
bool Responder::fits_sequence(const wire::Packet& packet) const noexcept {
  const Meaning& meaning = meaning_of(packet.bth.opcode);
  if (meaning.request == Request::kNothing) return false;
  const InMessage kind = meaning.request == Request::kWrite ? InMessage::kWrite : InMessage::kSend;
  if (meaning.begins ? in_message_ != InMessage::kNothing : in_message_ != kind) return false;
  const std::size_t bytes = packet.payload.size();
  if (!meaning.ends) return bytes == mtu_;
  if (bytes > mtu_) return false;
  return meaning.begins || bytes != 0;
}

Responder::Outcome Responder::execute(const wire::Packet& packet) noexcept {
  if (!fits_sequence(packet)) return Outcome::kInvalid;
  const Meaning& meaning = meaning_of(packet.bth.opcode);
  switch (meaning.request) {
    case Request::kWrite: return execute_write(packet, meaning.begins, meaning.ends);
    case Request::kSend: break;
    case Request::kRead: return execute_read(packet);
    case Request::kAtomic: return execute_atomic(packet);
    case Request::kNothing: return Outcome::kInvalid;
  }
  if (meaning.invalidate && !memory_.may_invalidate(packet.invalidate_rkey)) return Outcome::kAccess;
  const Outcome outcome = execute_send(packet, meaning.begins, meaning.ends);
  if (meaning.invalidate && outcome == Outcome::kExecuted) memory_.invalidate(packet.invalidate_rkey);
  return outcome;
}

Responder::Outcome Responder::execute_write(const wire::Packet& packet, bool first, bool last) noexcept {
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  const std::uint32_t remaining = first ? packet.reth.dma_length : write_remaining_;
  if (last ? bytes != remaining : bytes >= remaining) return Outcome::kInvalid;
  const std::uint64_t address = first ? packet.reth.address : write_address_;
  const std::uint32_t rkey = first ? packet.reth.rkey : write_rkey_;
  if (remaining != 0) {
    // The whole rest is checked, each time: memory may be deregistered between two packets.
    std::byte* const to = memory_.find(rkey, address, remaining, MemoryAccess::kWrite);
    if (to == nullptr) return Outcome::kAccess;
    copy_trailer_last(to, packet.payload);
  }
  write_address_ = address + bytes;
  write_rkey_ = rkey;
  write_remaining_ = remaining - bytes;
  in_message_ = last ? InMessage::kNothing : InMessage::kWrite;
  return Outcome::kExecuted;
}

Responder::Outcome Responder::execute_send(const wire::Packet& packet, bool first, bool last) noexcept {
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  const std::uint32_t before = first ? 0 : send_length_;
  if (bytes > resources_.buffer_bytes - before) return Outcome::kInvalid;
  if (first) {
    std::byte* const buffer = resources_.pool.take();
    if (buffer == nullptr) return Outcome::kNotReady;
    send_buffer_ = buffer;
  }
  if (bytes != 0) std::memcpy(send_buffer_ + before, packet.payload.data(), bytes);
  send_length_ = before + bytes;
  in_message_ = InMessage::kSend;
  if (last) {
    resources_.messages.push_back({.buffer = send_buffer_, .length = send_length_});
    send_buffer_ = nullptr;
    in_message_ = InMessage::kNothing;
  }
  return Outcome::kExecuted;
}

Nanoseconds Responder::response_deadline() const noexcept {
  if (!answers_.is_empty() || has_nak_ || acknowledge_now_ || unacknowledged_ >= kAcknowledgeEvery) return 0;
  return unacknowledged_ == 0 ? kNever : unacknowledged_since_ + resources_.acknowledge_delay;
}

std::optional<Responder::Response> Responder::take_response() noexcept {
  while (!answers_.is_empty()) {
    if (const auto answer = take_answer()) return answer;
  }
  if (!has_response()) return std::nullopt;
  Response response{.psn = wire::psn_add(expected_psn_, wire::kPsnMask), .msn = msn_};
  if (has_nak_) {  // acknowledges everything before it as well
    const bool refuses = nak_syndrome_ == wire::kSyndromeNakInvalidRequest || nak_syndrome_ == wire::kSyndromeNakRemoteAccess;
    response.syndrome = nak_syndrome_;
    response.psn = refuses ? refused_psn_ : expected_psn_;
    (nak_syndrome_ == wire::kSyndromeNakSequence ? counters_.naks_sent : counters_.rnr_naks_sent).add(fatal_syndrome_ == 0 ? 1 : 0);
  } else {
    counters_.acks_sent.add();
  }
  has_nak_ = false;
  acknowledge_now_ = false;
  unacknowledged_ = 0;
  return response;
}

void Responder::untake(const Response& response) noexcept {
  if (response.opcode != Opcode::kAcknowledge) {
    answers_.give_back(response.answer, response.opcode != Opcode::kReadResponseFirst && response.opcode != Opcode::kReadResponseMiddle);
  } else if (response.syndrome == wire::kSyndromeAck) {
    acknowledge_now_ = true;
  } else if (response.psn == expected_psn_ || response.psn == refused_psn_) {
    has_nak_ = true;
  }
}

}  // namespace ina::engine
