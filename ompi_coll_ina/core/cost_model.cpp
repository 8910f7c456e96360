#include "ompi_coll_ina/core/cost_model.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <utility>

namespace ina::core {

namespace {

// From here on an operation takes so long that its time is hardly disturbed, and that a needless one is felt. Below kSmallClass it is the other way round.
constexpr unsigned kLargeClass = 20;
constexpr unsigned kSmallClass = 16;

// How many times the faster path must be as fast after so many rounds, two timed operations of each path in one; after the last ones any difference counts. The fewer
// times there are, the more they must differ: the first operations of a path still open connections and fault pages in.
struct Needed {
  unsigned rounds;
  double margin;
};
constexpr std::array<Needed, 4> kNeededSmall = {{{1, 16}, {2, 4}, {4, 1.5}, {8, 1}}};
constexpr std::array<Needed, 4> kNeededMedium = {{{1, 4}, {2, 2}, {3, 1.3}, {4, 1}}};
constexpr std::array<Needed, 2> kNeededLarge = {{{1, 1.5}, {2, 1}}};

bool is_enough(std::span<const Needed> needed, unsigned rounds, double margin) noexcept {
  return std::ranges::any_of(needed, [&](const Needed& each) { return rounds >= each.rounds && margin >= each.margin; });
}

constexpr Cell cell_at(unsigned family, unsigned size_class) noexcept {
  return {.family = static_cast<Family>(family), .size_class = static_cast<std::uint8_t>(size_class)};
}

std::string size_text(unsigned size_class) {
  static constexpr std::array<const char*, 4> kUnits = {"B", "KiB", "MiB", "GiB"};
  return std::to_string(1U << (size_class % 10)) + " " + kUnits[size_class / 10];
}

std::string microseconds(double ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), ns < 100'000 ? "%.1f us" : "%.0f us", ns / 1000);
  return text.data();
}

}  // namespace

double CostModel::Samples::typical_ns() const noexcept {
  if (count_ == 0) return 0;
  auto sorted = ns_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto quartile = sorted.begin() + static_cast<std::ptrdiff_t>(count_ / 4);
  std::nth_element(sorted.begin(), quartile, end);
  return static_cast<double>(std::max<std::uint64_t>(*quartile, 1));
}

void CostModel::record(unsigned size_class, Path path, std::uint64_t ns) noexcept {
  SizeClass& measured = classes_[size_class];
  (path == Path::kSoftware ? measured.in_software : measured.by_switch).add(ns);
}

PlanBits CostModel::begin() noexcept {
  for (unsigned index = 0; index < kCells; ++index) {
    const Cell cell = cell_at(index / kSizeClasses, index % kSizeClasses);
    const Choice& choice = choices_[index];
    bits_.set(&PlanBits::by_switch, cell, choice.by_switch);
    if (cell.family == Family::kFloatSum && choice.is_made) {
      bits_.set(&PlanBits::on_trial, cell, false);
    } else {
      begin_trial(cell);
    }
  }
  return bits_;
}

// Both families of a class share its times: whichever is measured first settles the other one too.
void CostModel::begin_trial(Cell cell) noexcept {
  choices_[cell.index()].rounds = 0;
  classes_[cell.size_class].by_switch.clear();
  classes_[cell.size_class].in_software.clear();
  bits_.set(&PlanBits::on_trial, cell, true);
}

PlanBits CostModel::next(const PathPlan& current) {
  for (unsigned index = 0; index < kCells; ++index) {
    const Cell cell = cell_at(index / kSizeClasses, index % kSizeClasses);
    if (current.is_due(cell) && bits_.is_set(&PlanBits::on_trial, cell)) judge(cell);
  }
  predict(current);
  for (unsigned index = 0; index < kCells; ++index) {
    const Choice& choice = choices_[index];
    const Cell cell = cell_at(index / kSizeClasses, index % kSizeClasses);
    if (choice.is_made && choice.retry_after != 0 && since_[index] >= choice.retry_after && !bits_.is_set(&PlanBits::on_trial, cell)) begin_trial(cell);
  }
  return bits_;
}

bool CostModel::is_clear(unsigned size_class, unsigned rounds) const noexcept {
  const double margin = classes_[size_class].margin();
  if (size_class >= kLargeClass) return is_enough(kNeededLarge, rounds, margin);
  return size_class < kSmallClass ? is_enough(kNeededSmall, rounds, margin) : is_enough(kNeededMedium, rounds, margin);
}

void CostModel::judge(Cell cell) {
  SizeClass& measured = classes_[cell.size_class];
  Choice& choice = choices_[cell.index()];
  ++choice.rounds;
  const auto rounds = static_cast<unsigned>(std::min(measured.by_switch.count(), measured.in_software.count()) / 2);
  if (rounds != 0) {
    measured.switch_ns = measured.by_switch.typical_ns();
    measured.software_ns = measured.in_software.typical_ns();
    if (is_clear(cell.size_class, rounds)) return conclude(cell.size_class);
  }
  if (choice.rounds < kMostRounds) return;
  // Nothing could be measured, because operations were disturbed by a failover: the choice that was, or the switch.
  if (rounds != 0) return conclude(cell.size_class);
  choose(cell, choice.is_made ? choice.by_switch : true);
}

