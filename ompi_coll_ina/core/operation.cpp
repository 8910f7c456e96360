#include "ompi_coll_ina/core/operation.hpp"

#include <new>

namespace ina::core {

void Operations::run(Operation& operation, std::size_t first_lane, ina_decline reason) noexcept {
  count_decline(reason);
  if (reason != INA_DECLINE_COST) operation.meter.reset();  // begun elsewhere, or not to be compared
  operation.state = Operation::State::kSchedule;
  const ScheduleSpec spec{.rank = operation.ranks.rank, .size = operation.ranks.size, .tag = operation.tag, .peers = operation.ranks.handle};
  try {
    operation.schedule = std::make_unique<Schedule>(spec, *operation.lanes, operation.op, first_lane, operation.lanes->lane_count(), host_);
    running_.push_back(&operation);
  } catch (const std::bad_alloc&) {
    finish(operation, -1);
  }
}

void Operations::record(const Operation& operation, Path path) noexcept {
  if (operation.meter) operation.meter->record(size_class_of(operation.bytes()), path, host_.now_ns() - operation.posted_at);
}

void Operations::finish_offloaded(Operation& operation) noexcept {
  record(operation, Path::kSwitch);
  if (operation.state == Operation::State::kShadow) return leave_shadow(operation);
  ++counters_.operations_offloaded;
  counters_.bytes_offloaded += operation.bytes();
  finish(operation, 0);
}

// The caller of a blocking one asks for its route until it hears of the software.
void Operations::leave_shadow(Operation& operation) noexcept {
  operation.meter.reset();
  operation.stream.reset();
  if (!operation.is_blocking) return run(operation, 0, INA_DECLINE_COST);
  count_decline(INA_DECLINE_COST);
  operation.state = Operation::State::kSoftware;
}

void Operations::finish_lost(Operation& operation) noexcept {
  if (operation.state == Operation::State::kShadow && operation.is_blocking) return leave_shadow(operation);
  finish(operation, -1);
}

void Operations::count_decline(ina_decline reason) noexcept {
  ++counters_.operations_declined;
  ++counters_.declined_by_reason[reason];
}

// After complete() the operation may be anybody's.
void Operations::finish(Operation& operation, int status) noexcept {
  operation.state = Operation::State::kDone;
  operation.schedule.reset();
  const std::shared_ptr<CommHold> hold = std::move(operation.hold);
  host_.complete(operation.cookie, status);
}

unsigned Operations::progress() noexcept {
  unsigned events = 0;
  for (std::size_t i = 0; i < running_.size();) {
    Operation& operation = *running_[i];
    events += static_cast<unsigned>(operation.schedule->progress());
    const bool has_failed = operation.schedule->has_failed();
    if (!has_failed && !operation.schedule->is_done()) {
      ++i;
      continue;
    }
    if (!has_failed) record(operation, Path::kSoftware);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(operation, has_failed ? -1 : 0);
    ++events;
  }
  return events;
}

}  // namespace ina::core
