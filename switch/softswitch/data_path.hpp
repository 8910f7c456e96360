// data_path.hpp: how packets reach the aggregator and leave it: the UDP relay, or network interfaces.
// Implemented by RelayPath and WirePath, one of which the program's loop serves.
// Knows nothing of the manager: binds are told by a callback, counters are asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ina::softswitch {

class DataPath {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Counters = std::vector<std::pair<std::string, std::uint64_t>>;
  using OnBind = std::function<void(std::uint32_t group)>;

  virtual ~DataPath() = default;
  // Readable when there is something to serve. The same one for ever.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  // What is there, at most a batch of each port, and sends what that makes. False: there was nothing.
  virtual bool serve(Time now) = 0;
  // Between batches, where the program has time: events that have nothing to do with packets.
  virtual void serve_events() {}
  virtual void add_counters(Counters&) const = 0;
  [[nodiscard]] virtual std::string description() const = 0;  // for the log
};

}  // namespace ina::softswitch
