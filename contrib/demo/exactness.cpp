#include "contrib/demo/exactness.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "contrib/demo/random_vectors.hpp"

namespace ina::demo {
namespace {

// Odd counts, single elements, exactly and nearly full chunks, many chunks.
constexpr std::array<std::size_t, 8> kCounts{1, 2, 7, 64, 509, 1000, 4099, 100003};

struct Ranks {
  int rank = 0;
  int size = 0;
};

template <typename T>
[[nodiscard]] bool same_bits(const std::vector<T>& left, const std::vector<T>& right) {
  return std::memcmp(left.data(), right.data(), left.size() * sizeof(T)) == 0;
}

template <typename T>
[[nodiscard]] std::size_t first_difference(const std::vector<T>& left, const std::vector<T>& right) {
  std::size_t i = 0;
  while (i < left.size() && std::memcmp(&left[i], &right[i], sizeof(T)) == 0) ++i;
  return i;
}

class Checker {
 public:
  Checker(const Counters& counters, MPI_Comm plain, std::uint64_t seed) : counters_(counters), plain_(plain), seed_(seed) {
    MPI_Comm_rank(plain, &ranks_.rank);
    MPI_Comm_size(plain, &ranks_.size);
  }

  template <typename T>
  void check_integers(const char* type_name, MPI_Datatype type) {
    constexpr std::array<MPI_Op, 6> kOps{MPI_SUM, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR};
    constexpr std::array<const char*, 6> kOpNames{"sum", "min", "max", "and", "or", "xor"};
    for (const std::size_t count : kCounts) {
      for (std::size_t op = 0; op < kOps.size(); ++op) {
        const auto mine = random_vector<T>(seed_, ++stream_, ranks_.rank, count);
        std::vector<T> expected(count);
        MPI_Allreduce(mine.data(), expected.data(), static_cast<int>(count), type, kOps[op], plain_);
        compare(reduce(mine, type, kOps[op]), expected, type_name, kOpNames[op]);
      }
    }
  }

  template <typename T>
  void check_floats(const char* type_name, MPI_Datatype type) {
    for (const std::size_t count : kCounts) {
      ++stream_;
      auto expected = random_vector<T>(seed_, stream_, 0, count);
      std::vector<T> magnitude(count);
      for (std::size_t i = 0; i < count; ++i) magnitude[i] = std::abs(expected[i]);
      for (int rank = 1; rank < ranks_.size; ++rank) {
        const auto theirs = random_vector<T>(seed_, stream_, rank, count);
        for (std::size_t i = 0; i < count; ++i) {
          expected[i] += theirs[i];
          magnitude[i] += std::abs(theirs[i]);
        }
      }
      const auto mine = random_vector<T>(seed_, stream_, ranks_.rank, count);
      const auto result = reduce(mine, type, MPI_SUM);
      if (was_offloaded_) {
        compare(result, expected, type_name, "sum");
      } else {
        compare_within_rounding(result, expected, magnitude, type_name);
      }
    }
  }

  [[nodiscard]] ExactnessReport report() const { return report_; }

 private:
  // Every other call in place. Leaves in was_offloaded_ whether the switch did it.
  template <typename T>
  [[nodiscard]] std::vector<T> reduce(const std::vector<T>& mine, MPI_Datatype type, MPI_Op op) {
    const unsigned long long before = counters_.value("coll_ina_operations_offloaded");
    const int count = static_cast<int>(mine.size());
    std::vector<T> result(mine.size());
    if (stream_ % 2 == 0) {
      result = mine;
      MPI_Allreduce(MPI_IN_PLACE, result.data(), count, type, op, MPI_COMM_WORLD);
    } else {
      MPI_Allreduce(mine.data(), result.data(), count, type, op, MPI_COMM_WORLD);
    }
    was_offloaded_ = counters_.value("coll_ina_operations_offloaded") != before;
    if (was_offloaded_) ++report_.offloaded;
    return result;
  }

  template <typename T>
  void compare(const std::vector<T>& result, const std::vector<T>& expected, const char* type_name, const char* op_name) {
    ++report_.checked;
    if (same_bits(result, expected)) return;
    complain(type_name, op_name, result.size(), first_difference(result, expected));
  }

  // The software path adds in an order of its own; any order is within this bound.
  template <typename T>
  void compare_within_rounding(const std::vector<T>& result, const std::vector<T>& expected, const std::vector<T>& magnitude,
                               const char* type_name) {
    ++report_.checked;
    const T bound = static_cast<T>(2 * ranks_.size) * std::numeric_limits<T>::epsilon();
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (std::abs(result[i] - expected[i]) <= bound * magnitude[i]) continue;
      complain(type_name, "sum", result.size(), i);
      return;
    }
  }

  void complain(const char* type_name, const char* op_name, std::size_t count, std::size_t index) {
    ++report_.wrong;
    std::fprintf(stderr, "ina-demo: rank %d: WRONG RESULT: %s of %zu x %s, element %zu, %s, seed %llu\n", ranks_.rank, op_name,
                 count, type_name, index, was_offloaded_ ? "offloaded" : "software", static_cast<unsigned long long>(seed_));
  }

  const Counters& counters_;
  MPI_Comm plain_;
  std::uint64_t seed_;
  std::uint64_t stream_ = 0;
  Ranks ranks_;
  bool was_offloaded_ = false;
  ExactnessReport report_;
};

}  // namespace

ExactnessReport check_exactness(const Counters& counters, MPI_Comm plain, std::uint64_t seed) {
  Checker checker(counters, plain, seed);
  checker.check_integers<std::int8_t>("int8", MPI_INT8_T);
  checker.check_integers<std::int16_t>("int16", MPI_INT16_T);
  checker.check_integers<std::int32_t>("int32", MPI_INT32_T);
  checker.check_integers<std::int64_t>("int64", MPI_INT64_T);
  checker.check_integers<std::uint8_t>("uint8", MPI_UINT8_T);
  checker.check_integers<std::uint16_t>("uint16", MPI_UINT16_T);
  checker.check_integers<std::uint32_t>("uint32", MPI_UINT32_T);
  checker.check_integers<std::uint64_t>("uint64", MPI_UINT64_T);
  checker.check_floats<float>("float32", MPI_FLOAT);
  checker.check_floats<double>("float64", MPI_DOUBLE);
  return checker.report();
}

}  // namespace ina::demo
