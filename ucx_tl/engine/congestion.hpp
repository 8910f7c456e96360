// congestion.hpp: how many packets a connection may have in flight, and when it may send, once its peer has reported congestion marks.
// Used by Requester, whose own window reacts to losses; the smaller of the two counts.
// Without a mark it limits nothing, keeps no time and costs a comparison.
#pragma once

#include <cstdint>

#include "ucx_tl/engine/clock.hpp"

namespace ina::engine {

// DCQCN's reaction (Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015), applied to a window instead of a rate:
// software keeps neither a NIC's clock nor its knowledge of the link's speed, while a window follows from what is acknowledged.
// A notification (CNP) cuts the window by alpha / 2, where alpha tells how often notifications come; then the window returns in steps,
// one for each period without a notification and one for each some windows acknowledged: first half of the way back (fast recovery), then
// beyond it by a packet (additive), then by several (hyper). Packets are paced over the round trip, some at a time.
class CongestionControl {
 public:
  // Even under the worst congestion so many packets may be in flight: acknowledgements keep coming. Pacing may still spread them.
  static constexpr std::uint32_t kLeastInFlight = 4;

  explicit CongestionControl(std::uint32_t largest_window) noexcept : largest_(largest_window) {}

  [[nodiscard]] bool is_limiting() const noexcept { return window_ != 0; }
  // Packets that may be in flight.
  [[nodiscard]] std::uint32_t window() const noexcept;
  // By its pace alone, whatever is in flight.
  [[nodiscard]] bool is_due(Nanoseconds now) const noexcept { return now >= next_send_; }
  // 0: at once.
  [[nodiscard]] Nanoseconds next_send() const noexcept { return next_send_; }

  // The peer saw a mark. round_trip: smoothed, 0 if unknown. in_flight: packets, at this moment.
  void on_notification(std::uint32_t in_flight, Nanoseconds round_trip, Nanoseconds now) noexcept;
  void on_acknowledged(std::uint32_t packets, Nanoseconds round_trip, Nanoseconds now) noexcept;
  // packets: those sent, or asked for by a READ.
  void on_sent(std::uint32_t packets, Nanoseconds now) noexcept {
    if (is_limiting()) pace(packets, now);
  }

 private:
  void cut(Nanoseconds now) noexcept;
  void recover(Nanoseconds now) noexcept;
  void grow() noexcept;
  void stop_limiting() noexcept;
  void pace(std::uint32_t packets, Nanoseconds now) noexcept;
  void set_round_trip(Nanoseconds round_trip) noexcept;

  std::uint32_t largest_;
  std::uint32_t window_ = 0;       // in 1 / kPacket packets; 0: not limiting
  std::uint32_t target_ = 0;       // where the window was before the last cut, and beyond
  std::uint32_t alpha_ = 0;        // in 1 / kOne
  std::uint32_t time_stage_ = 0;   // steps since the last cut
  std::uint32_t packet_stage_ = 0;
  std::uint32_t acknowledged_ = 0; // packets since the last step by packets
  Nanoseconds period_ = 0;
  Nanoseconds round_trip_ = 0;
  Nanoseconds last_cut_ = 0;
  Nanoseconds last_step_ = 0;
  Nanoseconds paid_until_ = 0;     // the packets sent so far have used the time up to here
  Nanoseconds next_send_ = 0;
};

// The receiver's side of it: at most one notification in kInterval, as RoCE's notification points send them.
class CongestionReporter {
 public:
  static constexpr Nanoseconds kInterval = 50 * kMicrosecond;
  void on_mark(Nanoseconds now) noexcept {
    if (now >= next_) is_due_ = true;
  }
  [[nodiscard]] bool is_due() const noexcept { return is_due_; }
  void on_reported(Nanoseconds now) noexcept {
    is_due_ = false;
    next_ = now + kInterval;
  }

 private:
  bool is_due_ = false;
  Nanoseconds next_ = 0;
};

}  // namespace ina::engine
