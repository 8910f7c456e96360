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
  // Messages fail: what waits for a decision is lost.
  void give_up();

 private:
  enum class Way : std::uint8_t {
    kWait,      // for a decision, or until all have reported a fault
    kSoftware,  // the caller's own way, or the core's schedule where it is not blocking
    kStream,
    kSchedule,  // of a life that has failed: in software, by the core's schedule on all ranks
  };
  struct Request {  // what all ranks know of an operation
    std::uint64_t index;
    wire::Op op;
    wire::LaneType lane_type;
  };

  [[nodiscard]] std::unique_ptr<ina_operation> make(const ina_reduction&, std::uint64_t index);
  [[nodiscard]] ina_decline decline_reason() const noexcept;
  [[nodiscard]] Way resolve(const Request&);
  [[nodiscard]] bool decide(std::uint64_t index);
  [[nodiscard]] std::optional<Decision> receive_decision();
  void send_decision(const Decision&);
  void apply(const Decision&, std::uint64_t index);
  void set_up(const Decision&);
  void sync_with_failover();
  void leave_life(std::uint64_t ended_at);
  void start(Operation&, Way);
  unsigned run_waiting();
  [[nodiscard]] ina_route route_of(ina_operation*&) noexcept;
  [[nodiscard]] std::shared_ptr<CommHold> hold();
  [[nodiscard]] bool is_leader() const noexcept { return ranks_.rank == 0; }

  CommunicatorServices services_;
  CommRanks ranks_;
  std::vector<int> world_ranks_;
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
  std::uint64_t life_end_ = 0;          // first operation that is not of life_, once an agreed failover has fixed it; 0: none has

  std::deque<ina_operation*> waiting_;  // in posting order; the first one cannot be routed yet
  std::vector<std::byte> decision_;     // where the decision of the current checkpoint is received
  void* decision_request_ = nullptr;
};

}  // namespace ina::core
