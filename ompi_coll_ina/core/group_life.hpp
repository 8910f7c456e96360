// group_life.hpp: one life of one group at one member, from set-up over stream and agreed failover to quiesce.
// Used by Communicator, which decides when it is used, and by Core, which feeds it messages and progress. Outlives its communicator.
// Does not talk to the manager and decides nothing that a decision or an agreement has not decided.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ompi_coll_ina/core/decision.hpp"
#include "ompi_coll_ina/core/fabric_set.hpp"
#include "ompi_coll_ina/core/failover.hpp"
#include "ompi_coll_ina/core/life_message.hpp"
#include "ompi_coll_ina/core/operation.hpp"
#include "ompi_coll_ina/core/settings.hpp"
#include "ompi_coll_ina/core/silence_watch.hpp"
#include "ompi_coll_ina/core/stream.hpp"

namespace ina::core {

class Channel;

// What a life uses of its process.
struct LifeServices {
  Host& host;
  const Settings& settings;
  Channel& channel;
  FabricSet& fabrics;
  Operations& operations;
  ina_counters& counters;
};

struct LifeSpec {
  Decision set_up;
  std::uint16_t member = 0;
  // Its neighbours in the ring; none: those whose numbers are next.
  std::optional<std::uint16_t> left = std::nullopt, right = std::nullopt;
  std::vector<int> world_ranks;  // of all members
  std::string name;              // of the communicator, for the log
  std::uint64_t posted = 0;      // operations accepted so far
};

class GroupLife {
 public:
  enum class Phase : std::uint8_t {
    kConnecting,  // the ring exists, addresses of the neighbours are missing
    kBinding,     // connected; binds are not acknowledged yet
    kBound,       // voted for; waits for commit or abort
    kWithdrawn,   // voted for, but a connection has failed since
    kRefused,     // voted against
    kRunning,     // committed: the stream is used
    kFrozen,      // a fault is reported; reports of others are missing
    kFixed,       // all reports are in: what is not covered goes to software
  };
  enum class End : std::uint8_t {
    kInUse,
    kFinished,   // this member needs it no more and has told the leader
    kDestroyed,  // all have finished; endpoints are destroyed, the leader has been told
    kForgotten,  // all have destroyed theirs; memory is free
  };
  enum class Ballot : std::uint8_t { kOpen, kAccepted, kRefused };

  GroupLife(LifeSpec, const LifeServices&);
  ~GroupLife();
  GroupLife(const GroupLife&) = delete;
  GroupLife& operator=(const GroupLife&) = delete;

  [[nodiscard]] LifeKey key() const noexcept { return spec_.set_up.life; }
  [[nodiscard]] bool is_leader() const noexcept { return spec_.member == 0; }
  [[nodiscard]] std::uint32_t window() const noexcept { return spec_.set_up.window; }
  [[nodiscard]] const Decision& set_up() const noexcept { return spec_.set_up; }
  [[nodiscard]] std::size_t members() const noexcept { return spec_.world_ranks.size(); }
  [[nodiscard]] std::string transport_description() const { return fabric_ ? fabric_->description() : spec_.set_up.transport; }

  // From the communicator. `posted`: the operations that it has accepted, told before anything may freeze this life.
  void note_posted(std::uint64_t posted) noexcept { posted_ = posted; }
  // The decision: from now on the stream is used. Void where the life has frozen before.
  void commit();
  // Appends to the stream. Only while is_running().
  void post(Operation&);
  // The communicator uses this life no more. ended_at: the first operation that is not of it, 0 where no decision said so.
  void detach(std::uint64_t ended_at) noexcept;

  [[nodiscard]] bool is_running() const noexcept { return phase_ == Phase::kRunning; }
  [[nodiscard]] bool is_frozen() const noexcept { return phase_ == Phase::kFrozen; }
  [[nodiscard]] bool is_fixed() const noexcept { return phase_ == Phase::kFixed; }
  [[nodiscard]] const Failover& failover() const noexcept { return *failover_; }  // is_fixed()
  [[nodiscard]] bool supports(wire::Op op, wire::LaneType type) const noexcept {
    return (spec_.set_up.ops >> static_cast<unsigned>(op) & 1) != 0 && (spec_.set_up.lane_types >> static_cast<unsigned>(type) & 1) != 0;
  }

