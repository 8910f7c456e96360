// relay_client.hpp: an interface's registration with a relay (PROTOCOL.md 5): which messages are due, what answers mean.
// Used by Engine, and by open_with_relay() while the interface opens.
// Does not send or receive: it is asked for messages and told of answers.
#pragma once

#include <cstdint>
#include <optional>

#include "ucx_tl/engine/clock.hpp"
#include "wire/relay_message.hpp"

namespace ina::engine {

class RelayClient {
 public:
  explicit RelayClient(std::uint64_t nonce) noexcept : nonce_(nonce) {}

  // The message that is due now, if any; it is taken to be sent.
  [[nodiscard]] std::optional<wire::RelayMessage> take_due(Nanoseconds now) noexcept;
  [[nodiscard]] Nanoseconds deadline() const noexcept { return next_message_; }
  // False: not an answer to us.
  bool on_message(const wire::RelayMessage&, Nanoseconds now) noexcept;
  // Connections are in trouble: perhaps the relay started again and does not know us.
  void refresh_soon(Nanoseconds now) noexcept;
  [[nodiscard]] wire::RelayMessage unregister() const noexcept;

  [[nodiscard]] bool is_registered() const noexcept { return block_ != 0 && refusal_ == wire::RelayRefusal::kNone; }
  [[nodiscard]] std::uint16_t block() const noexcept { return block_; }
  [[nodiscard]] std::uint64_t instance() const noexcept { return instance_; }
  [[nodiscard]] wire::RelayRefusal refusal() const noexcept { return refusal_; }  // not kNone: final

 private:
  std::uint64_t nonce_;
  std::uint64_t instance_ = 0;
  std::uint16_t block_ = 0;  // 0: not registered yet
  wire::RelayRefusal refusal_ = wire::RelayRefusal::kNone;
  bool is_waiting_ = true;   // for an answer
  Nanoseconds next_message_ = 0;
  Nanoseconds interval_ = 0;
  Nanoseconds last_refresh_ = 0;
};

}  // namespace ina::engine
