// clock.hpp: monotonic time as the engine sees it.
// Used by Engine and everything below it; tests inject a virtual clock.
// Knows nothing of wall-clock time.
#pragma once

#include <time.h>

#include <cstdint>

namespace ina::engine {

using Nanoseconds = std::uint64_t;

inline constexpr Nanoseconds kMicrosecond = 1000;
inline constexpr Nanoseconds kMillisecond = 1000 * kMicrosecond;
inline constexpr Nanoseconds kSecond = 1000 * kMillisecond;
inline constexpr Nanoseconds kNever = ~Nanoseconds{0};

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Nanoseconds now() noexcept = 0;
};

class SteadyClock final : public Clock {
 public:
  [[nodiscard]] Nanoseconds now() noexcept override {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<Nanoseconds>(time.tv_sec) * kSecond + static_cast<Nanoseconds>(time.tv_nsec);
  }
};

}  // namespace ina::engine
