// vectors.hpp: random vectors of any lane type and what a plain loop makes of them, as the reference of the tests.
// Used by the tests of stream and schedule.
// Does not use the project's element kernels: it is what they are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>
#include <vector>

#include "wire/ina_header.hpp"

namespace ina::test {

using Bytes = std::vector<std::byte>;

template <typename F>
auto with_type(wire::LaneType type, F function) {
  using enum wire::LaneType;
  switch (type) {
    case kInt8: return function(std::int8_t{});
    case kInt16: return function(std::int16_t{});
    case kInt32: return function(std::int32_t{});
    case kInt64: return function(std::int64_t{});
    case kUint8: return function(std::uint8_t{});
    case kUint16: return function(std::uint16_t{});
    case kUint32: return function(std::uint32_t{});
    case kUint64: return function(std::uint64_t{});
    case kFloat32: return function(float{});
    default: return function(double{});
  }
}

inline bool is_float(wire::LaneType type) { return type == wire::LaneType::kFloat32 || type == wire::LaneType::kFloat64; }

// Whether the operation exists for the type.
inline bool exists(wire::Op op, wire::LaneType type) { return !is_float(type) || (op != wire::Op::kAnd && op != wire::Op::kOr && op != wire::Op::kXor); }

template <typename T>
T combine_one(wire::Op op, T left, T right) {
  using U = std::conditional_t<std::is_floating_point_v<T>, T, std::make_unsigned_t<std::conditional_t<std::is_floating_point_v<T>, int, T>>>;
  switch (op) {
    case wire::Op::kSum: return static_cast<T>(static_cast<U>(left) + static_cast<U>(right));
    case wire::Op::kMin: return right < left ? right : left;
    case wire::Op::kMax: return right > left ? right : left;
    default: break;
  }
  if constexpr (!std::is_floating_point_v<T>) {
    if (op == wire::Op::kAnd) return static_cast<T>(left & right);
    if (op == wire::Op::kOr) return static_cast<T>(left | right);
    return static_cast<T>(left ^ right);
  }
  return left;
}

// accumulator = accumulator op other, lane by lane.
inline void combine_into(wire::Op op, wire::LaneType type, Bytes& accumulator, const Bytes& other) {
  with_type(type, [&]<typename T>(T) {
    for (std::size_t at = 0; at < accumulator.size(); at += sizeof(T)) {
      T left, right;
      std::memcpy(&left, &accumulator[at], sizeof(T));
      std::memcpy(&right, &other[at], sizeof(T));
      left = combine_one(op, left, right);
      std::memcpy(&accumulator[at], &left, sizeof(T));
    }
  });
}

inline Bytes random_vector(wire::LaneType type, std::size_t lanes, std::mt19937_64& random) {
  Bytes bytes(lanes * wire::lane_bytes(type));
  with_type(type, [&]<typename T>(T) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
      T value;
      if constexpr (std::is_floating_point_v<T>) {
        value = static_cast<T>(std::normal_distribution<double>(0, 1000)(random));
      } else {
        value = static_cast<T>(random());
      }
      std::memcpy(&bytes[at], &value, sizeof(T));
    }
  });
  return bytes;
}

inline Bytes combined(wire::Op op, wire::LaneType type, const std::vector<Bytes>& inputs) {
  Bytes result = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) combine_into(op, type, result, inputs[i]);
  return result;
}

inline constexpr wire::LaneType kAllTypes[] = {wire::LaneType::kInt8,   wire::LaneType::kInt16,  wire::LaneType::kInt32,  wire::LaneType::kInt64,   wire::LaneType::kUint8,
                                               wire::LaneType::kUint16, wire::LaneType::kUint32, wire::LaneType::kUint64, wire::LaneType::kFloat32, wire::LaneType::kFloat64};
inline constexpr wire::Op kAllOps[] = {wire::Op::kSum, wire::Op::kMin, wire::Op::kMax, wire::Op::kAnd, wire::Op::kOr, wire::Op::kXor};

}  // namespace ina::test
