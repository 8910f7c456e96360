// life_table.hpp: all lives that this process is a member of, by their keys, and the messages that came before their life was known here.
// Used by Core (messages, progress) and by Communicator (new lives).
// Keeps a life until its quiesce is over, whatever became of its communicator.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "ompi_coll_ina/core/group_life.hpp"

namespace ina::core {

class LifeTable {
 public:
  // forgotten: called once for each life whose quiesce is over.
  explicit LifeTable(std::function<void(const GroupLife&)> forgotten) : forgotten_(std::move(forgotten)) {}

  // Takes the life in and hands it what came early. Null: a life with this key is known already.
  std::shared_ptr<GroupLife> add(std::shared_ptr<GroupLife>);
  void handle(int source, LifeMessage&&);
  unsigned progress(std::uint64_t now);
  void give_up() noexcept;
  [[nodiscard]] bool is_empty() const noexcept { return lives_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return lives_.size(); }

 private:
  // A neighbour may be a checkpoint ahead of this process: only its address can come before the life is known here, all else needs this member's vote or report.
  static constexpr std::size_t kMaxEarly = 4096;
  static constexpr std::size_t kMaxPast = 1024;
  struct Early {
    int source;
    LifeMessage message;
  };
  void bury(const LifeKey&);

  std::function<void(const GroupLife&)> forgotten_;
  std::map<LifeKey, std::shared_ptr<GroupLife>> lives_;
  std::deque<Early> early_;
  std::set<LifeKey> past_;  // the latest of those that are over: late messages are not kept for them
  std::deque<LifeKey> past_order_;
};

}  // namespace ina::core
