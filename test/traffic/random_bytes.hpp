// random_bytes.hpp: bytes that both sides of uct_traffic can make from a number, so that what arrives is checked without being sent twice.
// Used by Side.
// Not for secrets.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace traffic {

[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// Bytes first, first + 1, ... of the stream `key`; `first` is a multiple of 8.
inline void fill(std::span<std::byte> to, std::uint64_t key, std::size_t first = 0) noexcept {
  for (std::size_t i = 0; i < to.size(); i += 8) {
    const std::uint64_t word = mixed(key + (first + i) * 0x2545f4914f6cdd1d);
    std::memcpy(&to[i], &word, to.size() - i < 8 ? to.size() - i : 8);
  }
}

[[nodiscard]] inline bool is_filled(std::span<const std::byte> bytes, std::uint64_t key) noexcept {
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    const std::uint64_t word = mixed(key + i * 0x2545f4914f6cdd1d);
    if (std::memcmp(&bytes[i], &word, bytes.size() - i < 8 ? bytes.size() - i : 8) != 0) return false;
  }
  return true;
}

}  // namespace traffic