// The classes' times are known: settles its cells.
void CostModel::conclude(unsigned size_class) {
  const SizeClass& measured = classes_[size_class];
  for (unsigned family = 0; family < kFamilies; ++family) {
    const Cell cell = cell_at(family, size_class);
    const Choice& choice = choices_[cell.index()];
    if (!bits_.is_set(&PlanBits::on_trial, cell)) continue;
    const bool keeps = choice.is_made && measured.margin() < kHysteresis;
    choose(cell, keeps ? choice.by_switch : measured.prefers_switch());
  }
  news_.push_back("up to " + size_text(size_class) + ": switch " + microseconds(measured.switch_ns) + ", software " + microseconds(measured.software_ns) + ": " +
                  (measured.prefers_switch() ? "switch" : "software"));
}

// Three of a round's operations at most take the slower path, (margin - 1) longer than the other one: so many operations later that is no more than kExploring of the time.
void CostModel::choose(Cell cell, bool by_switch) {
  Choice& choice = choices_[cell.index()];
  const bool is_confirmed = choice.is_made && choice.by_switch == by_switch;
  choice.distance = is_confirmed ? std::min(choice.distance * 2, kLastRetry) : kFirstRetry;
  choice.is_made = true;
  choice.by_switch = by_switch;
  since_[cell.index()] = 0;
  const SizeClass& measured = classes_[cell.size_class];
  const double cost = measured.is_known() ? (measured.margin() - 1) * kSlowOperations / kExploring : 0;
  choice.retry_after = cell.family == Family::kFloatSum ? 0 : std::max(choice.distance, static_cast<std::uint64_t>(std::min(cost, 1e9)));
  bits_.set(&PlanBits::by_switch, cell, by_switch);
  bits_.set(&PlanBits::on_trial, cell, false);
}

std::optional<unsigned> CostModel::neighbour(unsigned size_class, int step) const noexcept {
  int at = static_cast<int>(size_class);
  for (unsigned distance = 1; distance <= kNeighbourDistance; ++distance) {
    at += step;
    if (at < 0 || at >= static_cast<int>(kSizeClasses)) return std::nullopt;
    if (classes_[static_cast<unsigned>(at)].is_known()) return static_cast<unsigned>(at);
  }
  return std::nullopt;
}

// A class between two for which the same path is faster by far. Large vectors take as long as their bytes do, so that beyond them it goes on as it was below.
std::optional<bool> CostModel::predicted_by_switch(unsigned size_class) const noexcept {
  if (classes_[size_class].is_known()) return std::nullopt;
  const std::optional<unsigned> below = neighbour(size_class, -1);
  std::optional<unsigned> other = neighbour(size_class, +1);
  if (!below) return std::nullopt;
  const bool is_beyond = !other && *below >= kLargeClass;
  if (is_beyond) other = neighbour(*below, -1);
  if (!other) return std::nullopt;
  const SizeClass& first = classes_[*below];
  const SizeClass& second = classes_[*other];
  const double needed = is_beyond ? kSafeMarginBeyond : kSafeMargin;
  if (first.prefers_switch() != second.prefers_switch() || std::min(first.margin(), second.margin()) < needed) return std::nullopt;
  return first.prefers_switch();
}

// What nobody has used yet needs no trial where its times can be told.
void CostModel::predict(const PathPlan& current) {
  for (unsigned size_class = 0; size_class < kSizeClasses; ++size_class) {
    const std::optional<bool> by_switch = predicted_by_switch(size_class);
    if (!by_switch) continue;
    for (unsigned family = 0; family < kFamilies; ++family) {
      const Cell cell = cell_at(family, size_class);
      const bool is_open = !choices_[cell.index()].is_made && bits_.is_set(&PlanBits::on_trial, cell) && current.is_on_trial(cell) && current.is_unused(cell);
      if (is_open) choose(cell, *by_switch);
    }
  }
}

std::vector<std::string> CostModel::take_news() { return std::exchange(news_, {}); }

// Runs of neighbouring classes that were used and go the same way.
std::string CostModel::summary() const {
  std::string text;
  for (unsigned family = 0; family < kFamilies; ++family) {
    std::string ranges;
    int first = -1, last = -1;
    const auto close = [&] {
      if (first < 0) return;
      const bool by_switch = choices_[cell_at(family, static_cast<unsigned>(first)).index()].by_switch;
      ranges += std::string(ranges.empty() ? "" : ", ") + (by_switch ? "switch " : "software ") + size_text(static_cast<unsigned>(first)) +
                (first == last ? "" : " to " + size_text(static_cast<unsigned>(last)));
      first = -1;
    };
    for (unsigned size_class = 0; size_class < kSizeClasses; ++size_class) {
      const unsigned index = cell_at(family, size_class).index();
      if (used_[index] == 0 || !choices_[index].is_made) continue;
      if (first >= 0 && choices_[index].by_switch != choices_[cell_at(family, static_cast<unsigned>(last)).index()].by_switch) close();
      if (first < 0) first = static_cast<int>(size_class);
      last = static_cast<int>(size_class);
    }
    close();
    if (ranges.empty()) continue;
    text += (text.empty() ? "" : "; ") + ((family == static_cast<unsigned>(Family::kFloatSum) ? "sums of floats: " : "exact results: ") + ranges);
  }
  return text;
}

}  // namespace ina::core
