#include "ina_config.h"

#include "ompi_coll_ina/core/manager_client.hpp"

#include <algorithm>
#include <array>

#include "wire/limits.hpp"

namespace ina::core {

namespace {

constexpr std::uint64_t kPollBusyNs = 20'000;         // while something is awaited
constexpr std::uint64_t kPollIdleNs = 2'000'000;      // for events
constexpr std::uint64_t kReconnectNs = 100'000'000;   // between attempts to resume a lease
constexpr const char* kClient = "coll_ina " PACKAGE_VERSION;

// The grant is one that the question allows.
const char* objection(const Grant& grant, std::uint32_t window, std::uint32_t payload) noexcept {
  if (grant.life.group == 0 || grant.life.epoch == 0) return "group or epoch 0";
  if (!wire::is_power_of_two(grant.window) || grant.window < wire::kMinWindow || grant.window > window) return "a window that was not asked for";
  if (grant.first_seq % (2 * grant.window) != 0) return "a first seq that is no multiple of two windows";
  if (grant.payload < wire::kMinPayload || grant.payload > payload || grant.payload % 4 != 0) return "a payload that was not asked for";
  return nullptr;
}

}  // namespace

void ManagerClient::start(const SwitchAddress& address, std::uint64_t now) {
  if (!(address == address_)) {
    if (connection_) fail("the switch has moved to " + address.text(), now);
    lose_groups("the switch has moved to " + address.text());
    lease_.clear();
    resume_deadline_ = 0;
    address_ = address;
    state_ = State::kIdle;
  }
  if (state_ == State::kIdle || state_ == State::kFailed) connect(now);
}

void ManagerClient::connect(std::uint64_t now) {
  input_.clear();
  output_.clear();
  connection_ = connect_(address_);
  state_ = State::kConnecting;
  deadline_ = now + kTimeoutNs;
  next_poll_ = 0;
}

// Groups are not lost with the connection: their lease may be resumed within its grace time.
void ManagerClient::fail(const std::string& why, std::uint64_t now) {
  const bool had_lease = state_ == State::kReady && !lease_.empty() && !groups_.empty();
  failure_ = address_.text() + ": " + why;
  state_ = State::kFailed;
  connection_.reset();
  input_.clear();
  output_.clear();
  for (auto& [id, question] : questions_) {
    if (question.answer.state == AskState::kPending) question.answer = {.state = AskState::kUnreachable, .grant = {}, .reason = failure_};
  }
  std::erase_if(questions_, [](const auto& each) { return each.second.is_abandoned; });
  if (had_lease) {
    resume_deadline_ = now + std::uint64_t{welcome_.lease_grace_ms} * 1'000'000;
    next_attempt_ = now;
  } else if (resume_deadline_ != 0) {
    next_attempt_ = now + kReconnectNs;
  } else if (!groups_.empty()) {
    lose_groups(failure_);
  }
}

void ManagerClient::lose_groups(const std::string& why) {
  for (auto& [number, group] : groups_) {
    if (group.state != GroupState::kLost) group = {.state = GroupState::kLost, .failure = why};
  }
}

std::uint64_t ManagerClient::ask(std::uint32_t members, std::uint32_t window, std::uint32_t payload, std::uint64_t now) {
  const std::uint64_t id = next_id_++;
  output_ += open_line(id, members, window, payload);
  Question question;
  question.members = members;
  question.window = window;
  question.payload = payload;
  question.deadline = now + kTimeoutNs;
  questions_.emplace(id, std::move(question));
  next_poll_ = 0;
  return id;
}

AskAnswer ManagerClient::answer(std::uint64_t id) {
  const auto found = questions_.find(id);
  if (found == questions_.end()) return {.state = AskState::kUnreachable, .grant = {}, .reason = failure_};
  AskAnswer answer = found->second.answer;
  if (answer.state == AskState::kPending) return answer;
  // A manager that did not answer in time may still grant: the question stays until it does, its group is closed at once.
  if (answer.state == AskState::kUnreachable && state_ == State::kReady) {
    found->second.is_abandoned = true;
  } else {
    questions_.erase(found);
  }
  return answer;
}

void ManagerClient::abandon(std::uint64_t id) {
  const auto found = questions_.find(id);
  if (found == questions_.end()) return;
  found->second.is_abandoned = true;
  const AskAnswer& answer = found->second.answer;
  if (answer.state == AskState::kPending) return;
  if (answer.state == AskState::kGranted) close(answer.grant.life.group);
  questions_.erase(found);
}

GroupState ManagerClient::group_state(std::uint32_t group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? GroupState::kLost : found->second.state;
}

std::string ManagerClient::group_failure(std::uint32_t group) const {
  const auto found = groups_.find(group);
  return found == groups_.end() ? "the manager knows the group no more" : found->second.failure;
}

void ManagerClient::close(std::uint32_t group) {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return;
  if (found->second.state != GroupState::kLost && state_ == State::kReady) {
    output_ += close_line(next_id_++, group);
    next_poll_ = 0;
  }
  groups_.erase(found);
  if (groups_.empty()) resume_deadline_ = 0;
}

unsigned ManagerClient::progress(std::uint64_t now) {
  if (state_ == State::kIdle || now < next_poll_) return 0;
  if (state_ == State::kFailed) {
    if (resume_deadline_ == 0 || now < next_attempt_) return 0;
    if (now >= resume_deadline_) {
      resume_deadline_ = 0;
      lease_.clear();
      lose_groups(failure_);
      return 1;
    }
    connect(now);
  }
  const State before = state_;
  switch (connection_->advance()) {
    case Connection::State::kFailed: fail(connection_->failure(), now); return 1;
    case Connection::State::kOpen:
      if (state_ == State::kConnecting) greet(now);
      write(now);
      if (connection_) read(now);
      break;
    case Connection::State::kConnecting: break;
  }
  check_deadlines(now);
  const bool is_waiting = state_ != State::kReady || !questions_.empty() || !output_.empty();
  const bool is_opening = std::ranges::any_of(groups_, [](const auto& each) { return each.second.state == GroupState::kOpening; });
  next_poll_ = now + (is_waiting || is_opening ? kPollBusyNs : kPollIdleNs);
  return state_ != before ? 1 : 0;
}

void ManagerClient::greet(std::uint64_t now) {
  output_ = hello_line(kClient, host_name_, pid_);
  state_ = State::kGreeting;
  deadline_ = now + kTimeoutNs;
}

void ManagerClient::write(std::uint64_t now) {
  while (!output_.empty()) {
    const std::ptrdiff_t bytes = connection_->write(output_);
    if (bytes < 0) {
      fail(connection_->failure(), now);
      return;
    }
    if (bytes == 0) return;
    output_.erase(0, static_cast<std::size_t>(bytes));
  }
}

void ManagerClient::read(std::uint64_t now) {
  std::array<char, 4096> bytes;
  while (connection_) {
    const std::ptrdiff_t count = connection_->read(bytes);
    if (count == 0) return;
    if (count < 0) {
      fail(connection_->failure(), now);
      return;
    }
    input_.append(bytes.data(), static_cast<std::size_t>(count));
    for (auto end = input_.find('\n'); connection_ && end != std::string::npos; end = input_.find('\n')) {
      const std::string line = input_.substr(0, end);
      input_.erase(0, end + 1);
      take(line, now);
    }
    if (connection_ && input_.size() > wire::kMaxManagerLine) fail("a line without end; this is no manager of ina", now);
  }
}

void ManagerClient::take(std::string_view line, std::uint64_t now) {
  const ManagerLine decoded = decode_manager_line(line);
  if (const auto* garbage = std::get_if<ManagerGarbage>(&decoded)) {
    fail("an answer that is not of ina's protocol (" + garbage->why + ")", now);
  } else if (const auto* welcome = std::get_if<Welcome>(&decoded)) {
    on(*welcome, now);
  } else if (const auto* result = std::get_if<ManagerResult>(&decoded)) {
    on(*result);
  } else if (const auto* refusal = std::get_if<ManagerRefusal>(&decoded)) {
    on(*refusal, now);
  } else if (const auto* event = std::get_if<GroupEvent>(&decoded)) {
    on(*event);
  }
}

void ManagerClient::on(const Welcome& welcome, std::uint64_t now) {
  if (state_ != State::kGreeting) return;
  const bool is_same = welcome.instance == welcome_.instance;
  welcome_ = welcome;
  if (!is_same) lose_groups("the switch was restarted");
  const bool has_lease = is_same && resume_deadline_ != 0 && !lease_.empty();
  if (!has_lease) {
    lease_.clear();
    resume_deadline_ = 0;
    state_ = State::kReady;
    return;
  }
  resume_id_ = next_id_++;
  output_ += resume_line(resume_id_, lease_);
  state_ = State::kResuming;
  deadline_ = now + kTimeoutNs;
}

void ManagerClient::on(const ManagerResult& result) {
  if (state_ == State::kResuming && result.id == resume_id_) {
    for (auto& [number, group] : groups_) {
      if (std::ranges::find(result.groups, number) == result.groups.end()) group = {.state = GroupState::kLost, .failure = "the manager knows the group no more"};
      if (std::ranges::find(result.active, number) != result.active.end() && group.state == GroupState::kOpening) group.state = GroupState::kActive;
    }
    for (const std::uint32_t number : result.groups) {
      if (!groups_.contains(number)) output_ += close_line(next_id_++, number);
    }
    resume_deadline_ = 0;
    state_ = State::kReady;
    return;
  }
  const auto found = questions_.find(result.id);
  if (found == questions_.end()) return;
  Question& question = found->second;
  if (!result.grant) {
    settle(result.id, AskState::kRefused, address_.text() + ": a grant without numbers");
    return;
  }
  const Grant& grant = *result.grant;
  const char* wrong = objection(grant, question.window, question.payload);
  lease_ = grant.lease;
  if (wrong == nullptr && groups_.contains(grant.life.group)) wrong = "a group that is in use";
  if (wrong != nullptr) {
    if (!groups_.contains(grant.life.group)) output_ += close_line(next_id_++, grant.life.group);
    settle(result.id, AskState::kRefused, address_.text() + ": granted " + wrong);
    return;
  }
  groups_.emplace(grant.life.group, Group{});
  if (question.is_abandoned) {
    close(grant.life.group);
    questions_.erase(found);
    return;
  }
  question.answer = {.state = AskState::kGranted, .grant = grant, .reason = {}};
}

void ManagerClient::settle(std::uint64_t id, AskState state, const std::string& reason) {
  const auto found = questions_.find(id);
  if (found == questions_.end()) return;
  if (found->second.is_abandoned) {
    questions_.erase(found);
  } else {
    found->second.answer = {.state = state, .grant = {}, .reason = reason};
  }
}

void ManagerClient::on(const ManagerRefusal& refusal, std::uint64_t now) {
  const std::string why = refusal.text.empty() ? refusal.code : refusal.text;
  if (!refusal.id) {
    fail("refused: " + why, now);
    return;
  }
  if (state_ == State::kResuming && *refusal.id == resume_id_) {
    lease_.clear();
    resume_deadline_ = 0;
    lose_groups("the lease has ended: " + why);
    state_ = State::kReady;
    return;
  }
  settle(*refusal.id, AskState::kRefused, address_.text() + ": " + why);
}

void ManagerClient::on(const GroupEvent& event) {
  const auto found = groups_.find(event.group);
  if (found == groups_.end() || found->second.state == GroupState::kLost) return;
  if (event.is_active) {
    found->second.state = GroupState::kActive;
  } else {
    found->second = {.state = GroupState::kLost, .failure = event.text.empty() ? "the manager has ended the group" : event.text};
  }
}

void ManagerClient::check_deadlines(std::uint64_t now) {
  const bool is_starting = state_ == State::kConnecting || state_ == State::kGreeting || state_ == State::kResuming;
  if (is_starting && now >= deadline_) {
    fail("no answer within 3 s", now);
    return;
  }
  for (auto& [id, question] : questions_) {
    if (question.answer.state == AskState::kPending && !question.is_abandoned && now >= question.deadline)
      question.answer = {.state = AskState::kUnreachable, .grant = {}, .reason = address_.text() + ": no answer within 3 s"};
  }
}

}  // namespace ina::core
