// program.hpp: ina-softswitch as a whole: data path, aggregator and manager in one loop of one thread.
// Used by main().
// Does not parse the command line; knows no rule of the protocol.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "switch/aggregator/aggregator.hpp"
#include "switch/manager/manager.hpp"
#include "switch/softswitch/data_path.hpp"
#include "switch/softswitch/listening.hpp"
#include "switch/softswitch/settings.hpp"

namespace ina::softswitch {

class Program {
 public:
  // Opens everything; throws SetupError or std::system_error.
  explicit Program(const Settings&);
  ~Program();
  Program(const Program&) = delete;

  [[nodiscard]] std::string address() const { return listening_.manager_text; }
  [[nodiscard]] std::string data_description() const { return data_->description(); }
  // Serves until a signal, or the end of standard input if embedded.
  void run();

 private:
  using Time = DataPath::Time;

  void watch(int fd);
  [[nodiscard]] std::unique_ptr<DataPath> open_data_path(std::uint64_t instance);
  [[nodiscard]] bool serve_data(Time now);
  void wait_and_serve();
  [[nodiscard]] int timeout_ms(Time now) const;
  void on_signal();
  void on_stdin();
  void log_counters() const;
  [[nodiscard]] manager::NamedCounters counters() const;

  Settings settings_;
  Listening listening_;
  net::Descriptor epoll_;
  net::Descriptor signals_;
  aggregator::Aggregator aggregator_;
  std::unique_ptr<DataPath> data_;
  std::unique_ptr<manager::Manager> manager_;
  std::vector<std::uint32_t> newly_bound_;  // groups, told to the manager between batches
  Time data_seen_{};
  Time next_stats_{};
  std::uint64_t waits_ = 0;
  bool is_ending_ = false;
};

}  // namespace ina::softswitch
