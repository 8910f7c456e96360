#include "ucx_tl/engine/congestion.hpp"

#include <algorithm>

namespace ina::engine {
namespace {

constexpr std::uint32_t kPacket = 256;  // unit of windows: fractions of a packet
constexpr std::uint32_t kLeastWindow = kPacket / 4;
constexpr std::uint32_t kOne = 1024;    // unit of alpha
constexpr std::uint32_t kGain = 16;     // alpha follows what it sees by one in so many
constexpr std::uint32_t kFastSteps = 5;
constexpr std::uint32_t kAdditive = kPacket;
constexpr std::uint32_t kHyper = 8 * kPacket;
constexpr std::uint32_t kWindowsOfAStep = 8;
// Shortest time between two steps: notifications come at most every 50 us.
constexpr Nanoseconds kShortestPeriod = 55 * kMicrosecond;
// A round trip that nobody has measured yet.
constexpr Nanoseconds kUnknownRoundTrip = 50 * kMicrosecond;
// After so many periods without a word a connection was idle, and congestion is long over.
constexpr Nanoseconds kForgottenAfter = 1000;
// Paced a little faster than a window in a round trip, which would lose what jitter takes.
constexpr std::uint32_t kPaceNumerator = 4, kPaceDenominator = 5;
// Packets that leave together at most, so that they share a system call.
constexpr std::uint32_t kLargestTurn = 8;
// What a sender that came late may catch up, in turns.
constexpr std::uint32_t kTurnsToCatchUp = 4;

}  // namespace

std::uint32_t CongestionControl::window() const noexcept {
  return is_limiting() ? std::max((window_ + kPacket - 1) / kPacket, kLeastInFlight) : largest_;
}

void CongestionControl::set_round_trip(Nanoseconds round_trip) noexcept {
  round_trip_ = round_trip == 0 ? kUnknownRoundTrip : round_trip;
  period_ = std::max(round_trip_, kShortestPeriod);
}

void CongestionControl::on_notification(std::uint32_t in_flight, Nanoseconds round_trip, Nanoseconds now) noexcept {
  set_round_trip(round_trip);
  if (is_limiting()) {
    recover(now);
    // What was sent before the last cut is still under way.
    if (is_limiting() && now - last_cut_ < round_trip_) return;
  }
  if (!is_limiting()) {
    window_ = std::clamp(in_flight, 1u, largest_) * kPacket;
    alpha_ = kOne;
    paid_until_ = now;
  }
  cut(now);
}

void CongestionControl::cut(Nanoseconds now) noexcept {
  target_ = window_;
  const std::uint64_t part = std::uint64_t{window_} * alpha_ / (2 * kOne);
  window_ = std::max(window_ - static_cast<std::uint32_t>(part), kLeastWindow);
  alpha_ += (kOne - alpha_) / kGain;
  time_stage_ = packet_stage_ = acknowledged_ = 0;
  last_cut_ = last_step_ = now;
}

void CongestionControl::on_acknowledged(std::uint32_t packets, Nanoseconds round_trip, Nanoseconds now) noexcept {
  if (!is_limiting()) return;
  set_round_trip(round_trip);
  recover(now);
  acknowledged_ += packets;
  if (!is_limiting() || acknowledged_ < kWindowsOfAStep * window()) return;
  acknowledged_ = 0;
  ++packet_stage_;
  grow();
}

// The periods that have gone by without a notification.
void CongestionControl::recover(Nanoseconds now) noexcept {
  if (now - last_step_ > kForgottenAfter * period_) return stop_limiting();
  while (is_limiting() && now - last_step_ >= period_) {
    last_step_ += period_;
    alpha_ -= alpha_ / kGain;
    ++time_stage_;
    grow();
  }
}

void CongestionControl::grow() noexcept {
  if (std::min(time_stage_, packet_stage_) > kFastSteps) {
    target_ += kHyper;
  } else if (std::max(time_stage_, packet_stage_) > kFastSteps) {
    target_ += kAdditive;
  }
  target_ = std::min(target_, 2 * largest_ * kPacket);
  window_ = (window_ + target_) / 2;
  if (window_ >= largest_ * kPacket) stop_limiting();
}

void CongestionControl::stop_limiting() noexcept {
  window_ = 0;
  next_send_ = 0;
}

// Packets take a part of the round trip each. Who has used up the time waits until some more may go together.
void CongestionControl::pace(std::uint32_t packets, Nanoseconds now) noexcept {
  const Nanoseconds each = round_trip_ * kPacket * kPaceNumerator / (Nanoseconds{window_} * kPaceDenominator);
  const std::uint32_t turn = std::clamp(window_ / kPacket / 4, 1u, kLargestTurn);
  paid_until_ = std::max(paid_until_, now - std::min(now, kTurnsToCatchUp * turn * each)) + packets * each;
  next_send_ = paid_until_ > now ? paid_until_ + (turn - 1) * each : 0;
}

}  // namespace ina::engine
