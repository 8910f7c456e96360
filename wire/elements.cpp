// elements.cpp: one loop for every operation, lane type and SIMD target. Highway compiles this file once for each target of the
// machine's architecture (foreach_target.h includes it again) and picks the best one that the processor has at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "wire/elements.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include <cstring>

#include "wire/elements.hpp"

HWY_BEFORE_NAMESPACE();
namespace ina::wire::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Loads and stores go through bytes, so neither alignment nor the type of what stands in memory matters.
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const std::byte* from) {
#if HWY_TARGET == HWY_SCALAR
  hn::TFromD<D> lane;
  std::memcpy(&lane, from, sizeof lane);
  return hn::Set(d, lane);
#else
  return hn::BitCast(d, hn::LoadU(hn::Repartition<std::uint8_t, D>(), reinterpret_cast<const std::uint8_t*>(from)));
#endif
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> vector, std::byte* to) {
#if HWY_TARGET == HWY_SCALAR
  (void)d;
  const auto lane = hn::GetLane(vector);
  std::memcpy(to, &lane, sizeof lane);
#else
  const hn::Repartition<std::uint8_t, D> bytes;
  hn::StoreU(hn::BitCast(bytes, vector), bytes, reinterpret_cast<std::uint8_t*>(to));
  (void)d;
#endif
}

struct Sum {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const { return hn::Add(left, right); }
};
// A comparison with NaN is false, and -0.0 does not compare less than 0.0: both keep the accumulator, on every target.
struct Min {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const { return hn::IfThenElse(hn::Lt(right, left), right, left); }
};
struct Max {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const { return hn::IfThenElse(hn::Lt(left, right), right, left); }
};
struct And {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const { return hn::And(left, right); }
};
struct Or {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const { return hn::Or(left, right); }
};
struct Xor {
  template <class V>
  HWY_INLINE V operator()(V left, V right) const { return hn::Xor(left, right); }
};

template <class T, class Operation>
void combine_lanes(std::byte* to, const std::byte* left, const std::byte* right, std::size_t lanes) noexcept {
  const hn::ScalableTag<T> d;
  const Operation operation{};
  const std::size_t bytes = lanes * sizeof(T);
  const std::size_t step = hn::Lanes(d) * sizeof(T);
  std::size_t at = 0;
  for (; at + 4 * step <= bytes; at += 4 * step) {
    const auto v0 = operation(load(d, left + at), load(d, right + at));
    const auto v1 = operation(load(d, left + at + step), load(d, right + at + step));
    const auto v2 = operation(load(d, left + at + 2 * step), load(d, right + at + 2 * step));
    const auto v3 = operation(load(d, left + at + 3 * step), load(d, right + at + 3 * step));
    store(d, v0, to + at);
    store(d, v1, to + at + step);
    store(d, v2, to + at + 2 * step);
    store(d, v3, to + at + 3 * step);
  }
  for (; at + step <= bytes; at += step) store(d, operation(load(d, left + at), load(d, right + at)), to + at);
  if (at == bytes) return;
  // The tail runs through the same operation, on copies: nothing behind the arrays is touched.
  std::byte left_tail[hn::MaxLanes(hn::ScalableTag<T>()) * sizeof(T)] = {};
  std::byte right_tail[sizeof left_tail] = {};
  std::memcpy(left_tail, left + at, bytes - at);
  std::memcpy(right_tail, right + at, bytes - at);
  store(d, operation(load(d, left_tail), load(d, right_tail)), left_tail);
  std::memcpy(to + at, left_tail, bytes - at);
}

template <class T, class Operation>
void combine_in_place(std::byte* accumulator, const std::byte* contribution, std::size_t lanes) noexcept {
  combine_lanes<T, Operation>(accumulator, accumulator, contribution, lanes);
}

struct Kernels {
  Combine in_place = nullptr;
  CombineInto into = nullptr;
};

template <class T, class Operation>
constexpr Kernels kernels_of() {
  return {combine_in_place<T, Operation>, combine_lanes<T, Operation>};
}

template <class T>
Kernels find_operation(Op op) {
  switch (op) {
    case Op::kSum: return kernels_of<T, Sum>();
    case Op::kMin: return kernels_of<T, Min>();
    case Op::kMax: return kernels_of<T, Max>();
    default: break;
  }
  if constexpr (!hwy::IsFloat<T>()) {
    switch (op) {
      case Op::kAnd: return kernels_of<T, And>();
      case Op::kOr: return kernels_of<T, Or>();
      case Op::kXor: return kernels_of<T, Xor>();
      default: break;
    }
  }
  return {};
}

#if !HWY_HAVE_FLOAT64
// 32-bit Arm has no vectors of float64: one lane at a time, with the same semantics.
template <Op op>
void combine_float64(std::byte* to, const std::byte* left, const std::byte* right, std::size_t lanes) noexcept {
  for (std::size_t at = 0; at < lanes * sizeof(double); at += sizeof(double)) {
    double l;
    double r;
    std::memcpy(&l, left + at, sizeof l);
    std::memcpy(&r, right + at, sizeof r);
    if constexpr (op == Op::kSum) {
      l += r;
    } else if (op == Op::kMin ? r < l : l < r) {
      l = r;
    }
    std::memcpy(to + at, &l, sizeof l);
  }
}
template <Op op>
void combine_float64_in_place(std::byte* accumulator, const std::byte* contribution, std::size_t lanes) noexcept {
  combine_float64<op>(accumulator, accumulator, contribution, lanes);
}
Kernels find_float64(Op op) {
  switch (op) {
    case Op::kSum: return {combine_float64_in_place<Op::kSum>, combine_float64<Op::kSum>};
    case Op::kMin: return {combine_float64_in_place<Op::kMin>, combine_float64<Op::kMin>};
    case Op::kMax: return {combine_float64_in_place<Op::kMax>, combine_float64<Op::kMax>};
    default: return {};
  }
}
#else
Kernels find_float64(Op op) { return find_operation<double>(op); }
#endif

Kernels find(Op op, LaneType type) {
  switch (type) {
    case LaneType::kNone: break;
    case LaneType::kInt8: return find_operation<std::int8_t>(op);
    case LaneType::kInt16: return find_operation<std::int16_t>(op);
    case LaneType::kInt32: return find_operation<std::int32_t>(op);
    case LaneType::kInt64: return find_operation<std::int64_t>(op);
    case LaneType::kUint8: return find_operation<std::uint8_t>(op);
    case LaneType::kUint16: return find_operation<std::uint16_t>(op);
    case LaneType::kUint32: return find_operation<std::uint32_t>(op);
    case LaneType::kUint64: return find_operation<std::uint64_t>(op);
    case LaneType::kFloat32: return find_operation<float>(op);
    case LaneType::kFloat64: return find_float64(op);
  }
  return {};
}

Combine find_in_place(Op op, LaneType type) { return find(op, type).in_place; }
CombineInto find_into(Op op, LaneType type) { return find(op, type).into; }

}  // namespace ina::wire::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ina::wire {

HWY_EXPORT(find_in_place);
HWY_EXPORT(find_into);

Combine combine(Op op, LaneType type) noexcept { return HWY_DYNAMIC_DISPATCH(find_in_place)(op, type); }
CombineInto combine_into(Op op, LaneType type) noexcept { return HWY_DYNAMIC_DISPATCH(find_into)(op, type); }

}  // namespace ina::wire
#endif  // HWY_ONCE
