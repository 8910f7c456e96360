// communicator.hpp: one communicator at one rank: counts its eligible operations, takes decisions at checkpoints, and routes every operation the way all ranks route it.
// Used by Core through the border. On rank 0 it has the Leader.
// Does not know the stream, the manager or messages of lives: GroupLife and Leader do.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ompi_coll_ina/core/channel.hpp"
#include "ompi_coll_ina/core/checkpoint_clock.hpp"
#include "ompi_coll_ina/core/decision.hpp"
#include "ompi_coll_ina/core/group_life.hpp"
#include "ompi_coll_ina/core/ina_core.h"
#include "ompi_coll_ina/core/leader.hpp"
#include "ompi_coll_ina/core/life_table.hpp"
#include "ompi_coll_ina/core/operation.hpp"
#include "ompi_coll_ina/core/path_plan.hpp"

namespace ina::core {

struct CommunicatorServices {
  LifeServices life;
  LeaderServices leader;
  LifeTable& lives;
  SendQueue& sends;  // decisions
};

class Communicator {
 public:
  Communicator(const ina_comm_spec&, const CommunicatorServices&);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  // Throws std::bad_alloc and Error; the communicator cannot go on after that.
  [[nodiscard]] ina_route allreduce(const ina_reduction&, ina_operation*&);
  [[nodiscard]] bool needs_progress() const noexcept { return !waiting_.empty() || (leader_ && leader_->is_busy()) || (life_ && !life_->is_running()); }
  unsigned progress(std::uint64_t now);
  // The communicator uses its life no more, whatever state that is in: it is freed, or the process shuts down. Operations that are posted later go to software.
  void end();
  // The software path that was to be timed is over.
  void note_software_done() noexcept;
  // Messages fail: what waits for a decision is lost.
  void give_up();

 private:
  enum class Way : std::uint8_t {
    kWait,      // for a decision, or until all have reported a fault
    kSoftware,  // the caller's own way, or the core's schedule where it is not blocking
    kStream,
    kShadow,    // stream for its time alone, then software
    kSchedule,  // of a life that has failed: in software, by the core's schedule on all ranks
  };
  struct Request {  // what all ranks know of an operation
    std::uint64_t index;
    wire::Op op;
    wire::LaneType lane_type;
    Cell cell;
  };

  [[nodiscard]] std::unique_ptr<ina_operation> make(const ina_reduction&, std::uint64_t index);
  [[nodiscard]] static Request request_of(const Operation&) noexcept;
  [[nodiscard]] ina_decline decline_reason(const Request&) const noexcept;
  [[nodiscard]] bool has_plan_for(const Request&) const noexcept;
  [[nodiscard]] bool is_checkpoint(const Request&) const noexcept;
  [[nodiscard]] bool is_metered(const Request&) const noexcept;
  void count(const Request&) noexcept;
  [[nodiscard]] ina_route route_software(const Request&) noexcept;
  void start_timing(unsigned size_class) noexcept;
  [[nodiscard]] Way resolve(const Request&);
  [[nodiscard]] bool decide(std::uint64_t index);
  [[nodiscard]] std::optional<Decision> receive_decision();
  void send_decision(const Decision&);
  void apply(const Decision&, std::uint64_t index);
  void set_up(const Decision&);
  void sync_with_failover();
  void leave_life(std::uint64_t ended_at);
  void start(Operation&, Way, const Request&);
  unsigned run_waiting();
  [[nodiscard]] ina_route route_of(ina_operation*&) noexcept;
  [[nodiscard]] std::shared_ptr<CommHold> hold();
  [[nodiscard]] bool is_leader() const noexcept { return ranks_.rank == 0; }

  CommunicatorServices services_;
  CommRanks ranks_;
  std::vector<int> world_ranks_;
  std::vector<int> wire_order_;  // ranks in the order of a ring around a switch in the wire; empty: there is none
  const std::string name_;
  const int decision_tag_;
  const int first_tag_;  // of the operations: they go down from it and come round
  const unsigned tag_count_;
  std::unique_ptr<Leader> leader_;
  std::weak_ptr<CommHold> hold_;

  CheckpointClock clock_;
  std::uint64_t posted_ = 0;            // operations accepted: each has an index
  bool is_software_for_good_ = false;   // decided so, or shut down
  ina_decline reason_ = INA_DECLINE_SETUP;
  std::shared_ptr<GroupLife> life_;     // being set up, or used
  bool is_committed_ = false;
  PathPlan plan_;                       // of life_, once committed
  std::uint64_t life_end_ = 0;          // first operation that is not of life_, once an agreed failover has fixed it; 0: none has

  std::deque<ina_operation*> waiting_;  // in posting order; the first one cannot be routed yet
  // Leader: of the blocking operation that is being timed in software.
  bool is_timing_software_ = false;
  unsigned timed_class_ = 0;
  std::uint64_t timed_since_ = 0;
  std::vector<std::byte> decision_;     // where the decision of the current checkpoint is received
  void* decision_request_ = nullptr;
};

}  // namespace ina::core
