// bytes.hpp: reading and writing integers of a given byte order in byte spans, and Result, a value or the reason for its absence.
// Used by every codec of the project.
// Does not check bounds: codecs check a whole header's size once.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <variant>

namespace ina::wire {

template <std::unsigned_integral T>
[[nodiscard]] constexpr T byte_swapped(T value) noexcept {
  if constexpr (sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    return __builtin_bswap64(value);
  }
}

template <std::unsigned_integral T>
[[nodiscard]] T load_be(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::big ? value : byte_swapped(value);
}

template <std::unsigned_integral T>
void store_be(std::byte* to, T value) noexcept {
  if constexpr (std::endian::native == std::endian::little) value = byte_swapped(value);
  std::memcpy(to, &value, sizeof value);
}

// A value, or the reason why there is none. Trivial to pass around; never throws.
template <typename T, typename E>
class [[nodiscard]] Result {
 public:
  constexpr Result(T value) noexcept : state_(std::in_place_index<0>, std::move(value)) {}
  constexpr Result(E error) noexcept : state_(std::in_place_index<1>, error) {}
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return state_.index() == 0; }
  [[nodiscard]] constexpr const T& operator*() const noexcept { return *std::get_if<0>(&state_); }
  [[nodiscard]] constexpr const T* operator->() const noexcept { return std::get_if<0>(&state_); }
  [[nodiscard]] constexpr E error() const noexcept { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, E> state_;
};

}  // namespace ina::wire
