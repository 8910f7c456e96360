// poll_pace.hpp: when asking for packets is worth a system call.
// Used by Engine, whose caller may spin on progress().
// Knows only what earlier calls returned; what arrives is seen at most kLongestWait later, and at once by a caller that waits on the descriptor.
#pragma once

#include <algorithm>

#include "ucx_tl/engine/clock.hpp"

namespace ina::engine {

class PollPace {
 public:
  [[nodiscard]] bool is_due(Nanoseconds now) const noexcept { return now >= next_; }
  void poll_now() noexcept { next_ = 0; }
  // Something new was sent, which will be answered soon.
  void on_sent(std::uint64_t in_flight, Nanoseconds now) noexcept {
    last_activity_ = now;
    inbound_ = 0;
    if (in_flight == 0) period_begin_ = now;  // the time before is the caller's own
  }

  // acknowledged: packets of ours that need no answer any more. in_flight: those that still do.
  void on_received(std::size_t packets, std::uint64_t acknowledged, std::uint64_t in_flight, Nanoseconds now) noexcept {
    const bool is_bulk = in_flight >= kBulk;
    if (packets == 0) {
      // The time since the last packet, either way, tells how long the next one may take; a part of it more does not hurt.
      const Nanoseconds waited = now - last_activity_;
      if (waited >= kInboundPause) inbound_ = 0;
      next_ = now + (is_bulk ? std::min(std::max(waited / 4, gap_ / 2), kLongestWait) : std::min(waited / 8, kLongestShortGap));
      return;
    }
    if (is_bulk) {
      // Next when a batch that is worth a call should be there, or half of what is under way acknowledged: the other half keeps the path
      // busy. One acknowledgement may be for many packets.
      const Nanoseconds period = now - period_begin_;
      per_packet_ = (3 * per_packet_ + period / packets) / 4;
      if (acknowledged != 0) per_acknowledged_ = (3 * per_acknowledged_ + period / acknowledged) / 4;
      gap_ = std::min({per_packet_ * kGoodBatch, per_acknowledged_ * (in_flight / 2), kLongestGap});
    } else if (inbound_ >= kInboundBulk) {
      per_packet_ = (3 * per_packet_ + (now - period_begin_) / packets) / 4;
      gap_ = std::min(per_packet_ * kGoodBatch, kLongestInboundGap);
    } else {
      gap_ = 0;
    }
    inbound_ += packets;
    last_activity_ = now;
    period_begin_ = now;
    next_ = now + gap_;
  }

 private:
  static constexpr std::uint64_t kBulk = 16;       // fewer are a short exchange, where every microsecond counts
  static constexpr std::uint64_t kGoodBatch = 32;
  // So many packets without any of ours in between are a stream that is only received. Its last packet may come so much later.
  static constexpr std::uint64_t kInboundBulk = 64;
  static constexpr Nanoseconds kLongestInboundGap = 20 * kMicrosecond;
  static constexpr Nanoseconds kInboundPause = 100 * kMicrosecond;
  static constexpr Nanoseconds kLongestGap = 250 * kMicrosecond;
  static constexpr Nanoseconds kLongestShortGap = 64 * kMicrosecond;
  static constexpr Nanoseconds kLongestWait = kMillisecond;
  Nanoseconds next_ = 0;
  Nanoseconds gap_ = 0;
  Nanoseconds per_packet_ = 0;        // time between two packets received, in the mean
  Nanoseconds per_acknowledged_ = 0;  // and for one packet of ours to be acknowledged
  std::uint64_t inbound_ = 0;         // packets received since one was sent that asks for an answer
  Nanoseconds last_activity_ = 0;
  Nanoseconds period_begin_ = 0;
};

}  // namespace ina::engine
