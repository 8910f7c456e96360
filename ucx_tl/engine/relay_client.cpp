#include "ucx_tl/engine/relay_client.hpp"

#include <algorithm>

namespace ina::engine {
namespace {

constexpr Nanoseconds kFirstRepeat = 5 * kMillisecond;
constexpr Nanoseconds kLongestRepeat = 200 * kMillisecond;
constexpr Nanoseconds kRefreshPeriod = 10 * kSecond;       // PROTOCOL.md 5
constexpr Nanoseconds kShortestRefresh = 200 * kMillisecond;

}  // namespace

std::optional<wire::RelayMessage> RelayClient::take_due(Nanoseconds now) noexcept {
  if (refusal_ != wire::RelayRefusal::kNone || now < next_message_) return std::nullopt;
  interval_ = is_waiting_ && interval_ != 0 ? std::min(interval_ * 2, kLongestRepeat) : kFirstRepeat;
  is_waiting_ = true;
  next_message_ = now + interval_;
  return wire::RelayMessage{.kind = wire::RelayKind::kRegister, .block = block_, .nonce = nonce_, .instance = instance_};
}

bool RelayClient::on_message(const wire::RelayMessage& message, Nanoseconds now) noexcept {
  if (message.nonce != nonce_) return false;
  if (message.kind == wire::RelayKind::kRefused) {
    refusal_ = message.reason;
    next_message_ = kNever;
    return true;
  }
  const bool fits = message.block >= wire::kFirstQpnBlock && message.block <= wire::kLastQpnBlock && (block_ == 0 || message.block == block_);
  if (message.kind != wire::RelayKind::kRegistered || !fits) return false;
  block_ = message.block;
  instance_ = message.instance;
  is_waiting_ = false;
  interval_ = 0;
  next_message_ = now + kRefreshPeriod;
  last_refresh_ = now;
  return true;
}

void RelayClient::refresh_soon(Nanoseconds now) noexcept {
  if (refusal_ != wire::RelayRefusal::kNone || is_waiting_ || now - last_refresh_ < kShortestRefresh) return;
  last_refresh_ = now;
  next_message_ = now;
}

wire::RelayMessage RelayClient::unregister() const noexcept {
  return {.kind = wire::RelayKind::kUnregister, .block = block_, .nonce = nonce_, .instance = instance_};
}

}  // namespace ina::engine