  // Leader only.
  [[nodiscard]] Ballot ballot() const noexcept { return ballot_; }
  [[nodiscard]] const std::string& refusal() const noexcept { return refusal_; }
  [[nodiscard]] std::uint32_t smallest_payload() const noexcept { return smallest_payload_; }  // that any member could carry, as far as told

  // From Core. source: rank in MPI_COMM_WORLD. A message that does not fit is ignored.
  void handle(int source, LifeMessage&&);
  unsigned progress(std::uint64_t now);
  [[nodiscard]] bool is_forgotten() const noexcept { return end_ == End::kForgotten; }
  // The host cannot deliver messages any more: nothing can be agreed upon. Everything outstanding is lost, endpoints are destroyed.
  void give_up() noexcept;

 private:
  struct MemberState {
    bool has_voted = false;
    bool has_finished = false;
    bool has_destroyed = false;
  };

  // Set-up (group_life_setup.cpp).
  void open();
  void connect();
  void progress_setup();
  void vote(bool ok, const std::string& reason);
  void take(std::uint16_t member, AddressMessage&&);
  void take(std::uint16_t member, const VoteMessage&);
  // Running and failover (group_life_failover.cpp).
  unsigned progress_stream(std::uint64_t now);
  unsigned collect();
  void watch(std::uint64_t now);
  void freeze(const std::string& reason);
  void fix();
  void hand_over_results();
  void finish_failover();
  void lose_operations() noexcept;
  void take(std::uint16_t member, const ProbeMessage&);
  void take(std::uint16_t member, const StatusMessage&);
  void take(std::uint16_t member, const ReportMessage&);
  void take(std::uint16_t member, const HandoverMessage&);
  // Quiesce (group_life_quiesce.cpp).
  void progress_quiesce();
  void take(std::uint16_t member, const QuiesceMessage&);
  void forget() noexcept;

  void take(std::uint16_t, const WhereIsSwitchMessage&) noexcept {}
  void take(std::uint16_t, const SwitchIsAtMessage&) noexcept {}
  void send(std::uint16_t member, LifeBody);
  void send_to_others(const LifeBody&);
  void send_to_all(const LifeBody&);
  [[nodiscard]] std::uint16_t left() const noexcept;
  [[nodiscard]] std::uint16_t right() const noexcept;
  [[nodiscard]] std::uint32_t result_end() const noexcept { return stream_ ? stream_->result_end() : spec_.set_up.first_seq; }
  [[nodiscard]] std::uint32_t contributed_end() const noexcept { return stream_ ? stream_->contributed_end() : spec_.set_up.first_seq; }

  LifeSpec spec_;
  LifeServices services_;
  Phase phase_ = Phase::kConnecting;
  End end_ = End::kInUse;
  bool is_attached_ = true;
  std::uint64_t posted_;
  std::uint64_t ended_at_ = 0;

  std::shared_ptr<Fabric> fabric_;  // before ring and stream: destroyed after them
  std::unique_ptr<Ring> ring_;
  std::unique_ptr<Stream> stream_;
  std::optional<std::vector<std::byte>> left_address_, right_address_;

  std::deque<Operation*> outstanding_;  // in the stream, in posting order
  SilenceWatch watch_;
  std::optional<Failover> failover_;
  std::string fault_;
  bool is_recovered_ = false;  // everything outstanding has been completed or given to software

  // Leader only.
  std::vector<MemberState> states_;
  std::size_t votes_ = 0, finished_ = 0, destroyed_ = 0;
  Ballot ballot_ = Ballot::kOpen;
  std::string refusal_;
  std::uint32_t smallest_payload_ = UINT32_MAX;
};

}  // namespace ina::core
