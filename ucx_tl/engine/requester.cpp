#include "ucx_tl/engine/requester.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace ina::engine {
namespace {

// An acknowledgement is asked for at this distance at least, so that the peer need not acknowledge every message.
constexpr std::uint32_t kAckRequestPeriod = 16;
// After a time-out a few packets probe whether the path is there again; the rest follows as acknowledgements come in.
constexpr std::uint32_t kBurstAfterTimeout = 8;
constexpr std::uint32_t kBurstMin = 16;
// A burst of less than this part of the window leaves a peer that asks for packets once in a while with nothing to receive.
constexpr std::uint32_t kWindowPerBurstMin = 4;
// After a loss the burst grows by this many packets for each burst that is acknowledged: whatever is in flight behind a lost packet is
// sent again, so a path that loses wants few in flight.
constexpr std::uint32_t kBurstGrowth = 4;
// So many times in a row a missing packet was sent alone, and the next one was missing as well: this peer keeps nothing.
constexpr std::uint32_t kMostFutileRepeats = 3;

// RNR NAK timer codes (InfiniBand Architecture Specification, volume 1, table 45), in microseconds.
constexpr std::array<std::uint32_t, 32> kRnrMicroseconds = {
    655360, 10,   20,   30,   40,   60,   80,    120,   160,   240,   320,   480,    640,    960,    1280,   1920,
    2560,   3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

std::uint32_t packets_of(std::uint32_t length, std::uint32_t mtu) noexcept { return length == 0 ? 1 : (length + mtu - 1) / mtu; }

// The packet behind the part of a READ that `packet` belongs to.
std::uint32_t part_end(const Message& message, std::uint32_t packet) noexcept {
  return std::min(message.packets, (packet / Requester::kReadPackets + 1) * Requester::kReadPackets);
}

}  // namespace

Requester::Requester(const RequesterOptions& options, std::uint32_t first_psn, Counters& counters)
    : options_(options),
      counters_(counters),
      timeout_(options.timeout_min, options.timeout_max),
      congestion_(options.window),
      unacknowledged_psn_(first_psn),
      next_psn_(first_psn),
      sent_end_psn_(first_psn),
      end_psn_(first_psn),
      burst_(options.window),
      burst_calm_(options.window) {}

bool Requester::has_room(std::uint32_t length) const noexcept {
  return posted_ - reported_ < kQueueMessages && queued_packets() + packets_of(length, mtu_) <= kQueuePackets;
}

bool Requester::post(const Message& message) noexcept {
  assert(has_room(message.length));
  if (!queue_.make_room(reported_, posted_)) return false;
  Message& queued = queue_[posted_];
  queued = message;
  queued.first_psn = end_psn_;
  queued.packets = packets_of(message.length, mtu_);
  end_psn_ = wire::psn_add(end_psn_, queued.packets);
  if (is_answered_with_data(message.kind)) ++unanswered_;
  ++posted_;
  return true;
}

std::uint32_t Requester::in_flight() const noexcept {
  return error_ != QpError::kNone ? 0 : static_cast<std::uint32_t>(wire::psn_distance(next_psn_, unacknowledged_psn_));
}

bool Requester::can_send(Nanoseconds now) const noexcept {
  if (is_first_due_again_ && error_ == QpError::kNone && now >= hold_until_ && congestion_.is_due(now)) return true;
  if (!has_unsent() || error_ != QpError::kNone || in_flight() >= window() || now < hold_until_ || !congestion_.is_due(now)) return false;
  return may_follow();
}

// Whether the next message need not wait for answers to those before it.
bool Requester::may_follow() const noexcept {
  if (unanswered_ == 0) return true;
  const Message& next = message(cursor_message_);
  if (is_answered_with_data(next.kind) && reads_in_flight_ >= kMostReads) return false;
  return !next.fence || cursor_packet_ != 0 || reads_in_flight_ == 0;
}

Nanoseconds Requester::paced_until() const noexcept {
  const bool waits = congestion_.next_send() != 0 && error_ == QpError::kNone && (is_first_due_again_ || (has_unsent() && in_flight() < window() && may_follow()));
  return waits ? std::max(congestion_.next_send(), hold_until_) : kNever;
}

Requester::Packet Requester::take_packet(Nanoseconds now) noexcept {
  if (is_first_due_again_) {
    congestion_.on_sent(1, now);
    return take_first_again();
  }
  const Message& from = message(cursor_message_);
  Packet packet{.message = &from, .index = cursor_packet_, .offset = cursor_packet_ * mtu_, .bytes = 0, .psn = next_psn_, .ack_request = false};
  packet.bytes = std::min(from.kind == MessageKind::kRead ? (part_end(from, packet.index) - packet.index) * mtu_ : mtu_, from.length - packet.offset);
  const bool is_retransmission = next_psn_ != sent_end_psn_;
  advance_cursor();
  if (is_retransmission) {
    counters_.retransmissions.add();
  } else {
    sent_end_psn_ = next_psn_;
    if (!is_timing_) {
      is_timing_ = true;
      timed_psn_ = packet.psn;
      timed_since_ = now;
    }
  }
  packet.ack_request = !has_unsent() || in_flight() >= window() || packet.psn % kAckRequestPeriod == 0;
  if (deadline_ == kNever) arm(now);
  congestion_.on_sent(static_cast<std::uint32_t>(wire::psn_distance(next_psn_, packet.psn)), now);
  return packet;
}

Requester::Packet Requester::take_first_again() noexcept {
  const Message& from = message(acknowledged_);
  const auto index = static_cast<std::uint32_t>(wire::psn_distance(unacknowledged_psn_, from.first_psn));
  is_first_due_again_ = false;
  counters_.retransmissions.add();
  return {.message = &from, .index = index, .offset = index * mtu_, .bytes = std::min(mtu_, from.length - index * mtu_), .psn = unacknowledged_psn_, .ack_request = true};
}

void Requester::advance_cursor() noexcept {
  const Message& current = message(cursor_message_);
  const std::uint32_t end = current.kind == MessageKind::kRead ? part_end(current, cursor_packet_) : cursor_packet_ + 1;
  if (is_answered_with_data(current.kind)) ++reads_in_flight_;
  next_psn_ = wire::psn_add(next_psn_, end - cursor_packet_);
  cursor_packet_ = end;
  if (end == current.packets) {
    cursor_packet_ = 0;
    ++cursor_message_;
  }
}

void Requester::untake(std::uint32_t psn) noexcept {
  if (wire::psn_distance(psn, unacknowledged_psn_) < 0 || wire::psn_distance(psn, next_psn_) >= 0) return;
  go_back(psn);
}

void Requester::go_back(std::uint32_t psn) noexcept {
  is_timing_ = false;
  if (psn == unacknowledged_psn_) is_first_due_again_ = was_sent_alone_ = false;
  next_psn_ = psn;
  cursor_message_ = acknowledged_;
  while (cursor_message_ != posted_) {
    const Message& candidate = message(cursor_message_);
    cursor_packet_ = static_cast<std::uint32_t>(wire::psn_distance(psn, candidate.first_psn));
    if (cursor_packet_ < candidate.packets) break;
    ++cursor_message_;
  }
  if (cursor_message_ == posted_) cursor_packet_ = 0;
  count_reads_in_flight();
}

// Quickly up to where the last loss was met, then carefully.
void Requester::grow_burst(std::uint32_t acknowledged) noexcept {
  if (burst_ < burst_calm_) {
    burst_ = std::min(burst_calm_, burst_ + acknowledged);
    return;
  }
  burst_growth_ += acknowledged * kBurstGrowth;
  burst_ = std::min(options_.window, burst_ + burst_growth_ / burst_);
  burst_growth_ %= burst_;
}

void Requester::shrink_burst(std::uint32_t burst) noexcept {
  burst_calm_ = std::min(std::max({burst_ / 2, kBurstMin, options_.window / kWindowPerBurstMin}), options_.window);
  burst_ = std::min(burst, burst_calm_);
}

void Requester::arm(Nanoseconds now) noexcept { deadline_ = now + timeout_.timeout(); }

void Requester::undo_timeout() noexcept {
  burst_ = before_timeout_->burst;
  burst_calm_ = before_timeout_->burst_calm;
  is_timing_ = before_timeout_->is_timing;
  timed_psn_ = before_timeout_->timed_psn;
  timed_since_ = before_timeout_->timed_since;
}

void Requester::acknowledge_before(std::uint32_t psn, Nanoseconds now) noexcept {
  const std::int32_t newly = wire::psn_distance(psn, unacknowledged_psn_);
  if (newly <= 0) return;
  // Packets are acknowledged that were not sent again: the first transmission had arrived, the time-out was too short.
  // Answers to READs come one by one: as long as they are of what was asked for twice, they say nothing about that.
  const bool was_too_early = before_timeout_ && wire::psn_distance(psn, next_psn_) > 0;
  if (was_too_early) undo_timeout();
  if (was_too_early || next_psn_ == sent_end_psn_) before_timeout_.reset();
  if (is_timing_ && wire::psn_distance(psn, timed_psn_) > 0) {
    timeout_.add_sample(now - timed_since_);
    is_timing_ = false;
  }
  if (std::exchange(was_sent_alone_, false)) {
    const bool has_kept_others = wire::psn_distance(psn, sent_alone_psn_) > 1;
    futile_repeats_ = has_kept_others ? 0 : futile_repeats_ + 1;
  }
  is_first_due_again_ = false;
  timeouts_in_a_row_ = 0;
  hold_until_ = 0;
  unacknowledged_psn_ = psn;
  grow_burst(static_cast<std::uint32_t>(newly));
  congestion_.on_acknowledged(static_cast<std::uint32_t>(newly), timeout_.smoothed(), now);
  while (acknowledged_ != posted_) {
    const Message& oldest = message(acknowledged_);
    if (wire::psn_distance(psn, wire::psn_add(oldest.first_psn, oldest.packets)) < 0) break;
    ++acknowledged_;
  }
  // What was to be sent again may have arrived after all.
  if (wire::psn_distance(psn, next_psn_) > 0) go_back(psn);
  if (unacknowledged_psn_ == sent_end_psn_) {
    deadline_ = kNever;
  } else {
    arm(now);
  }
}

void Requester::on_acknowledge(std::uint32_t psn, std::uint8_t syndrome, Nanoseconds now) noexcept {
  if (error_ != QpError::kNone) return;
  // Only a PSN that was sent, acknowledged or not, can be meant; an old one has nothing new to say.
  if (wire::psn_distance(psn, sent_end_psn_) >= 0) {
    counters_.bad_acks.add();
    return;
  }
  // Also one for what was acknowledged last answers a packet that was sent again.
  if (wire::psn_distance(psn, unacknowledged_psn_) >= -1) silent_timeouts_ = 0;
  if (wire::is_ack(syndrome)) {
    counters_.acks_received.add();
    const std::uint32_t end = credible_end(wire::psn_add(psn, 1));
    acknowledge_before(end, now);
    if (wire::psn_distance(psn, end) >= 0) on_missing_answer(end, psn, now);
    return;
  }
  if (wire::psn_distance(psn, unacknowledged_psn_) < 0) return;
  psn = credible_end(psn);
  if (wire::is_rnr_nak(syndrome)) {
    counters_.rnr_naks_received.add();
    acknowledge_before(psn, now);
    go_back(psn);
    hold_until_ = now + kRnrMicroseconds[syndrome & 0x1f] * kMicrosecond;
    deadline_ = hold_until_;
    return;
  }
  switch (syndrome) {
    case wire::kSyndromeNakSequence: {
      counters_.naks_received.add();
      acknowledge_before(psn, now);
      timeout_.restore();  // a gap was seen: it was not the time-out that was too short
      if (wire::psn_distance(next_psn_, psn) > 0 && !was_repeated_just_now(psn, now)) repeat_from(psn, now);
      return;
    }
    case wire::kSyndromeNakInvalidRequest:
      acknowledge_before(psn, now);
      return fail(QpError::kInvalidRequest);
    case wire::kSyndromeNakRemoteAccess:
      acknowledge_before(psn, now);
      return fail(QpError::kRemoteAccess);
    case wire::kSyndromeNakOperational:
      acknowledge_before(psn, now);
      return fail(QpError::kRemoteOperational);
    default:
      counters_.bad_acks.add();
  }
}

// The receiver and a switch may both ask for the same packet, and more than once.
bool Requester::was_repeated_just_now(std::uint32_t psn, Nanoseconds now) const noexcept {
  const Nanoseconds crossing = std::max(std::min(timeout_.smoothed(), 4 * timeout_.shortest()), 100 * kMicrosecond);
  return psn == gone_back_to_ && gone_back_at_ != 0 && now - gone_back_at_ < crossing;
}

void Requester::repeat_from(std::uint32_t psn, Nanoseconds now) noexcept {
  before_timeout_.reset();
  const bool is_alone = repeat_first_alone();
  if (!is_alone) go_back(psn);
  gone_back_to_ = psn;
  gone_back_at_ = now;
  latest_answer_ = psn;
  if (is_alone) {
    burst_ = burst_calm_ = std::max(burst_ - burst_ / 8, options_.window / 2);
  } else {
    shrink_burst(options_.window);
  }
  arm(now);
}

// A peer of our kind keeps the middle of a WRITE behind a missing packet of it (Responder::store_ahead()), another one drops it, and then asks
// for the next packet as well: found out by trying. What follows behind the middle is sent again in any case.
bool Requester::repeat_first_alone() noexcept {
  const Message& oldest = message(acknowledged_);
  const auto index = static_cast<std::uint32_t>(wire::psn_distance(unacknowledged_psn_, oldest.first_psn));
  if (futile_repeats_ >= kMostFutileRepeats || oldest.kind != MessageKind::kWrite || index == 0 || index + 2 >= oldest.packets) return false;
  // The answer to such a repetition: the one behind it is missing.
  if (unacknowledged_psn_ == wire::psn_add(sent_alone_psn_, 1) && futile_repeats_ != 0) return false;
  const std::uint32_t end_of_middle = wire::psn_add(oldest.first_psn, oldest.packets - 1);
  if (wire::psn_distance(next_psn_, end_of_middle) > 0) go_back(end_of_middle);
  is_timing_ = false;
  is_first_due_again_ = true;
  was_sent_alone_ = wire::psn_distance(next_psn_, unacknowledged_psn_) > 1;
  sent_alone_psn_ = unacknowledged_psn_;
  return true;
}

void Requester::on_timer(Nanoseconds now) noexcept {
  if (now < deadline_ || error_ != QpError::kNone) return;
  if (hold_until_ != 0) {  // the peer asked for this pause: not a time-out
    hold_until_ = 0;
    arm(now);
    return;
  }
  counters_.timeouts.add();
  if (options_.retry_limit != RequesterOptions::kNoLimit && silent_timeouts_ >= options_.retry_limit) return fail(QpError::kRetriesExhausted);
  ++silent_timeouts_;
  if (timeouts_in_a_row_++ == 0 && !before_timeout_) before_timeout_ = {burst_, burst_calm_, is_timing_, timed_psn_, timed_since_};
  timeout_.back_off();
  shrink_burst(kBurstAfterTimeout);
  go_back(unacknowledged_psn_);
  arm(now);
}

void Requester::fail(QpError error) noexcept {
  if (error_ != QpError::kNone) return;
  error_ = error;
  deadline_ = kNever;
}

std::optional<Requester::Completed> Requester::take_completed() noexcept {
  if (!has_completed()) return std::nullopt;
  const Message& oldest = message(reported_);
  const bool ok = reported_ != acknowledged_;
  ++reported_;
  if (!ok) ++acknowledged_;
  if (cursor_message_ < reported_) {
    cursor_message_ = reported_;
    cursor_packet_ = 0;
  }
  return Completed{.token = oldest.token, .buffer = oldest.buffer, .ok = ok};
}

}  // namespace ina::engine
