// responder_answer.cpp: READs and atomics, whose answers carry data: executing them, executing them again, and making the answers.
#include <algorithm>

#include "ucx_tl/engine/request.hpp"
#include "ucx_tl/engine/responder.hpp"

namespace ina::engine {

using wire::Opcode;

Responder::Outcome Responder::execute_read(const wire::Packet& packet) noexcept {
  const wire::Reth& reth = packet.reth;
  if (reth.dma_length > kMaxMessageBytes) return Outcome::kInvalid;
  if (reth.dma_length != 0 && memory_.find(reth.rkey, reth.address, reth.dma_length, MemoryAccess::kRead) == nullptr) return Outcome::kAccess;
  const bool is_queued = answers_.add({.psn = packet.bth.psn, .packets = packets_of(reth.dma_length), .bytes = reth.dma_length, .rkey = reth.rkey, .address = reth.address});
  return is_queued ? Outcome::kExecuted : Outcome::kInvalid;
}

Responder::Outcome Responder::execute_atomic(const wire::Packet& packet) noexcept {
  const wire::AtomicEth& request = packet.atomic_eth;
  if (request.address % sizeof(std::uint64_t) != 0 || !answers_.has_room()) return Outcome::kInvalid;
  std::byte* const at = memory_.find(request.rkey, request.address, sizeof(std::uint64_t), MemoryAccess::kAtomic);
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

// The next packet of the oldest answer; nullopt: it is refused, since its memory is not there any more.
std::optional<Responder::Response> Responder::take_answer() noexcept {
  const Answer& front = answers_.front();
  Response response{.psn = front.psn, .msn = msn_, .answer = front};
  if (front.kind == Answer::Kind::kAtomic) {
    response.opcode = Opcode::kAtomicAcknowledge;
  } else {
    response.answer.bytes = std::min(front.bytes, mtu_);
    // All that is left is checked for each packet: memory may be deregistered in between.
    if (front.bytes != 0 && (response.payload = memory_.find(front.rkey, front.address, front.bytes, MemoryAccess::kRead)) == nullptr) {
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

}  // namespace ina::engine
