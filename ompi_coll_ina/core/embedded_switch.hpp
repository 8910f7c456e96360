// embedded_switch.hpp: the switch that a job starts for itself, as a child process of rank 0, which ends with the job.
// Used by SwitchFinder on rank 0 of MPI_COMM_WORLD.
// Knows nothing of groups: once it listens it is a switch like any other.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "ompi_coll_ina/core/switch_address.hpp"

namespace ina::core {

// The address that an embedded switch listens on: loopback if the whole job is on this host, else the first IPv4 address of an interface that is up.
// Throws Error if there is none.
[[nodiscard]] std::string choose_listen_address(bool all_on_one_node);

class EmbeddedSwitch {
 public:
  enum class State : std::uint8_t { kIdle, kStarting, kListening, kFailed };
  static constexpr std::uint64_t kStartTimeoutNs = 3'000'000'000;

  EmbeddedSwitch() = default;
  ~EmbeddedSwitch() { stop(); }
  EmbeddedSwitch(const EmbeddedSwitch&) = delete;
  EmbeddedSwitch& operator=(const EmbeddedSwitch&) = delete;

  // Starts PROGRAM --embedded --listen ADDRESS:0 in a session of its own, on all CPUs, with no file but three pipe ends. It ends when this process does, however that happens:
  // its standard input closes.
  void start(const std::string& program, const std::string& listen_address, std::uint64_t now);
  // Reads what it says and notices its end. Does not block.
  void poll(std::uint64_t now);
  // Ends and reaps it. Waits at most some milliseconds for a program that obeys, then kills it.
  void stop() noexcept;

  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] const SwitchAddress& address() const noexcept { return address_; }  // kListening
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }    // kFailed
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }                         // -1: not running

 private:
  void read_output();
  void take_line(const std::string& line);
  void fail(const std::string& why) noexcept;

  State state_ = State::kIdle;
  pid_t pid_ = -1;
  int keep_alive_ = -1;  // its standard input
  int output_ = -1;      // its standard output and error
  std::string text_;
  std::string last_line_;
  std::string failure_;
  SwitchAddress address_;
  std::uint64_t deadline_ = 0;
};

}  // namespace ina::core
