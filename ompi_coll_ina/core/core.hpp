// core.hpp: everything that one process has one of: host, channel, lives, communicators, manager client, interfaces, operations.
// Used by the border (ina_core.cpp) and by tests, which give it other surroundings.
// Its lock is taken by the border; progress never waits for it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ompi_coll_ina/core/channel.hpp"
#include "ompi_coll_ina/core/communicator.hpp"
#include "ompi_coll_ina/core/fabric_set.hpp"
#include "ompi_coll_ina/core/life_table.hpp"
#include "ompi_coll_ina/core/manager_client.hpp"
#include "ompi_coll_ina/core/operation.hpp"
#include "ompi_coll_ina/core/settings.hpp"
#include "ompi_coll_ina/core/switch_finder.hpp"

namespace ina::core {

class Core;

}  // namespace ina::core

// The name that the border gives to a communicator.
struct ina_comm final : ina::core::Communicator {
  ina_comm(ina::core::Core& owner, const ina_comm_spec& spec, const ina::core::CommunicatorServices& services) : Communicator(spec, services), core(owner) {}
  ina::core::Core& core;
};

namespace ina::core {

// What is outside of the process.
struct Surroundings {
  FabricSet::Open open_fabric;
  ManagerClient::Connect connect_manager;
};

// A mutex that knows its owner: the host may call progress, or free a communicator, from within a call of the core.
class CoreLock {
 public:
  [[nodiscard]] bool is_mine() const noexcept { return owner_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  void lock() {
    mutex_.lock();
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  [[nodiscard]] bool try_lock() {
    if (is_mine() || !mutex_.try_lock()) return false;
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return true;
  }
  void unlock() {
    owner_.store(std::thread::id(), std::memory_order_relaxed);
    mutex_.unlock();
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
};

class Core {
 public:
  Core(const ina_host&, const Settings&, Surroundings);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  [[nodiscard]] CoreLock& lock() noexcept { return lock_; }
  // All of the following with the lock held.
  [[nodiscard]] ina_comm* add(const ina_comm_spec&);
  void remove(ina_comm*);
  [[nodiscard]] ina_route allreduce(ina_comm*, const ina_reduction&, ina_operation*&);
  // This process has to progress although it may never reduce anything.
  [[nodiscard]] bool serves_others() const noexcept;
  int progress();
  void begin_shutdown();
  [[nodiscard]] bool is_quiet();
  // A descriptor that becomes readable when a packet comes; -1: there is none, or something is there already.
  [[nodiscard]] int arm() noexcept;
  void count_decline(ina_decline reason) noexcept { operations_.count_decline(reason); }
  [[nodiscard]] const ina_counters& counters() const noexcept { return counters_; }
  // Before the end: no message of the host's is outstanding after this.
  void close();
  // An exception has reached the border: what cannot be agreed upon any more is given up.
  void give_up(const char* why) noexcept;

 private:
  void handle(int source, LifeMessage&&);
  void progress_communicators(std::uint64_t now);

  CoreLock lock_;
  Host host_;
  const Settings settings_;
  ina_counters counters_{};
  Channel channel_;
  SendQueue sends_;
  FabricSet fabrics_;
  Operations operations_;
  SwitchFinder finder_;
  ManagerClient manager_;
  LifeTable lives_;
  std::vector<std::unique_ptr<ina_comm>> communicators_;
  std::vector<std::unique_ptr<ina_comm>> removed_;  // while communicators are worked off
  bool is_working_ = false;
  bool has_complained_ = false;
  bool is_shut_down_ = false;
  bool has_given_up_ = false;
  std::uint64_t shutdown_deadline_ = 0;
};

}  // namespace ina::core

// The name that the border gives it.
struct ina_core final : ina::core::Core {
  using ina::core::Core::Core;
};
