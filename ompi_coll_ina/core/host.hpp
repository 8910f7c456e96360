// host.hpp: the host's functions (ina_host) as the core calls them, as a Messenger for the software schedules, and the queue of sends that nobody waits for.
// Used by every part of the core that sends, asks for the time or says something.
// Holds no lock: the core's is held by whoever calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ompi_coll_ina/core/ina_core.h"
#include "ompi_coll_ina/core/messenger.hpp"

namespace ina::core {

class Host final : public Messenger {
 public:
  explicit Host(const ina_host& functions) noexcept : f_(functions) {}

  [[nodiscard]] int isend(void* peers, int peer, int tag, const std::byte* buffer, std::size_t bytes, void** request) noexcept override {
    return f_.isend(f_.context, peers, peer, tag, buffer, bytes, request);
  }
  [[nodiscard]] int irecv(void* peers, int peer, int tag, std::byte* buffer, std::size_t bytes, void** request) noexcept override {
    return f_.irecv(f_.context, peers, peer, tag, buffer, bytes, request);
  }
  [[nodiscard]] int test(void** request, std::size_t* received) noexcept override {
    int source = 0;
    return test(request, received, &source);
  }
  [[nodiscard]] int test(void** request, std::size_t* received, int* source) noexcept { return f_.test(f_.context, request, received, source); }
  void cancel(void** request) noexcept override { f_.cancel(f_.context, request); }

  void retain(void* comm, bool keep) noexcept { f_.retain(f_.context, comm, keep ? 1 : 0); }
  void complete(void* cookie, int status) noexcept { f_.complete(f_.context, cookie, status); }
  [[nodiscard]] std::uint64_t now_ns() noexcept { return f_.now_ns(f_.context); }
  void log(ina_log_level level, const std::string& text) noexcept { f_.log(f_.context, level, text.c_str()); }
  void show_help(const char* topic, const std::string& text) noexcept { f_.show_help(f_.context, topic, text.c_str()); }

 private:
  ina_host f_;
};

// Keeps a communicator alive for messages as long as somebody holds it.
class CommHold {
 public:
  CommHold(Host& host, void* comm) noexcept : host_(host), comm_(comm) { host_.retain(comm_, true); }
  ~CommHold() { host_.retain(comm_, false); }
  CommHold(const CommHold&) = delete;
  CommHold& operator=(const CommHold&) = delete;

 private:
  Host& host_;
  void* comm_;
};

// Sends whose end nobody waits for: owns the bytes until the host is done with them.
class SendQueue {
 public:
  explicit SendQueue(Host& host) noexcept : host_(host) {}
  // hold: of the communicator, or null for INA_WORLD.
  void send(void* comm, int peer, int tag, std::vector<std::byte> bytes, std::shared_ptr<CommHold> hold);
  unsigned progress() noexcept;
  [[nodiscard]] bool is_empty() const noexcept { return sends_.empty(); }
  // A message could not be sent: its receiver waits for ever, whatever is agreed upon with it cannot be.
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

 private:
  struct Send {
    std::vector<std::byte> bytes;
    void* request = nullptr;
    std::shared_ptr<CommHold> hold;
  };
  Host& host_;
  std::deque<Send> sends_;
  bool has_failed_ = false;
};

}  // namespace ina::core
