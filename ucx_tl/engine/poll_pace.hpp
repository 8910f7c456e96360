// poll_pace.hpp: when asking for packets is worth a system call.
// Used by Engine, whose caller may spin on progress().
// Knows only what earlier calls returned: it never delays by more than kLongestGap.
#pragma once

#include <algorithm>

#include "ucx_tl/engine/clock.hpp"

namespace ina::engine {

class PollPace {
 public:
  [[nodiscard]] bool is_due(Nanoseconds now) const noexcept { return now >= next_; }
  void poll_now() noexcept { next_ = 0; }
  // Something new was sent, which will be answered soon.
  void on_sent(Nanoseconds now) noexcept { last_activity_ = now; }

  // in_flight: packets sent and not acknowledged, so that many answers may be under way.
  void on_received(std::size_t packets, std::uint64_t in_flight, Nanoseconds now) noexcept {
    if (packets != 0) last_activity_ = now;
    if (in_flight < kBulk) {
      // A short exchange: the time since the last packet, either way, tells how long the next one may take; an eighth more does not hurt.
      gap_ = packets != 0 ? 0 : std::min((now - last_activity_) / 8, kLongestGap);
    } else if (packets >= kGoodBatch) {
      gap_ /= 2;
    } else if (packets < kSmallBatch) {
      gap_ = std::clamp(gap_ * 2, kShortestGap, kLongestGap);
    }
    next_ = now + gap_;
  }

 private:
  static constexpr std::uint64_t kBulk = 16;
  static constexpr std::size_t kGoodBatch = 32;
  static constexpr std::size_t kSmallBatch = 12;
  static constexpr Nanoseconds kShortestGap = 2 * kMicrosecond;
  static constexpr Nanoseconds kLongestGap = 64 * kMicrosecond;
  Nanoseconds next_ = 0;
  Nanoseconds gap_ = 0;
  Nanoseconds last_activity_ = 0;
};

}  // namespace ina::engine
