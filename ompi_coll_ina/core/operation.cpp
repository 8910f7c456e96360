#include "ompi_coll_ina/core/operation.hpp"

#include <new>

namespace ina::core {

void Operations::run(Operation& operation, std::size_t first_lane, ina_decline reason) noexcept {
  count_decline(reason);
  operation.state = Operation::State::kSchedule;
  const ScheduleSpec spec{.rank = operation.ranks.rank, .size = operation.ranks.size, .tag = operation.tag, .peers = operation.ranks.handle};
  try {
    operation.schedule = std::make_unique<Schedule>(spec, *operation.lanes, operation.op, first_lane, operation.lanes->lane_count(), host_);
    running_.push_back(&operation);
  } catch (const std::bad_alloc&) {
    finish(operation, -1);
  }
}

void Operations::finish_offloaded(Operation& operation) noexcept {
  ++counters_.operations_offloaded;
  counters_.bytes_offloaded += operation.bytes();
  finish(operation, 0);
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
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(operation, has_failed ? -1 : 0);
    ++events;
  }
  return events;
}

}  // namespace ina::core
