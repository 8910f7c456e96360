// switch_finder.hpp: where the switch is. A configured address is known at once; an embedded switch is started by rank 0 of MPI_COMM_WORLD,
// which leaders in other processes ask.
// Used by Core: its own leaders ask here, and messages of the two WHERE-IS kinds come here.
// Does not connect to it: ManagerClient does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ompi_coll_ina/core/embedded_switch.hpp"
#include "ompi_coll_ina/core/life_message.hpp"
#include "ompi_coll_ina/core/settings.hpp"

namespace ina::core {

class SwitchFinder {
 public:
  enum class State : std::uint8_t { kUnknown, kFinding, kKnown, kUnavailable };
  static constexpr int kMaxStarts = 4;
  using Send = std::function<void(int world_rank, const LifeBody&)>;

  SwitchFinder(const Settings& settings, Send send);

  // Begins to look, unless it is known. is_lost: the address known so far does not answer.
  void find(bool is_lost, std::uint64_t now);
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] const SwitchAddress& address() const noexcept { return address_; }
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

  // Rank 0 only: somebody else's leader asks.
  void on_question(int world_rank, const WhereIsSwitchMessage&, std::uint64_t now);
  void on_answer(int world_rank, const SwitchIsAtMessage&);
  void progress(std::uint64_t now);
  // This process needs the embedded switch no more. True: rank 0 has just been told.
  [[nodiscard]] bool release();
  // Rank 0 only: leaders elsewhere that have asked for the embedded switch and have not released it.
  [[nodiscard]] bool has_users() const noexcept { return !users_.empty(); }

 private:
  [[nodiscard]] bool is_starter() const noexcept { return settings_.world_rank == 0; }
  void start(std::uint64_t now);
  void settle();

  const Settings& settings_;
  Send send_;
  State state_ = State::kUnknown;
  SwitchAddress address_;
  std::string failure_;
  std::unique_ptr<EmbeddedSwitch> embedded_;
  int starts_ = 0;
  std::vector<int> askers_;  // to be answered
  std::set<int> users_;
  bool has_asked_ = false;
  std::uint64_t deadline_ = 0;
  std::uint64_t next_poll_ = 0;
};

}  // namespace ina::core
