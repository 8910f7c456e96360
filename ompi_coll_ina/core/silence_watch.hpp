// silence_watch.hpp: tells a result that will not come from members that have not contributed yet. Never by time alone.
// Used by GroupLife. A member that lacks its oldest result asks all others (probe) what they have put; only a while after all have put that chunk it is a fault.
// Sends nothing itself.
#pragma once

#include <cstdint>
#include <vector>

#include "ompi_coll_ina/core/life_message.hpp"

namespace ina::core {

class SilenceWatch {
 public:
  enum class Verdict : std::uint8_t { kQuiet, kProbe, kFault };

  SilenceWatch(std::uint16_t members, std::uint32_t first_seq, std::uint64_t failover_ns)
      : failover_ns_(failover_ns), contributed_(members, first_seq), lacking_(first_seq) {}

  // Called from progress while a result is outstanding: `result_end` is lacking, this member has put everything before `contributed_end`.
  [[nodiscard]] Verdict look(std::uint16_t self, std::uint32_t contributed_end, std::uint32_t result_end, std::uint64_t now);
  // Nothing is outstanding.
  void rest() noexcept { since_ = 0; }
  void take(std::uint16_t member, const StatusMessage& status);
  // Of the probe that look() has just asked for.
  [[nodiscard]] std::uint32_t round() const noexcept { return round_; }

 private:
  static constexpr std::uint64_t kMaxBackoff = 16;

  const std::uint64_t failover_ns_;
  std::vector<std::uint32_t> contributed_;  // per member, the latest that is known
  std::uint32_t lacking_;
  std::uint64_t since_ = 0;        // this result has been lacking since then; 0: nothing is lacking
  std::uint64_t next_probe_ = 0;
  std::uint64_t backoff_ = 1;
  std::uint64_t all_contributed_ = 0;  // all members are known to have put it since then; 0: not yet
  std::uint32_t round_ = 0;
};

}  // namespace ina::core
