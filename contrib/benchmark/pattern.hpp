// pattern.hpp: vectors whose reduction is known in advance, of any element type and operation of the measuring program.
// Used by the measuring program alone. All values are small integers, so that a sum of floats is exact in any order.
// Does not call MPI.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace ina::benchmark {

enum class Operation { kSum, kMin, kMax };

// Element i of rank r in round k is (i + r + k) mod 64: another vector in each round, so that an old result is found out.
template <typename T>
class Pattern {
 public:
  static constexpr std::size_t kPeriod = 64;

  Pattern(Operation operation, int ranks) : operation_(operation), ranks_(ranks) {}

  void fill(T* to, std::size_t count, int rank, unsigned round) const {
    std::array<T, kPeriod> period;
    for (std::size_t i = 0; i < kPeriod; ++i) period[i] = static_cast<T>(value(i, rank, round));
    repeat(period, to, count);
  }

  [[nodiscard]] std::size_t count_wrong(const T* result, std::size_t count, unsigned round) const {
    std::array<T, kPeriod> period;
    for (std::size_t i = 0; i < kPeriod; ++i) period[i] = static_cast<T>(expected(i, round));
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < count; at += kPeriod) {
      const std::size_t n = std::min(kPeriod, count - at);
      if (std::memcmp(result + at, period.data(), n * sizeof(T)) == 0) continue;
      for (std::size_t i = 0; i < n; ++i) wrong += result[at + i] != period[i];
    }
    return wrong;
  }

 private:
  static int value(std::size_t i, int rank, unsigned round) { return static_cast<int>((i + static_cast<std::size_t>(rank) + round) % kPeriod); }

  [[nodiscard]] int expected(std::size_t i, unsigned round) const {
    int combined = value(i, 0, round);
    for (int rank = 1; rank < ranks_; ++rank) {
      const int next = value(i, rank, round);
      switch (operation_) {
        case Operation::kSum: combined += next; break;
        case Operation::kMin: combined = std::min(combined, next); break;
        case Operation::kMax: combined = std::max(combined, next); break;
      }
    }
    return combined;
  }

  static void repeat(const std::array<T, kPeriod>& period, T* to, std::size_t count) {
    for (std::size_t at = 0; at < count; at += kPeriod) std::memcpy(to + at, period.data(), std::min(kPeriod, count - at) * sizeof(T));
  }

  Operation operation_;
  int ranks_;
};

}  // namespace ina::benchmark
