// operation.hpp: one posted allreduce from its post to its completion, and Operations, which runs those that are done in software.
// Used by Communicator (routing), GroupLife (stream) and the border.
// Does not decide which way an operation goes. The host owns an operation from its post on; the core touches it no more once it has called complete().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ompi_coll_ina/core/cost_model.hpp"
#include "ompi_coll_ina/core/host.hpp"
#include "ompi_coll_ina/core/ina_core.h"
#include "ompi_coll_ina/core/lanes.hpp"
#include "ompi_coll_ina/core/schedule.hpp"
#include "ompi_coll_ina/core/stream.hpp"

namespace ina::core {

// The ranks of a communicator as a schedule needs them.
struct CommRanks {
  void* handle = nullptr;
  int rank = 0;
  int size = 0;
};

struct Operation {
  enum class State : std::uint8_t {
    kWaiting,   // its checkpoint is undecided, or one before it is, or a failover is not fixed
    kStream,    // in the stream of a life
    kShadow,    // likewise, but its result is thrown away: software follows
    kSchedule,  // in software, run by the core
    kSoftware,  // blocking only: the caller runs it itself
    kDone,      // complete() has been called
  };
  State state = State::kWaiting;
  std::uint64_t index = 0;  // of the communicator's eligible operations, from 1
  bool is_blocking = false;
  void* cookie = nullptr;
  CommRanks ranks;
  int tag = 0;  // follows from the index
  wire::Op op = wire::Op::kNone;
  std::optional<HostLanes> lanes;
  std::optional<ShadowLanes> shadow;  // in place of `lanes` in the stream
  std::optional<StreamOperation> stream;
  std::unique_ptr<Schedule> schedule;
  std::shared_ptr<CommHold> hold;
  std::shared_ptr<CostModel> meter;  // on the leader, of a trial: what it takes is recorded
  std::uint64_t posted_at = 0;       // ns, where it is metered
  [[nodiscard]] std::size_t bytes() const noexcept { return lanes->lane_count() * wire::lane_bytes(lanes->lane_type()); }
};

}  // namespace ina::core

// The name that the border gives it.
struct ina_operation final : ina::core::Operation {};

namespace ina::core {

class Operations {
 public:
  Operations(Host& host, ina_counters& counters) noexcept : host_(host), counters_(counters) {}

  // Starts the software schedule for lanes from `first_lane` on. reason: why not by the switch.
  void run(Operation&, std::size_t first_lane, ina_decline reason) noexcept;
  // All results came from the switch. Those of a shadow are gone: it goes on in software.
  void finish_offloaded(Operation&) noexcept;
  // A shadow whose time in the switch is over, well or not: in software, as if nothing had been.
  void leave_shadow(Operation&) noexcept;
  // Messages between members failed: the result cannot be had.
  void finish_lost(Operation& operation) noexcept;
  void count_decline(ina_decline reason) noexcept;
  unsigned progress() noexcept;
  [[nodiscard]] bool is_idle() const noexcept { return running_.empty(); }

 private:
  void finish(Operation&, int status) noexcept;
  void record(const Operation&, Path) noexcept;

  Host& host_;
  ina_counters& counters_;
  std::vector<Operation*> running_;
};

}  // namespace ina::core
