// The border to the host: C in, C++ behind, no exception out.
#include "ompi_coll_ina/core/ina_core.h"

#include <poll.h>

#include <array>
#include <cstring>
#include <ctime>
#include <new>

#include "ompi_coll_ina/core/core.hpp"
#include "ompi_coll_ina/core/error.hpp"

namespace {

using ina::core::Core;
using ina::core::CoreLock;

// The host's call from within a call of the core needs no lock: it holds it.
class Guard {
 public:
  explicit Guard(CoreLock& lock) : lock_(lock), is_nested_(lock.is_mine()) {
    if (!is_nested_) lock_.lock();
  }
  ~Guard() {
    if (!is_nested_) lock_.unlock();
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  CoreLock& lock_;
  const bool is_nested_;
};

// The only catch of the core's border: `otherwise` is what the host gets when the core can do nothing any more.
template <typename Value, typename Call>
Value guarded(Core& core, Value otherwise, Call call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    core.give_up("out of memory");
  } catch (const std::exception& error) {
    core.give_up(error.what());
  } catch (...) {
    core.give_up("an unknown exception");
  }
  return otherwise;
}

// Of the last refusal, until the next one: the host copies it at once.
std::array<char, 512> refusal;

void refuse(const char* why, const char** error) noexcept {
  std::strncpy(refusal.data(), why, refusal.size() - 1);
  if (error != nullptr) *error = refusal.data();
}

constexpr std::array<const char*, INA_DECLINE_REASONS> kDeclineNames = {"type", "op", "no-switch", "unreachable", "no-slots", "setup", "one-node", "comm", "missing", "failover", "cost"};

}  // namespace

extern "C" {

const char* ina_decline_name(enum ina_decline reason) noexcept {
  const auto index = static_cast<std::size_t>(reason);
  return index < kDeclineNames.size() ? kDeclineNames[index] : "unknown";
}

ina_core* ina_core_create(const ina_host* host, const ina_settings* settings, const char** error) noexcept {
  try {
    return new ina_core(*host, ina::core::make_settings(*settings), ina::core::Surroundings{.open_fabric = ina::core::open_uct_fabric, .connect_manager = ina::core::connect_socket});
  } catch (const std::exception& exception) {
    refuse(exception.what(), error);
  } catch (...) {
    refuse("an unknown exception", error);
  }
  return nullptr;
}

void ina_core_begin_shutdown(ina_core* core) noexcept {
  const Guard guard(core->lock());
  (void)guarded(*core, 0, [&] {
    core->begin_shutdown();
    return 0;
  });
}

int ina_core_is_quiet(ina_core* core) noexcept {
  const Guard guard(core->lock());
  return guarded(*core, 1, [&] { return core->is_quiet() ? 1 : 0; });
}

void ina_core_destroy(ina_core* core) noexcept {
  if (core == nullptr) return;
  {
    const Guard guard(core->lock());
    core->close();
  }
  delete core;
}

int ina_core_progress(ina_core* core) noexcept {
  if (!core->lock().try_lock()) return 0;
  const int events = guarded(*core, 0, [&] { return core->progress(); });
  core->lock().unlock();
  return events;
}

int ina_core_serves_others(ina_core* core) noexcept {
  const Guard guard(core->lock());
  return core->serves_others() ? 1 : 0;
}

// The lock is not held while waiting: other threads may progress meanwhile.
void ina_core_idle(ina_core* core, unsigned microseconds) noexcept {
  int fd = -1;
  if (!core->lock().try_lock()) return;
  fd = core->arm();
  core->lock().unlock();
  if (fd < 0) return;
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  const timespec limit{.tv_sec = microseconds / 1'000'000, .tv_nsec = static_cast<long>(microseconds % 1'000'000) * 1000};
  (void)::ppoll(&waiting, 1, &limit, nullptr);
}

const ina_counters* ina_core_counters(ina_core* core) noexcept { return &core->counters(); }

void ina_core_count_decline(ina_core* core, enum ina_decline reason) noexcept {
  const Guard guard(core->lock());
  core->count_decline(reason);
}

ina_comm* ina_comm_create(ina_core* core, const ina_comm_spec* spec) noexcept {
  const Guard guard(core->lock());
  try {
    return core->add(*spec);
  } catch (...) {
    return nullptr;  // out of memory; the core is as before
  }
}

void ina_comm_destroy(ina_comm* comm) noexcept {
  if (comm == nullptr) return;
  Core& core = comm->core;
  const Guard guard(core.lock());
  (void)guarded(core, 0, [&] {
    core.remove(comm);
    return 0;
  });
}

enum ina_route ina_comm_allreduce(ina_comm* comm, const ina_reduction* reduction, ina_operation** operation) noexcept {
  Core& core = comm->core;
  const Guard guard(core.lock());
  return guarded(core, INA_ROUTE_NO_MEMORY, [&] { return core.allreduce(comm, *reduction, *operation); });
}

void ina_comm_software_done(ina_comm* comm) noexcept {
  const Guard guard(comm->core.lock());
  comm->note_software_done();
}

void ina_operation_free(ina_operation* operation) noexcept { delete operation; }

}  // extern "C"
