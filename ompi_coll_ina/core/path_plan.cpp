#include "ompi_coll_ina/core/path_plan.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace ina::core {

unsigned size_class_of(std::size_t bytes) noexcept {
  const auto width = bytes <= 1 ? 0U : static_cast<unsigned>(std::bit_width(bytes - 1));
  return std::min(width, kSizeClasses - 1);
}

Cell cell_of(wire::Op op, wire::LaneType type, std::size_t bytes) noexcept {
  const bool is_float = type == wire::LaneType::kFloat32 || type == wire::LaneType::kFloat64;
  return {.family = is_float && op == wire::Op::kSum ? Family::kFloatSum : Family::kExact, .size_class = static_cast<std::uint8_t>(size_class_of(bytes))};
}

void PathPlan::apply(const PlanBits& bits) noexcept {
  for (unsigned family = 0; family < kFamilies; ++family) {
    for (unsigned size_class = 0; size_class < kSizeClasses; ++size_class) {
      const Cell cell{.family = static_cast<Family>(family), .size_class = static_cast<std::uint8_t>(size_class)};
      if (!bits.is_set(&PlanBits::on_trial, cell)) continue;
      if (!is_on_trial(cell) || is_due(cell)) left_[cell.index()] = kRound;
    }
  }
  bits_ = bits;
}

Path PathPlan::path_of(Cell cell) const noexcept {
  if (!is_on_trial(cell)) return bits_.is_set(&PlanBits::by_switch, cell) ? Path::kSwitch : Path::kSoftware;
  const std::uint8_t left = left_[cell.index()];
  assert(left != 0);
  if (left != 3 && left != 2) return Path::kSoftware;
  return cell.family == Family::kFloatSum ? Path::kShadow : Path::kSwitch;
}

}  // namespace ina::core
