// requester.hpp: the sending half of a reliable connection: messages in order, PSNs, window, acknowledgements, answers, going back, timer.
// Used by Qp. Says which packet is to be sent next; what was acknowledged is taken by take_completed().
// Does not build packets, look at addresses or call anybody back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ucx_tl/engine/clock.hpp"
#include "ucx_tl/engine/congestion.hpp"
#include "ucx_tl/engine/counters.hpp"
#include "ucx_tl/engine/message.hpp"
#include "ucx_tl/engine/message_queue.hpp"
#include "ucx_tl/engine/rtt.hpp"

namespace ina::engine {

struct RequesterOptions {
  std::uint32_t window = 256;             // packets in flight
  std::uint32_t retry_limit = kNoLimit;   // time-outs in a row without any word of the peer
  Nanoseconds timeout_min = kMillisecond;
  Nanoseconds timeout_max = 100 * kMillisecond;
  static constexpr std::uint32_t kNoLimit = ~0u;
};

enum class QpError : std::uint8_t { kNone, kRetriesExhausted, kInvalidRequest, kRemoteAccess, kRemoteOperational, kRelayLost, kCancelled, kRefused, kReset, kNoAnswer };

class Requester {
 public:
  // Messages that were posted and not yet reported.
  static constexpr std::uint32_t kQueueMessages = MessageQueue::kMost;
  // PSNs that are posted and not acknowledged: a quarter of the PSN space, so that comparisons are always unambiguous.
  static constexpr std::uint32_t kQueuePackets = 1u << 22;

  // A READ is requested in parts of so many packets, each with a request of its own, so that the window holds for answers too. Parts begin at
  // multiples of it, counted from the message's begin, and a repeated request ends where the first one did.
  static constexpr std::uint32_t kReadPackets = 16;
  // Requests for READs and atomics that are not answered yet: what a peer must be able to remember.
  static constexpr std::uint32_t kMostReads = 16;

  Requester(const RequesterOptions&, std::uint32_t first_psn, Counters&);

  void set_mtu(std::uint32_t mtu) noexcept { mtu_ = mtu; }
  // False: not now.
  [[nodiscard]] bool has_room(std::uint32_t length) const noexcept;
  // has_room(length) holds. False: memory is short, not now.
  [[nodiscard]] bool post(const Message&) noexcept;

  struct Packet {
    const Message* message;
    std::uint32_t index;   // of the packet in its message
    std::uint32_t offset;  // of its payload
    std::uint32_t bytes;   // of payload in this packet, or of payload that a READ request asks for
    std::uint32_t psn;
    bool ack_request;
  };
  [[nodiscard]] bool can_send(Nanoseconds now) const noexcept;
  // The next packet, which is taken to be sent. can_send(now) holds.
  [[nodiscard]] Packet take_packet(Nanoseconds now) noexcept;
  // The packet with this PSN, and those after it, were not sent after all.
  void untake(std::uint32_t psn) noexcept;

  void on_acknowledge(std::uint32_t psn, std::uint8_t syndrome, Nanoseconds now) noexcept;
  // The peer saw a congestion mark.
  void on_congestion(Nanoseconds now) noexcept { congestion_.on_notification(in_flight(), timeout_.smoothed(), now); }
  // A response to a READ, or an atomic's.
  void on_answer(const wire::Packet&, Nanoseconds now) noexcept;
  // To be called when deadline() has passed.
  void on_timer(Nanoseconds now) noexcept;
  // When on_timer() is wanted; kNever if nothing is waited for.
  [[nodiscard]] Nanoseconds deadline() const noexcept { return deadline_; }
  // When can_send() becomes true although nothing else happens than that time passes: packets are paced. kNever: not so.
  [[nodiscard]] Nanoseconds paced_until() const noexcept;
  void fail(QpError error) noexcept;

  struct Completed {
    void* token;
    std::byte* buffer;
    bool ok;  // acknowledged; false: given up after an error
  };
  // Acknowledged (or, after an error, all) messages, in order, once each.
  [[nodiscard]] std::optional<Completed> take_completed() noexcept;
  [[nodiscard]] bool has_completed() const noexcept { return reported_ != acknowledged_ || (error_ != QpError::kNone && reported_ != posted_); }
  [[nodiscard]] std::uint64_t posted() const noexcept { return posted_; }
  [[nodiscard]] std::uint64_t reported() const noexcept { return reported_; }
  [[nodiscard]] bool is_idle() const noexcept { return reported_ == posted_; }
  [[nodiscard]] bool has_unsent() const noexcept { return cursor_message_ != posted_; }
  [[nodiscard]] std::uint32_t in_flight() const noexcept;
  [[nodiscard]] QpError error() const noexcept { return error_; }
  [[nodiscard]] std::uint32_t silent_timeouts() const noexcept { return silent_timeouts_; }
  [[nodiscard]] std::size_t queue_bytes() const noexcept { return queue_.bytes(); }
  void release_queue() noexcept { queue_.release(); }  // is_idle() holds

