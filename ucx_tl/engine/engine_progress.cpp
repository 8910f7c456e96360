// engine_progress.cpp: what a call of progress() or tick() does: timers, and packets that go out.
#include <algorithm>
#include <utility>

#include "ucx_tl/engine/engine.hpp"

namespace ina::engine {
namespace {

// Packets that one QP may put into a batch before the next QP has its turn.
constexpr unsigned kTurn = 16;
// A tick that finds more than this leaves the rest to the next one.
constexpr unsigned kTickBatches = 16;
// The same for a call of progress().
constexpr unsigned kProgressBatches = 16;
// Batches of one call: a peer may ask for more than is good to send at once, and the caller has something else to do as well.
constexpr unsigned kTransmitBatches = 64;
// A connection without anything outstanding gives its queue's memory back after this time or up to twice of it.
constexpr Nanoseconds kIdle = 100 * kMillisecond;
// After so many time-outs in a row the relay is asked whether it still knows us.
constexpr std::uint32_t kRelayInDoubt = 3;
// After so many the peer's interface is asked whether it still knows the connection.
constexpr std::uint32_t kPeerInDoubt = 2;
// Passive QPs go at last after so many, also where endpoints are never given up: nobody would notice that they are left over.
constexpr std::uint32_t kPassiveRetries = 64;

}  // namespace

unsigned Engine::progress() noexcept {
  ++progress_calls_;
  const Nanoseconds now = clock_.now();
  check_timers(now);
  serve_connections(now, true);
  transmit(now);
  if (!io_.get().is_receive_cheap() && now >= lossy_until_ && !pace_.is_due(now)) return 0;
  unsigned received = receive(now);
  unsigned taken = received;
  // A caller that comes seldom finds more than a batch. Messages of its own have a limited number of buffers and go first.
  for (unsigned batches = 1; batches < kProgressBatches && received == kBatchPackets && receive_resources_.messages.empty(); ++batches) {
    transmit(now);
    taken += received = receive(clock_.now());
  }
  serve_connections(now, true);
  transmit(now);
  return taken;
}

bool Engine::tick(bool may_allocate) noexcept {
  const Nanoseconds now = clock_.now();
  // Registration holds the table alone, perhaps in the very thread that a signal interrupted: leave it to the next time.
  if (!memory_.try_lock_shared()) return has_events();
  memory_.unlock_shared();
  may_free_ = false;  // a signal may have interrupted malloc
  pace_.poll_now();
  unsigned received = receive(now);
  unsigned taken = received;
  for (unsigned batches = 1; batches < kTickBatches && received == kBatchPackets; ++batches) {
    flush_responses(now);
    taken += received = receive(now);
  }
  flush_responses(now);
  check_timers(now);
  serve_connections(now, may_allocate);
  transmit(now);
  may_free_ = true;
  return taken != 0 || has_events();
}

bool Engine::prepare_to_wait() noexcept {
  const Nanoseconds now = clock_.now();
  // What is in the socket already may not make its descriptor readable once more, for users that wait for a change.
  const bool has_received = receive(now) != 0;
  if (options_.acknowledge_delay <= EngineOptions::kShortDelay) flush_responses(now);
  check_timers(now);
  serve_connections(now, true);
  transmit(now);
  pace_.poll_now();
  // Who is paced sends again within a round trip, which no descriptor tells.
  wake_paced(now);
  return !has_received && sending_.empty() && !has_events() && next_paced_ == kNever;
}

void Engine::check_timers(Nanoseconds now) noexcept {
  if (relay_ && now >= relay_->client.deadline()) send_relay_message(now);
  if (now >= next_response_) wake_responders(now);
  if (now >= next_paced_) wake_paced(now);
  if (first_overdue(now) == nullptr) return;
  // A process that did not run for a while finds the acknowledgements that its timers miss in its socket.
  for (unsigned batches = 0; batches < kTickBatches && receive(now) == kBatchPackets; ++batches) {}
  while (Qp* const qp = first_overdue(now)) on_timer(*qp, now);
}

// The QP whose deadline has passed for longest, or nullptr. Deadlines that have moved meanwhile are put right.
Qp* Engine::first_overdue(Nanoseconds now) noexcept {
  while (timers_.earliest() <= now) {
    Qp* const qp = timers_.first();
    if (qp->requester.deadline() <= now) return qp;
    timers_.set(*qp, std::min(qp->requester.deadline(), next_look_at_idle(*qp, now)));
  }
  return nullptr;
}

// An idle connection's queue goes once nothing was posted between two looks at it; kNever: there is nothing to go.
Nanoseconds Engine::next_look_at_idle(Qp& qp, Nanoseconds now) noexcept {
  if (qp.requester.queue_bytes() == 0) return kNever;
  const bool was_used = std::exchange(qp.posted_at_last_look, qp.requester.posted()) != qp.requester.posted();
  if (was_used || !qp.requester.is_idle() || !may_free_) return now + kIdle;
  qp.requester.release_queue();
  return kNever;
}

void Engine::on_timer(Qp& qp, Nanoseconds now) noexcept {
  const bool had_failed = qp.has_failed();
  qp.requester.on_timer(now);
  if (!had_failed && qp.has_failed()) on_qp_failed(qp);
  if (relay_ && qp.requester.silent_timeouts() >= kRelayInDoubt) relay_->client.refresh_soon(now);
  if (qp.link != nullptr && qp.requester.silent_timeouts() >= kPeerInDoubt) connector_.doubt(qp);
  if (qp.link != nullptr && !qp.link->is_active && qp.requester.silent_timeouts() >= kPassiveRetries) fail_qp(qp, QpError::kRetriesExhausted);
  timers_.set(qp, std::min(qp.requester.deadline(), now + kIdle));
  if (qp.has_work(now)) list_for_sending(qp);
  note(qp);
}

void Engine::wake_responders(Nanoseconds now) noexcept {
  next_response_ = kNever;
  for (std::size_t i = 0; i < responding_.size();) {
    Qp* const qp = responding_[i];
    if (!qp->responder.has_response()) {
      qp->is_listed_for_response = false;
      responding_[i] = responding_.back();
      responding_.pop_back();
      continue;
    }
    ++i;
    const Nanoseconds due = qp->responder.response_deadline();
    if (due <= now) {
      list_for_sending(*qp);
    } else {
      next_response_ = std::min(next_response_, due);
    }
  }
}

void Engine::wake_paced(Nanoseconds now) noexcept {
  next_paced_ = kNever;
  for (std::size_t i = 0; i < paced_.size();) {
    Qp* const qp = paced_[i];
    const Nanoseconds until = qp->requester.paced_until();
    if (until != kNever && until > now) {
      next_paced_ = std::min(next_paced_, until);
      ++i;
      continue;
    }
    if (qp->has_work(now)) list_for_sending(*qp);
    qp->is_listed_as_paced = false;
    paced_[i] = paced_.back();
    paced_.pop_back();
  }
}

void Engine::list_again_what_was_given_back(Nanoseconds now) noexcept {
  for (Qp* qp : batch_.given_back()) {
    if (qp->has_work(now)) list_for_sending(*qp);
    note(*qp);
  }
}

void Engine::send_relay_message(Nanoseconds now) noexcept {
  const auto message = relay_->client.take_due(now);
  if (!message) return;
  batch_.add_relay_message(relay_->destination, relay_->outgoing, *message);
  (void)send_batch();
}

void Engine::transmit(Nanoseconds now) noexcept {
  if (posted_packets_ != 0) pace_.on_sent(in_flight_, now);
  posted_packets_ = 0;
  for (unsigned batches = 0; !sending_.empty() && batches < kTransmitBatches;) {
    std::size_t kept = 0;
    const std::size_t listed = sending_.size();
    for (std::size_t i = 0; i < listed; ++i) {
      Qp* const qp = sending_[i];
      if (fill_from(*qp, now)) {
        sending_[kept++] = qp;
      } else {
        qp->is_listed_for_sending = false;
      }
    }
    sending_.resize(kept);
    if (kept > 1) std::rotate(sending_.begin(), sending_.begin() + 1, sending_.end());
    if (batch_.is_full() || (kept == 0 && !batch_.is_empty())) {
      ++batches;
      if (send_batch()) continue;
      list_again_what_was_given_back(now);
      return;
    }
  }
}

// Adds what the QP may send now, at most a turn. True: it has more.
bool Engine::fill_from(Qp& qp, Nanoseconds now) noexcept {
  for (unsigned i = 0; i < kTurn && !batch_.is_full() && qp.responder.response_deadline() <= now && add_response(qp); ++i) {}
  if (!batch_.is_full() && qp.congestion_reporter.is_due()) {
    qp.congestion_reporter.on_reported(now);
    batch_.add_congestion_notification(qp);
    counters_.notifications_sent.add();
  }
  for (unsigned i = 0; i < kTurn && !batch_.is_full() && qp.requester.can_send(now); ++i) batch_.add_request(qp, qp.requester.take_packet(now));
  note(qp);
  return qp.has_work(now);
}

// False: there is none.
bool Engine::add_response(Qp& qp) noexcept {
  if (qp.responder.is_answering() && !std::exchange(holds_memory_, true)) memory_.lock_shared();
  const auto response = qp.responder.take_response();
  if (response) batch_.add_response(qp, *response);
  return response.has_value();
}

bool Engine::send_batch() noexcept {
  const bool all_taken = batch_.is_empty() || batch_.send(io_, counters_);
  if (std::exchange(holds_memory_, false)) memory_.unlock_shared();
  return all_taken;
}

// Acknowledgements, also those that may wait. Who has answers to send first is listed for sending.
void Engine::flush_responses(Nanoseconds now) noexcept {
  for (Qp* qp : responding_) {
    qp->responder.acknowledge_without_delay();
    if (qp->responder.is_answering() || !add_response(*qp)) continue;
    if (!batch_.is_full() || send_batch()) continue;
    return list_again_what_was_given_back(now);
  }
  if (!send_batch()) list_again_what_was_given_back(now);
}

}  // namespace ina::engine
