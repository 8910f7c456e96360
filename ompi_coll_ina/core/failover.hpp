// failover.hpp: the agreement by which the members of a life that has a fault find out what all of them have: one report from each.
// Used by GroupLife.
// Sends nothing and knows no stream: it only adds up reports. A failover lasts as long as the last member needs to enter MPI.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ompi_coll_ina/core/life_message.hpp"
#include "wire/ina_header.hpp"

namespace ina::core {

class Failover {
 public:
  explicit Failover(std::uint16_t members) : reports_(members) {}

  // A second report of the same member changes nothing.
  void take(std::uint16_t member, const ReportMessage& report) {
    if (reports_[member]) return;
    reports_[member] = report;
    ++count_;
  }
  [[nodiscard]] bool has_report(std::uint16_t member) const noexcept { return reports_[member].has_value(); }
  // All members have reported: from now on everything below is fixed.
  [[nodiscard]] bool is_fixed() const noexcept { return count_ == reports_.size(); }

  // H: the seq after the highest result that anyone has. At most W after any member's own, since nobody sends seq + W before it has the result of seq.
  [[nodiscard]] std::uint32_t highest() const noexcept { return reports_[donor()]->has; }
  // The lowest member that has all of them.
  [[nodiscard]] std::uint16_t donor() const noexcept {
    std::uint16_t best = 0;
    for (std::uint16_t member = 1; member < reports_.size(); ++member) {
      if (wire::seq_distance(reports_[member]->has, reports_[best]->has) > 0) best = member;
    }
    return best;
  }
  [[nodiscard]] std::uint32_t has(std::uint16_t member) const noexcept { return reports_[member]->has; }
  // The first operation of the communicator that no longer belongs to this life. It is after every operation that any member had accepted when it froze,
  // unless the leader had ended the life by a decision before.
  [[nodiscard]] std::uint64_t end() const noexcept {
    if (reports_[0]->ended_at != 0) return reports_[0]->ended_at;
    std::uint64_t posted = 0;
    for (const auto& report : reports_) posted = report->posted > posted ? report->posted : posted;
    return posted + 1;
  }
  // The life ends where the failover says, not where a decision said: the end becomes a checkpoint.
  [[nodiscard]] bool makes_checkpoint() const noexcept { return reports_[0]->ended_at == 0; }

 private:
  std::vector<std::optional<ReportMessage>> reports_;
  std::size_t count_ = 0;
};

}  // namespace ina::core
