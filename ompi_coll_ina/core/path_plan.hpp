// path_plan.hpp: which operations of a committed group go through the switch and which through software: one choice a size class and kind of result, alike on all ranks.
// Used by Communicator on every rank; the leader's CostModel makes the plan, and it travels with the leader's decisions.
// Knows no time: what it says follows from decisions and from the operations themselves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/ina_header.hpp"

namespace ina::core {

// Exact results have the same bits whoever computes them, so their path may change at any time. Sums of floats do not: their path is chosen once.
enum class Family : std::uint8_t { kExact = 0, kFloatSum = 1 };
inline constexpr unsigned kFamilies = 2;

// Class c has the vectors of more than 2^(c-1) and up to 2^c bytes; the last one all that are larger.
inline constexpr unsigned kSizeClasses = 31;
[[nodiscard]] unsigned size_class_of(std::size_t bytes) noexcept;

struct Cell {
  Family family = Family::kExact;
  std::uint8_t size_class = 0;
  [[nodiscard]] unsigned index() const noexcept { return static_cast<unsigned>(family) * kSizeClasses + size_class; }
};
inline constexpr unsigned kCells = kFamilies * kSizeClasses;
[[nodiscard]] Cell cell_of(wire::Op, wire::LaneType, std::size_t bytes) noexcept;

// What a decision says of all cells: bit c of element f is class c of family f.
struct PlanBits {
  std::array<std::uint32_t, kFamilies> by_switch{};
  std::array<std::uint32_t, kFamilies> on_trial{};
  bool operator==(const PlanBits&) const = default;

  void set(std::array<std::uint32_t, kFamilies> PlanBits::* mask, Cell cell, bool value) noexcept {
    const std::uint32_t bit = std::uint32_t{1} << cell.size_class;
    std::uint32_t& bits = (this->*mask)[static_cast<unsigned>(cell.family)];
    bits = value ? bits | bit : bits & ~bit;
  }
  [[nodiscard]] bool is_set(std::array<std::uint32_t, kFamilies> PlanBits::* mask, Cell cell) const noexcept {
    return ((this->*mask)[static_cast<unsigned>(cell.family)] >> cell.size_class & 1) != 0;
  }
};
inline constexpr std::uint32_t kAllClasses = (std::uint32_t{1} << kSizeClasses) - 1;
inline constexpr PlanBits kAlwaysBySwitch{.by_switch = {kAllClasses, kAllClasses}, .on_trial = {}};
inline constexpr PlanBits kAllOnTrial{.by_switch = {}, .on_trial = {kAllClasses, kAllClasses}};

enum class Path : std::uint8_t {
  kSwitch,
  kSoftware,
  kShadow,  // through the switch with the result thrown away, then in software: times the switch without changing a bit of the result
};

class PathPlan {
 public:
  // Operations of a trial's round: one that is not timed, since ranks wait for the decision in it; then software, switch, switch, software, so that what gets
  // slower or faster meanwhile does so for both.
  static constexpr std::uint8_t kRound = 5;

  // A cell that is on trial anew, or whose round is over, starts a round. One that is not on trial any more has a choice.
  void apply(const PlanBits&) noexcept;
  [[nodiscard]] const PlanBits& bits() const noexcept { return bits_; }
  [[nodiscard]] bool is_on_trial(Cell cell) const noexcept { return bits_.is_set(&PlanBits::on_trial, cell); }
  // The cell's round is over: its next operation is a checkpoint.
  [[nodiscard]] bool is_due(Cell cell) const noexcept { return is_on_trial(cell) && left_[cell.index()] == 0; }
  // No operation of the round has been started.
  [[nodiscard]] bool is_unused(Cell cell) const noexcept { return left_[cell.index()] == kRound; }
  // The cell's next operation is to be timed.
  [[nodiscard]] bool is_timed(Cell cell) const noexcept { return is_on_trial(cell) && left_[cell.index()] != kRound; }
  // Of the cell's next operation; !is_due().
  [[nodiscard]] Path path_of(Cell) const noexcept;
  // The next operation has been started.
  void count(Cell cell) noexcept {
    if (left_[cell.index()] != 0) --left_[cell.index()];
  }

 private:
  PlanBits bits_;
  std::array<std::uint8_t, kCells> left_{};  // of the round, while on trial
};

}  // namespace ina::core
