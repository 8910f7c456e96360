// leader.hpp: what the leader of a communicator decides at a checkpoint, from what it knows then.
// Used by Communicator on rank 0. "Not yet" is a decision too, so nobody ever waits for anything but the leader's call.
// Does not send: Communicator does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ompi_coll_ina/core/cost_model.hpp"
#include "ompi_coll_ina/core/decision.hpp"
#include "ompi_coll_ina/core/group_life.hpp"
#include "ompi_coll_ina/core/group_request.hpp"

namespace ina::core {

class Leader {
 public:
  Leader(const LeaderServices& services, std::string name, int size, bool all_on_one_node, bool has_wire_order = true);

  // life: the communicator's current one or null; is_committed: its stream is used, by this plan.
  [[nodiscard]] Decision decide(const GroupLife* life, bool is_committed, const PathPlan& plan, std::uint64_t now);
  // Of the communicator's operations, all groups together.
  [[nodiscard]] const std::shared_ptr<CostModel>& costs() const noexcept { return costs_; }
  // The life has ended by agreed failover.
  void note_failover() noexcept { reason_ = INA_DECLINE_FAILOVER; }
  [[nodiscard]] bool is_busy() const noexcept { return request_.is_under_way(); }
  void progress(std::uint64_t now) { request_.progress(now); }
  // The communicator goes, after so many operations.
  void abandon(std::uint64_t operations);

 private:
  static constexpr std::uint64_t kFirstRetryNs = 50'000'000;
  static constexpr std::uint64_t kMaxRetryNs = 10'000'000'000;
  static constexpr std::uint64_t kSetUpPatienceNs = 5'000'000'000;
  static constexpr int kSetUpCheckpoints = 3;

  [[nodiscard]] Decision never(ina_decline, const std::string& why);
  [[nodiscard]] Decision stay() const;
  [[nodiscard]] Decision go_on(const PathPlan&);
  [[nodiscard]] Decision ask(std::uint64_t now);
  [[nodiscard]] Decision set_up(std::uint64_t now);
  [[nodiscard]] Decision judge_set_up(const GroupLife&, std::uint64_t now);
  [[nodiscard]] Decision commit(const GroupLife&);
  [[nodiscard]] Decision abort(const GroupLife&, const std::string& why, std::uint64_t now);
  [[nodiscard]] Decision stop(const GroupLife&, const std::string& why);
  void retry_later(std::uint64_t since) noexcept;
  void announce(const std::string& path);

  LeaderServices services_;
  const std::string name_;
  const int size_;
  const bool all_on_one_node_;
  GroupRequest request_;
  std::shared_ptr<CostModel> costs_ = std::make_shared<CostModel>();
  ina_decline reason_ = INA_DECLINE_SETUP;
  std::string path_;  // the last one that was announced
  std::uint32_t payload_limit_ = UINT32_MAX;
  std::uint64_t retry_at_ = 0;
  std::uint64_t retry_ns_ = kFirstRetryNs;
  std::uint64_t set_up_at_ = 0;
  int set_up_checkpoints_ = 0;
};

}  // namespace ina::core
