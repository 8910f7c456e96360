// random_vectors.hpp: the vector of any rank, computable on every rank from the seed alone.
// Used by ina-demo's checks, which therefore know the right sum without communicating.
// Not for statistics: the generator is splitmix64.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace ina::demo {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// Integers use all their bits, so sums wrap around. Floats have both signs and magnitudes from 2^-20 to 2^20, so that
// sums round at nearly every step and another order gives other bits. Integers of 8 and 16 bits stay small: some builds of
// Open MPI saturate their sums, so there would be two right answers.
template <typename T>
[[nodiscard]] T random_element(Random& random) {
  const std::uint64_t bits = random.next();
  if constexpr (std::is_floating_point_v<T>) {
    const double fraction = 1.0 + static_cast<double>(bits >> 12) * 0x1p-52;
    const int exponent = static_cast<int>((bits >> 1) % 40) - 20;
    const double magnitude = std::ldexp(fraction, exponent);
    return static_cast<T>((bits & 1) != 0 ? -magnitude : magnitude);
  } else if constexpr (sizeof(T) < 4) {
    return static_cast<T>(bits % 5);
  } else {
    return static_cast<T>(bits);
  }
}

template <typename T>
[[nodiscard]] std::vector<T> random_vector(std::uint64_t seed, std::uint64_t stream, int rank, std::size_t count) {
  Random random(seed ^ (stream * 0xd1342543de82ef95U) ^ (static_cast<std::uint64_t>(rank) * 0xaf251af3b0f025b5U));
  std::vector<T> elements(count);
  for (T& element : elements) element = random_element<T>(random);
  return elements;
}

}  // namespace ina::demo
