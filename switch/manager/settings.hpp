// settings.hpp: what a program chooses when it runs a manager.
// Used by the program (ina-softswitch) that fills it, and by every part of the manager.
// Holds no state; numbers that the protocol fixes are in wire/limits.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "switch/manager/random.hpp"

namespace ina::manager {

using TimePoint = std::chrono::steady_clock::time_point;
using NamedCounters = std::vector<std::pair<std::string, std::uint64_t>>;

// error: cannot go on; warn: the operator should act; info: once per connection; debug: per group.
enum class LogLevel : std::uint8_t { kError, kWarn, kInfo, kDebug };

struct ManagerSettings {
  std::string instance;              // 16 hex digits, new at every start; empty: drawn
  std::string program;               // "ina-softswitch 0.1.0"
  std::optional<std::string> relay;  // where endpoints send their packets; none: the switch is in the wire

  std::chrono::milliseconds lease_grace{2000};    // how long a lost lease may be resumed
  std::chrono::milliseconds bind_timeout{10000};  // from open to the last bind
  std::chrono::milliseconds hello_timeout{5000};  // from connect to the first line
  std::chrono::milliseconds linger{1000};         // how long a connection that was told an error may take to read it

  std::size_t max_connections = 1024;
  std::size_t max_groups_per_lease = 256;
  std::size_t max_output_bytes = 262144;  // answers that a host has not read; beyond, its connection is closed

  std::function<TimePoint()> clock = [] { return std::chrono::steady_clock::now(); };
  std::function<void(std::span<std::byte>)> random = fill_random;
  std::function<void(LogLevel, std::string_view)> log;  // one line without its end; none: silent
  std::function<NamedCounters()> switch_counters;       // shown in status; none: none are shown
};

}  // namespace ina::manager
