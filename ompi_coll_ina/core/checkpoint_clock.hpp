// checkpoint_clock.hpp: which operations of a communicator are checkpoints: 1, 2, 4, 8, ... until they are 1,024 apart, then every 1,024th.
// Used by Communicator. All members compute it alike from the operations' indices and from agreed failovers.
// Knows no time.
#pragma once

#include <cstdint>

namespace ina::core {

class CheckpointClock {
 public:
  static constexpr std::uint64_t kFarthest = 1024;

  // Operations are asked for in ascending order of their index, from 1 on.
  [[nodiscard]] bool is_checkpoint(std::uint64_t index) const noexcept { return index == next_ || index == restart_at_; }
  // The checkpoint `index` has been decided: on to the next one.
  void advance(std::uint64_t index) noexcept {
    if (index == restart_at_) {
      distance_ = 1;
      restart_at_ = 0;
      next_ = index + 1;
      return;
    }
    next_ += distance_;
    if (distance_ < kFarthest) distance_ *= 2;
  }
  // The agreed failover ended the offload at operation `index`, which becomes a checkpoint; the next ones follow it closely, so that the switch
  // is soon asked again. Checkpoints before it stay as they were.
  void restart(std::uint64_t index) noexcept { restart_at_ = index; }

 private:
  std::uint64_t next_ = 1;
  std::uint64_t distance_ = 1;
  std::uint64_t restart_at_ = 0;
};

}  // namespace ina::core
