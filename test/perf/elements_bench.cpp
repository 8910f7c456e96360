// elements_bench.cpp: element kernels beside memcpy, both on arrays that stay in the second-level cache.
// Rates are bytes read plus bytes written per second: three streams for a combination, two for a copy.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "wire/elements.hpp"

namespace {

using namespace ina::wire;

// Two arrays of each benchmark together fill less than a quarter of the smallest L2 of current servers (1 MiB), and none of an L1.
constexpr std::size_t kArrayBytes = 112 * 1024;

std::vector<std::byte> lanes() {
  std::vector<std::byte> bytes(kArrayBytes);
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {
    const double lane = 0.0;  // sums that never grow, whatever the type
    std::memcpy(&bytes[i], &lane, sizeof lane);
  }
  return bytes;
}

void count_bytes(benchmark::State& state, std::size_t streams) {
  state.SetBytesProcessed(static_cast<std::int64_t>(static_cast<std::size_t>(state.iterations()) * streams * kArrayBytes));
}

void memcpy_in_l2(benchmark::State& state) {
  std::vector<std::byte> to = lanes();
  const std::vector<std::byte> from = lanes();
  for ([[maybe_unused]] auto round : state) {
    std::memcpy(to.data(), from.data(), kArrayBytes);
    benchmark::ClobberMemory();
  }
  count_bytes(state, 2);
}
BENCHMARK(memcpy_in_l2);

void combine_in_l2(benchmark::State& state, Op op, LaneType type) {
  std::vector<std::byte> accumulator = lanes();
  const std::vector<std::byte> contribution = lanes();
  const Combine kernel = combine(op, type);
  for ([[maybe_unused]] auto round : state) {
    kernel(accumulator.data(), contribution.data(), kArrayBytes / lane_bytes(type));
    benchmark::ClobberMemory();
  }
  count_bytes(state, 3);
}
BENCHMARK_CAPTURE(combine_in_l2, sum_float32, Op::kSum, LaneType::kFloat32);
BENCHMARK_CAPTURE(combine_in_l2, sum_float64, Op::kSum, LaneType::kFloat64);
BENCHMARK_CAPTURE(combine_in_l2, sum_int8, Op::kSum, LaneType::kInt8);
BENCHMARK_CAPTURE(combine_in_l2, sum_int32, Op::kSum, LaneType::kInt32);
BENCHMARK_CAPTURE(combine_in_l2, min_float32, Op::kMin, LaneType::kFloat32);
BENCHMARK_CAPTURE(combine_in_l2, min_int64, Op::kMin, LaneType::kInt64);
BENCHMARK_CAPTURE(combine_in_l2, xor_uint64, Op::kXor, LaneType::kUint64);

void combine_into_in_l2(benchmark::State& state) {
  std::vector<std::byte> to = lanes();
  const std::vector<std::byte> left = lanes();
  const std::vector<std::byte> right = lanes();
  const CombineInto kernel = combine_into(Op::kSum, LaneType::kFloat32);
  for ([[maybe_unused]] auto round : state) {
    kernel(to.data(), left.data(), right.data(), kArrayBytes / sizeof(float));
    benchmark::ClobberMemory();
  }
  count_bytes(state, 3);
}
BENCHMARK(combine_into_in_l2);

// The smallest chunk there is: one lane.
void combine_one_lane(benchmark::State& state) {
  std::vector<std::byte> accumulator = lanes();
  const std::vector<std::byte> contribution = lanes();
  for ([[maybe_unused]] auto round : state) {
    combine(Op::kSum, LaneType::kFloat64)(accumulator.data(), contribution.data(), 1);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(combine_one_lane);

}  // namespace

BENCHMARK_MAIN();
