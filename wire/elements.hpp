// elements.hpp: element kernels, which combine arrays of lanes by an operation, with SIMD chosen at run time (Highway).
// Used by aggregators and by the software algorithm of the component.
// Knows nothing of packets; byte order is the host's (PROTOCOL.md's little endian on every host that is built).
#pragma once

#include <cstddef>

#include "wire/ina_header.hpp"

namespace ina::wire {

// accumulator[i] = accumulator[i] op contribution[i] for i < lanes. No alignment is needed; the arrays may be the same, but not overlap
// otherwise. Integer sums wrap; min and max keep the accumulator unless the contribution compares less (greater).
using Combine = void (*)(std::byte* accumulator, const std::byte* contribution, std::size_t lanes) noexcept;
// to[i] = left[i] op right[i]; `to` may be `left` or `right`.
using CombineInto = void (*)(std::byte* to, const std::byte* left, const std::byte* right, std::size_t lanes) noexcept;

// nullptr where the operation does not exist for the type (and/or/xor of floats, kNone).
[[nodiscard]] Combine combine(Op, LaneType) noexcept;
[[nodiscard]] CombineInto combine_into(Op, LaneType) noexcept;

}  // namespace ina::wire
