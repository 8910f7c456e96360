// cost_model.hpp: what operations of each size took through the switch and in software, and which path follows from that.
// Used by Leader, whose own times they are: a rank's allreduce cannot end before all have contributed, so its time bounds everybody's from the last post on.
// Has no clock and sends nothing: the plan that it makes travels with the leader's decisions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ompi_coll_ina/core/path_plan.hpp"

namespace ina::core {

class CostModel {
 public:
  // One operation of a trial took so long from its post to its end.
  void record(unsigned size_class, Path, std::uint64_t ns) noexcept;
  // The communicator has started an operation of this cell.
  void count(Cell cell) noexcept {
    ++used_[cell.index()];
    ++since_[cell.index()];
  }

  // A new group: the plan that it starts with. Choices for sums of floats stay; the others are looked at again.
  [[nodiscard]] PlanBits begin() noexcept;
  // At a checkpoint: the plan from there on. Judges the trials whose round is over.
  [[nodiscard]] PlanBits next(const PathPlan& current);

  // One line per choice made since the last call.
  [[nodiscard]] std::vector<std::string> take_news();
  // "switch up to 64 KiB, software from 128 KiB to 1 MiB" of the sizes that were used; empty: nothing has been chosen.
  [[nodiscard]] std::string summary() const;

 private:
  static constexpr std::size_t kSamples = 16;       // of one path: that many are enough to judge anything
  static constexpr unsigned kMostRounds = 12;       // of one trial, whatever was measured
  static constexpr double kHysteresis = 1.1;        // a choice is changed for no less
  static constexpr double kSafeMargin = 1.5;        // of both neighbours, for a prediction
  static constexpr double kSafeMarginBeyond = 1.25; // of the two largest that were measured, for larger ones
  static constexpr unsigned kNeighbourDistance = 4; // classes
  static constexpr std::uint64_t kFirstRetry = 512; // operations; twice as many after each that confirms the choice
  static constexpr std::uint64_t kLastRetry = 16384;
  static constexpr double kSlowOperations = 24;     // of a trial, at most
  static constexpr double kExploring = 0.02;        // of the time may go into looking at the slower path again

  // Times of one path in the current trial.
  class Samples {
   public:
    void add(std::uint64_t ns) noexcept {
      if (count_ < kSamples) ns_[count_++] = ns;
    }
    void clear() noexcept { count_ = 0; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    // The lower quartile: what an operation takes when nobody is late and the machine is not doing something else.
    [[nodiscard]] double typical_ns() const noexcept;

   private:
    std::array<std::uint64_t, kSamples> ns_{};
    std::size_t count_ = 0;
  };
  struct SizeClass {
    Samples by_switch, in_software;
    double switch_ns = 0, software_ns = 0;  // as last judged; 0: never
    [[nodiscard]] bool is_known() const noexcept { return switch_ns > 0 && software_ns > 0; }
    [[nodiscard]] bool prefers_switch() const noexcept { return switch_ns <= software_ns; }
    [[nodiscard]] double margin() const noexcept { return prefers_switch() ? software_ns / switch_ns : switch_ns / software_ns; }
  };
  struct Choice {
    bool is_made = false;
    bool by_switch = false;
    unsigned rounds = 0;                  // of the current trial
    std::uint64_t retry_after = 0;        // operations of the cell after the choice; 0: never
    std::uint64_t distance = kFirstRetry;
  };

  [[nodiscard]] bool is_clear(unsigned size_class, unsigned rounds) const noexcept;
  void judge(Cell);
  void conclude(unsigned size_class);
  void choose(Cell, bool by_switch);
  void predict(const PathPlan&);
  [[nodiscard]] std::optional<bool> predicted_by_switch(unsigned size_class) const noexcept;
  [[nodiscard]] std::optional<unsigned> neighbour(unsigned size_class, int step) const noexcept;  // the nearest class that was measured
  void begin_trial(Cell) noexcept;

  std::array<SizeClass, kSizeClasses> classes_;
  std::array<Choice, kCells> choices_;
  std::array<std::uint64_t, kCells> used_{};   // operations of the cell in all groups
  std::array<std::uint64_t, kCells> since_{};  // since its choice was made
  PlanBits bits_;
  std::vector<std::string> news_;
};

}  // namespace ina::core
