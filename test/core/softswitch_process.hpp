// softswitch_process.hpp: the real ina-softswitch as a child process on loopback, and the few manager requests that a test needs.
// Used by tests that go through the real relay.
// Is no manager client: it waits for each answer and believes it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ina::test {

class SoftswitchProcess {
 public:
  // Path of the program that was built, or empty: not built.
  [[nodiscard]] static std::string program();

  // Starts it on an ephemeral port of 127.0.0.1 and says hello. Throws std::runtime_error.
  explicit SoftswitchProcess(const std::vector<std::string>& options = {});
  ~SoftswitchProcess();
  SoftswitchProcess(const SoftswitchProcess&) = delete;
  SoftswitchProcess& operator=(const SoftswitchProcess&) = delete;

  [[nodiscard]] const std::string& relay() const { return relay_; }
  // The result of a request.
  [[nodiscard]] nlohmann::json request(nlohmann::json what);
  // Waits for the event, at most some seconds.
  void await_event(const std::string& event, std::uint32_t group);
  // Ends the program at once.
  void kill() noexcept;

 private:
  void start(const std::vector<std::string>& options);
  void connect();
  [[nodiscard]] nlohmann::json read_line();

  int pid_ = -1;
  int manager_ = -1;
  int output_ = -1;
  int next_id_ = 1;
  std::string address_, relay_, received_;
};

}  // namespace ina::test
