#include "switch/aggregator/outcome.hpp"

#include <array>

namespace ina::aggregator {

const char* name(Drop reason) noexcept {
  static constexpr std::array<const char*, static_cast<std::size_t>(Drop::kCount)> kNames = {
      "none",           "forbidden-kind",    "malformed-bind", "bind-mismatch",  "bind-conflict",   "not-active",       "bad-icrc",
      "unknown-member", "foreign-source",    "wrong-destination", "wrong-epoch", "wrong-psn",       "wrong-rkey",       "wrong-address",
      "wrong-dma-length", "wrong-length",    "unsupported",    "wrong-contributions", "wrong-trailer", "latch-mismatch", "gap",
      "open-duplicate", "quiet-duplicate",   "too-old",        "slot-busy",      "slot-older",      "ack-unreleased",   "stale-nak",
  };
  const auto index = static_cast<std::size_t>(reason);
  return index < kNames.size() ? kNames[index] : "unknown";
}

}  // namespace ina::aggregator
