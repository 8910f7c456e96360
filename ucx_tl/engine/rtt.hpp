// rtt.hpp: the retransmission time-out, adapted to round-trip times in the manner of RFC 6298.
// Used by Requester.
// Does not decide which packets are timed: only packets sent once may be (Karn).
#pragma once

#include <algorithm>

#include "ucx_tl/engine/clock.hpp"

namespace ina::engine {

class RetransmissionTimeout {
 public:
  RetransmissionTimeout(Nanoseconds minimum, Nanoseconds maximum) noexcept
      : minimum_(minimum), maximum_(maximum), timeout_(std::min(maximum, std::max(minimum, kInitial))) {}

  void add_sample(Nanoseconds round_trip) noexcept {
    // An acknowledgement may wait for the slowest member of a group for seconds: that tells nothing about the path. Milliseconds may well be the
    // path's, where a window waits for a slow link.
    shortest_ = std::min(shortest_, round_trip);
    round_trip = std::min(round_trip, maximum_ / 4);
    if (smoothed_ == 0) {
      smoothed_ = round_trip;
      variation_ = round_trip / 2;
    } else {
      const Nanoseconds difference = smoothed_ > round_trip ? smoothed_ - round_trip : round_trip - smoothed_;
      variation_ = (3 * variation_ + difference) / 4;
      smoothed_ = (7 * smoothed_ + round_trip) / 8;
    }
    timeout_ = std::clamp(smoothed_ + 4 * variation_, minimum_, maximum_);
  }
  // Until the next sample. Progress alone does not restore it: as long as a time-out that is too short has everything sent twice, nothing is timed,
  // and the longer time would never be learnt.
  void back_off() noexcept { timeout_ = std::min(timeout_ * 2, maximum_); }
  // What the samples say, without the back-off: packets are lost indeed, and the path is no longer than it was.
  void restore() noexcept {
    if (smoothed_ != 0) timeout_ = std::clamp(smoothed_ + 4 * variation_, minimum_, maximum_);
  }
  [[nodiscard]] Nanoseconds timeout() const noexcept { return timeout_; }
  [[nodiscard]] Nanoseconds smoothed() const noexcept { return smoothed_; }
  // Of the path alone: the other samples may contain the time that a group's slowest member took.
  [[nodiscard]] Nanoseconds shortest() const noexcept { return shortest_; }

 private:
  static constexpr Nanoseconds kInitial = 5 * kMillisecond;  // nothing is known yet: between a LAN's and a busy host's
  Nanoseconds minimum_;
  Nanoseconds maximum_;
  Nanoseconds timeout_;
  Nanoseconds smoothed_ = 0;
  Nanoseconds shortest_ = kSecond;
  Nanoseconds variation_ = 0;
};

}  // namespace ina::engine
