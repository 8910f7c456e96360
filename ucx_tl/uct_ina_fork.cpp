#include "ucx_tl/uct_ina_fork.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "ucx_tl/engine/error.hpp"

namespace ina::uct {
namespace {

std::atomic<unsigned> generation{0};
std::mutex mutex;
bool is_watching = false;

void on_fork_in_child() { generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

unsigned watch_forks() {
  const std::lock_guard lock(mutex);
  if (!is_watching && pthread_atfork(nullptr, nullptr, on_fork_in_child) != 0) throw engine::Error(engine::Failure::kSystem, "cannot watch forks: out of memory");
  is_watching = true;
  return fork_generation();
}

unsigned fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

}  // namespace ina::uct