 private:
  [[nodiscard]] const Message& message(std::uint64_t number) const noexcept { return queue_[number]; }
  [[nodiscard]] std::uint32_t queued_packets() const noexcept { return static_cast<std::uint32_t>(wire::psn_distance(end_psn_, unacknowledged_psn_)); }
  [[nodiscard]] bool may_follow() const noexcept;
  [[nodiscard]] std::uint32_t credible_end(std::uint32_t psn) const noexcept;
  void acknowledge_before(std::uint32_t psn, Nanoseconds now) noexcept;
  void on_missing_answer(std::uint32_t psn, std::uint32_t later_psn, Nanoseconds now) noexcept;
  void repeat_from(std::uint32_t psn, Nanoseconds now) noexcept;
  [[nodiscard]] bool repeat_first_alone() noexcept;
  [[nodiscard]] Packet take_first_again() noexcept;
  [[nodiscard]] bool was_repeated_just_now(std::uint32_t psn, Nanoseconds now) const noexcept;
  [[nodiscard]] bool is_expected(const Message&, const wire::Packet&) const noexcept;
  void count_reads_in_flight() noexcept;
  void undo_timeout() noexcept;
  void go_back(std::uint32_t psn) noexcept;
  void advance_cursor() noexcept;
  void grow_burst(std::uint32_t acknowledged) noexcept;
  void shrink_burst(std::uint32_t burst) noexcept;
  void arm(Nanoseconds now) noexcept;
  [[nodiscard]] std::uint32_t window() const noexcept { return burst_ < congestion_.window() ? burst_ : congestion_.window(); }

  RequesterOptions options_;
  Counters& counters_;
  RetransmissionTimeout timeout_;
  CongestionControl congestion_;
  MessageQueue queue_;
  std::uint32_t mtu_ = kMinMtu;
  QpError error_ = QpError::kNone;

  // Message numbers count up for ever: reported <= acknowledged <= cursor <= posted.
  std::uint64_t reported_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t cursor_message_ = 0;  // the message that the next packet is of
  std::uint64_t posted_ = 0;
  std::uint32_t cursor_packet_ = 0;   // number of the next packet in it

  // unacknowledged <= next <= sent_end <= end, as PSNs.
  std::uint32_t unacknowledged_psn_;  // the oldest that is not acknowledged
  std::uint32_t next_psn_;            // the next to be sent; before sent_end_psn_ after going back
  std::uint32_t sent_end_psn_;        // no PSN from here on was ever sent
  std::uint32_t end_psn_;             // of the next message to be posted

  std::uint32_t unanswered_ = 0;      // READs and atomics that were posted and are not complete
  std::uint32_t reads_in_flight_ = 0; // requests for parts of them

  // The peer may keep what came behind a missing packet: then that one alone is sent again.
  bool is_first_due_again_ = false;   // the oldest that is not acknowledged, not counted in next_psn_
  bool was_sent_alone_ = false;       // the answer to it tells whether the peer has kept the others
  std::uint32_t sent_alone_psn_ = 0;
  std::uint32_t futile_repeats_ = 0;  // in a row, after which the peer had not kept them

  std::uint32_t burst_;               // packets in flight that are allowed now, up to options_.window
  std::uint32_t burst_calm_;          // up to here the burst grows quickly
  std::uint32_t burst_growth_ = 0;    // in 1 / burst packets
  Nanoseconds hold_until_ = 0;        // after an RNR NAK
  Nanoseconds deadline_ = kNever;
  std::uint32_t timeouts_in_a_row_ = 0;  // without progress
  std::uint32_t silent_timeouts_ = 0;    // without an answer: a peer that says "not ready" for long is no dead one

  // What the first time-out in a row has changed, to be undone if it turns out that nothing was lost.
  struct BeforeTimeout {
    std::uint32_t burst, burst_calm;
    bool is_timing;
    std::uint32_t timed_psn;
    Nanoseconds timed_since;
  };
  std::optional<BeforeTimeout> before_timeout_;

  bool is_timing_ = false;            // one packet at a time is timed
  std::uint32_t timed_psn_ = 0;
  Nanoseconds timed_since_ = 0;
  Nanoseconds gone_back_at_ = 0;
  std::uint32_t gone_back_to_ = 0;
  std::uint32_t latest_answer_ = 0;   // that was ahead of what is missing, since then
};

}  // namespace ina::engine
