// manager_client.hpp: the process's one conversation with a manager: greeting, groups opened and closed, what became of them, and the lease
// that is taken up again after a lost connection.
// Used by the leaders of communicators. Time comes from the caller; nothing blocks.
// Does not decide when to ask again after a failure: its callers do, at checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "ompi_coll_ina/core/connection.hpp"
#include "ompi_coll_ina/core/manager_message.hpp"

namespace ina::core {

enum class AskState : std::uint8_t { kPending, kGranted, kRefused, kUnreachable };
// What a leader gets to its question. reason: for a user.
struct AskAnswer {
  AskState state = AskState::kPending;
  Grant grant;
  std::string reason;
};
enum class GroupState : std::uint8_t { kOpening, kActive, kLost };

class ManagerClient {
 public:
  enum class State : std::uint8_t { kIdle, kConnecting, kGreeting, kResuming, kReady, kFailed };
  using Connect = std::function<std::unique_ptr<Connection>(const SwitchAddress&)>;
  static constexpr std::uint64_t kTimeoutNs = 3'000'000'000;

  ManagerClient(Connect connect, std::string host_name, long pid) : connect_(std::move(connect)), host_name_(std::move(host_name)), pid_(pid) {}

  // Connects, unless it is connected (or connecting) to this address. After a failure it tries once more.
  void start(const SwitchAddress&, std::uint64_t now);
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] const Welcome& welcome() const noexcept { return welcome_; }  // kReady
  [[nodiscard]] std::string peer() const { return connection_ ? connection_->peer() : ""; }  // kReady
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  // True from the failure of a connection until start() makes the next one.
  [[nodiscard]] bool is_unreachable() const noexcept { return state_ == State::kFailed; }

  // kReady only. Returns the number of the question.
  [[nodiscard]] std::uint64_t ask(std::uint32_t members, std::uint32_t window, std::uint32_t payload, std::uint64_t now);
  // Forgets the question once it says something else than kPending.
  [[nodiscard]] AskAnswer answer(std::uint64_t question);
  // Nobody wants the answer any more: a group that is granted to it is closed.
  void abandon(std::uint64_t question);

  [[nodiscard]] GroupState group_state(std::uint32_t group) const;
  [[nodiscard]] std::string group_failure(std::uint32_t group) const;
  // The group's life is over: slots go back.
  void close(std::uint32_t group);
  [[nodiscard]] bool has_groups() const noexcept { return !groups_.empty(); }
  // Something is still to be written, to a manager that is there.
  [[nodiscard]] bool has_output() const noexcept { return state_ == State::kReady && !output_.empty(); }

  // Rate-limits itself: it costs a comparison where there is nothing to wait for.
  unsigned progress(std::uint64_t now);

 private:
  struct Question {
    AskAnswer answer;
    std::uint32_t members = 0, window = 0, payload = 0;
    std::uint64_t deadline = 0;
    bool is_abandoned = false;
  };
  struct Group {
    GroupState state = GroupState::kOpening;
    std::string failure;
  };
  void connect(std::uint64_t now);
  void fail(const std::string& why, std::uint64_t now);
  void lose_groups(const std::string& why);
  void greet(std::uint64_t now);
  void read(std::uint64_t now);
  void take(std::string_view line, std::uint64_t now);
  void on(const Welcome&, std::uint64_t now);
  void on(const ManagerResult&);
  void on(const ManagerRefusal&, std::uint64_t now);
  void on(const GroupEvent&);
  void settle(std::uint64_t id, AskState, const std::string& reason);
  void check_deadlines(std::uint64_t now);
  void write(std::uint64_t now);

  Connect connect_;
  std::string host_name_;
  long pid_;
  SwitchAddress address_;
  State state_ = State::kIdle;
  std::unique_ptr<Connection> connection_;
  std::string input_, output_, failure_;
  Welcome welcome_;
  std::string lease_;
  std::uint64_t next_id_ = 1;
  std::uint64_t resume_id_ = 0;
  std::uint64_t deadline_ = 0;         // of the greeting or the resumption
  std::uint64_t resume_deadline_ = 0;  // of the lease's grace time, 0: no lease waits
  std::uint64_t next_poll_ = 0;
  std::uint64_t next_attempt_ = 0;
  std::map<std::uint64_t, Question> questions_;
  std::map<std::uint32_t, Group> groups_;
};

}  // namespace ina::core
