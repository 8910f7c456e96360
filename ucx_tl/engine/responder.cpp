#include "ucx_tl/engine/responder.hpp"

#include <algorithm>
#include <cstring>

namespace ina::engine {
namespace {

using wire::Opcode;

// An acknowledgement costs the peer, a switch and us a packet each: it may wait for more requests, but not for long.
constexpr std::uint32_t kAcknowledgeEvery = 8;
// Packets behind a gap after which it is reported again.
constexpr std::uint32_t kNakEvery = 4;
constexpr Nanoseconds kAcknowledgeDelay = 30 * kMicrosecond;
// Timer code of RNR NAKs: 0.64 ms, some turns of a progress loop.
constexpr std::uint8_t kSyndromeNotReady = 0x20 | 12;

// What an opcode asks for, and its place in a message. kNothing: no request that we know.
enum class Request : std::uint8_t { kNothing, kSend, kWrite, kRead, kAtomic };
struct Meaning {
  Request request = Request::kNothing;
  bool begins = false;
  bool ends = false;
  bool immediate = false;
  bool invalidate = false;
};

constexpr auto kMeanings = [] {
  std::array<Meaning, 0x20> meanings{};
  const auto set = [&](Opcode opcode, Meaning meaning) { meanings[static_cast<std::size_t>(opcode)] = meaning; };
  set(Opcode::kSendFirst, {.request = Request::kSend, .begins = true});
  set(Opcode::kSendMiddle, {.request = Request::kSend});
  set(Opcode::kSendLast, {.request = Request::kSend, .ends = true});
  set(Opcode::kSendLastImmediate, {.request = Request::kSend, .ends = true, .immediate = true});
  set(Opcode::kSendLastInvalidate, {.request = Request::kSend, .ends = true, .invalidate = true});
  set(Opcode::kSendOnly, {.request = Request::kSend, .begins = true, .ends = true});
  set(Opcode::kSendOnlyImmediate, {.request = Request::kSend, .begins = true, .ends = true, .immediate = true});
  set(Opcode::kSendOnlyInvalidate, {.request = Request::kSend, .begins = true, .ends = true, .invalidate = true});
  set(Opcode::kWriteFirst, {.request = Request::kWrite, .begins = true});
  set(Opcode::kWriteMiddle, {.request = Request::kWrite});
  set(Opcode::kWriteLast, {.request = Request::kWrite, .ends = true});
  set(Opcode::kWriteLastImmediate, {.request = Request::kWrite, .ends = true, .immediate = true});
  set(Opcode::kWriteOnly, {.request = Request::kWrite, .begins = true, .ends = true});
  set(Opcode::kWriteOnlyImmediate, {.request = Request::kWrite, .begins = true, .ends = true, .immediate = true});
  set(Opcode::kReadRequest, {.request = Request::kRead, .begins = true, .ends = true});
  set(Opcode::kFetchAdd, {.request = Request::kAtomic, .begins = true, .ends = true});
  set(Opcode::kCompareSwap, {.request = Request::kAtomic, .begins = true, .ends = true});
  return meanings;
}();

const Meaning& meaning_of(Opcode opcode) noexcept { return kMeanings[static_cast<std::size_t>(opcode) % kMeanings.size()]; }

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
    counters_.gaps.add();
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
  if (meaning.ends) msn_ = (msn_ + 1) & wire::kPsnMask;
  if (meaning.immediate) counters_.immediates.add();
  counters_.bytes_received.add(packet.payload.size());
  if (meaning.request == Request::kRead || meaning.request == Request::kAtomic) {
    unacknowledged_ = 0;  // the answer acknowledges what was before it
  } else if (unacknowledged_++ == 0) {
    unacknowledged_since_ = now;
  }
}

// READs are executed again, which changes nothing; atomics are answered as the first time; all else is acknowledged again.
void Responder::on_duplicate(const wire::Packet& packet) noexcept {
  counters_.duplicates.add();
  Answer answer{.is_repetition = true, .psn = packet.bth.psn};
  switch (meaning_of(packet.bth.opcode).request) {
    case Request::kRead:
      if (packet.reth.dma_length > kMaxMessageBytes) return;
      answer.packets = packets_of(packet.reth.dma_length);
      // It repeats what was asked for, or the end of it: what goes beyond is something else.
      if (wire::psn_distance(wire::psn_add(answer.psn, answer.packets), expected_psn_) > 0) return;
      answer.bytes = packet.reth.dma_length;
      answer.rkey = packet.reth.rkey;
      answer.address = packet.reth.address;
      return answers_.repeat(answer);
    case Request::kAtomic:
      for (std::uint32_t i = 0; i < executed_atomics_.size() && i < executed_atomic_count_; ++i) {
        if (executed_atomics_[i].psn != packet.bth.psn) continue;
        answer.kind = Answer::Kind::kAtomic;
        answer.original = executed_atomics_[i].original;
        return answers_.repeat(answer);
      }
      return;
    default: acknowledge_now_ = true;
  }
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

Responder::Outcome Responder::execute_read(const wire::Packet& packet) noexcept {
  const wire::Reth& reth = packet.reth;
  if (reth.dma_length > kMaxMessageBytes) return Outcome::kInvalid;
  if (reth.dma_length != 0 && memory_.find(reth.rkey, reth.address, reth.dma_length) == nullptr) return Outcome::kAccess;
  const bool is_queued = answers_.add({.psn = packet.bth.psn, .packets = packets_of(reth.dma_length), .bytes = reth.dma_length, .rkey = reth.rkey, .address = reth.address});
  return is_queued ? Outcome::kExecuted : Outcome::kInvalid;
}

Responder::Outcome Responder::execute_atomic(const wire::Packet& packet) noexcept {
  const wire::AtomicEth& request = packet.atomic_eth;
  if (request.address % sizeof(std::uint64_t) != 0 || !answers_.has_room()) return Outcome::kInvalid;
  std::byte* const at = memory_.find(request.rkey, request.address, sizeof(std::uint64_t));
  if (at == nullptr) return Outcome::kAccess;
  auto* const word = reinterpret_cast<std::uint64_t*>(at);
  std::uint64_t original;
  if (packet.bth.opcode == Opcode::kFetchAdd) {
    original = __atomic_fetch_add(word, request.swap_or_add, __ATOMIC_ACQ_REL);
  } else {
    original = request.compare;  // on a mismatch it becomes what was there
    (void)__atomic_compare_exchange_n(word, &original, request.swap_or_add, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
  executed_atomics_[executed_atomic_count_++ % executed_atomics_.size()] = {.psn = packet.bth.psn, .original = original};
  return answers_.add({.kind = Answer::Kind::kAtomic, .psn = packet.bth.psn, .original = original}) ? Outcome::kExecuted : Outcome::kInvalid;
}

Responder::Outcome Responder::execute_write(const wire::Packet& packet, bool first, bool last) noexcept {
  const auto bytes = static_cast<std::uint32_t>(packet.payload.size());
  const std::uint32_t remaining = first ? packet.reth.dma_length : write_remaining_;
  if (last ? bytes != remaining : bytes >= remaining) return Outcome::kInvalid;
  const std::uint64_t address = first ? packet.reth.address : write_address_;
  const std::uint32_t rkey = first ? packet.reth.rkey : write_rkey_;
  if (remaining != 0) {
    // The whole rest is checked, each time: memory may be deregistered between two packets.
    std::byte* const to = memory_.find(rkey, address, remaining);
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
  return unacknowledged_ == 0 ? kNever : unacknowledged_since_ + kAcknowledgeDelay;
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

// The next packet of the oldest answer; nullopt: it is refused, since its memory is not there any more.
std::optional<Responder::Response> Responder::take_answer() noexcept {
  const Answer& front = answers_.front();
  Response response{.psn = front.psn, .msn = msn_, .answer = front};
  if (front.kind == Answer::Kind::kAtomic) {
    response.opcode = Opcode::kAtomicAcknowledge;
  } else {
    response.answer.bytes = std::min(front.bytes, mtu_);
    // All that is left is checked for each packet: memory may be deregistered in between.
    if (front.bytes != 0 && (response.payload = memory_.find(front.rkey, front.address, front.bytes)) == nullptr) {
      refuse_answer();
      return std::nullopt;
    }
    if (front.packets == 1) {
      response.opcode = front.is_first ? Opcode::kReadResponseOnly : Opcode::kReadResponseLast;
    } else {
      response.opcode = front.is_first ? Opcode::kReadResponseFirst : Opcode::kReadResponseMiddle;
    }
  }
  answers_.advance(response.answer.bytes);
  return response;
}

void Responder::refuse_answer() noexcept {
  const Answer& front = answers_.front();
  counters_.access_errors.add();
  if (!front.is_repetition) {
    refuse(wire::kSyndromeNakRemoteAccess, front.psn);
    return answers_.clear();
  }
  // The peer may have had it long ago, and then knows what to think of this.
  has_nak_ = true;
  nak_syndrome_ = wire::kSyndromeNakRemoteAccess;
  refused_psn_ = front.psn;
  answers_.remove_front();
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
