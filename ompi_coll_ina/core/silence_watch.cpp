#include "ompi_coll_ina/core/silence_watch.hpp"

#include <algorithm>

#include "wire/ina_header.hpp"

namespace ina::core {

SilenceWatch::Verdict SilenceWatch::look(std::uint16_t self, std::uint32_t contributed_end, std::uint32_t result_end, std::uint64_t now) {
  if (since_ == 0 || result_end != lacking_) {
    lacking_ = result_end;
    since_ = now;
    next_probe_ = now + failover_ns_ / 4;
    backoff_ = 1;
    all_contributed_ = 0;
    return Verdict::kQuiet;
  }
  if (now < next_probe_ && all_contributed_ == 0) return Verdict::kQuiet;
  contributed_[self] = contributed_end;
  const bool all = std::ranges::all_of(contributed_, [&](std::uint32_t end) { return wire::seq_distance(end, lacking_) > 0; });
  if (all && all_contributed_ == 0) all_contributed_ = now;
  if (all_contributed_ != 0) return now - all_contributed_ >= failover_ns_ ? Verdict::kFault : Verdict::kQuiet;
  next_probe_ = now + failover_ns_ / 4 * backoff_;
  backoff_ = std::min(backoff_ * 2, kMaxBackoff);
  ++round_;
  return Verdict::kProbe;
}

// Messages of one member do not overtake: a later status is never older.
void SilenceWatch::take(std::uint16_t member, const StatusMessage& status) {
  if (wire::seq_distance(status.contributed_end, contributed_[member]) > 0) contributed_[member] = status.contributed_end;
}

}  // namespace ina::core
