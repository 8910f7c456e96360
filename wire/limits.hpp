// limits.hpp: the numbers that the protocol fixes.
// Used by every part; a number that one side alone chooses is not here.
// Holds no derived state.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ina::wire {

inline constexpr std::uint32_t kMinWindow = 2;
inline constexpr std::uint32_t kMaxWindow = 4096;
inline constexpr std::uint16_t kMinMembers = 2;
inline constexpr std::uint16_t kMaxMembers = 1024;
inline constexpr std::size_t kMaxPayload = 4096;  // of a chunk: INA header, lanes, trailer
inline constexpr std::size_t kMinPayload = 64;    // a bind packet fits
inline constexpr std::size_t kMaxManagerLine = 65536;

[[nodiscard]] constexpr bool is_power_of_two(std::uint64_t n) noexcept { return n != 0 && (n & (n - 1)) == 0; }

}  // namespace ina::wire
