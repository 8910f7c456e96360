#include "ompi_coll_ina/core/switch_finder.hpp"

#include <algorithm>

#include "ompi_coll_ina/core/error.hpp"

namespace ina::core {

namespace {

constexpr std::uint64_t kAnswerTimeoutNs = 4'000'000'000;  // rank 0 may have to start it first
constexpr std::uint64_t kPollStartingNs = 200'000;
constexpr std::uint64_t kPollRunningNs = 20'000'000;

}  // namespace

SwitchFinder::SwitchFinder(const Settings& settings, Send send) : settings_(settings), send_(std::move(send)) {
  if (settings_.switch_address.kind == SwitchAddress::Kind::kEmbedded) return;
  address_ = settings_.switch_address;
  state_ = address_.kind == SwitchAddress::Kind::kNone ? State::kUnavailable : State::kKnown;
  failure_ = "no switch configured";
}

void SwitchFinder::find(bool is_lost, std::uint64_t now) {
  if (settings_.switch_address.kind != SwitchAddress::Kind::kEmbedded || state_ == State::kFinding) return;
  if (state_ == State::kKnown && !is_lost) return;
  if (is_starter()) {
    start(now);
    return;
  }
  state_ = State::kFinding;
  deadline_ = now + kAnswerTimeoutNs;
  has_asked_ = true;
  send_(0, WhereIsSwitchMessage{.why = is_lost ? WhereIsSwitchMessage::Why::kLost : WhereIsSwitchMessage::Why::kAsk});
}

// A switch that runs is not started again, whatever somebody thinks of its address.
void SwitchFinder::start(std::uint64_t now) {
  if (embedded_) embedded_->poll(now);
  const bool is_running = embedded_ && (embedded_->state() == EmbeddedSwitch::State::kStarting || embedded_->state() == EmbeddedSwitch::State::kListening);
  if (!is_running) {
    if (starts_ >= kMaxStarts) {
      state_ = State::kUnavailable;
      return;
    }
    ++starts_;
    if (!embedded_) embedded_ = std::make_unique<EmbeddedSwitch>();
    try {
      const std::string& chosen = settings_.switch_address.host;
      embedded_->start(settings_.softswitch, chosen.empty() ? choose_listen_address(settings_.all_on_one_node) : chosen, now);
    } catch (const Error& error) {
      failure_ = error.what();
      state_ = State::kUnavailable;
      return;
    }
  }
  next_poll_ = 0;
  settle();
}

void SwitchFinder::settle() {
  switch (embedded_->state()) {
    case EmbeddedSwitch::State::kStarting: state_ = State::kFinding; return;
    case EmbeddedSwitch::State::kListening:
      address_ = embedded_->address();
      state_ = State::kKnown;
      break;
    case EmbeddedSwitch::State::kIdle:
    case EmbeddedSwitch::State::kFailed:
      failure_ = embedded_->failure();
      state_ = State::kUnavailable;
      break;
  }
}

void SwitchFinder::on_question(int world_rank, const WhereIsSwitchMessage& question, std::uint64_t now) {
  if (!is_starter()) return;
  if (question.why == WhereIsSwitchMessage::Why::kRelease) {
    users_.erase(world_rank);
    return;
  }
  users_.insert(world_rank);
  if (settings_.switch_address.kind == SwitchAddress::Kind::kEmbedded) find(question.why == WhereIsSwitchMessage::Why::kLost, now);
  if (std::ranges::find(askers_, world_rank) == askers_.end()) askers_.push_back(world_rank);
  progress(now);
}

bool SwitchFinder::release() {
  if (!has_asked_) return false;
  has_asked_ = false;
  send_(0, WhereIsSwitchMessage{.why = WhereIsSwitchMessage::Why::kRelease});
  return true;
}

void SwitchFinder::on_answer(int world_rank, const SwitchIsAtMessage& answer) {
  if (world_rank != 0 || state_ != State::kFinding) return;
  failure_ = answer.reason.empty() ? "rank 0 has no embedded switch" : answer.reason;
  state_ = State::kUnavailable;
  if (answer.address.empty()) return;
  try {
    address_ = parse_switch_address(answer.address);
    if (address_.kind == SwitchAddress::Kind::kTcp) state_ = State::kKnown;
  } catch (const Error& error) {
    failure_ = error.what();
  }
}

void SwitchFinder::progress(std::uint64_t now) {
  if (!is_starter()) {
    if (state_ != State::kFinding || now < deadline_) return;
    failure_ = "rank 0 did not say where its embedded switch is";
    state_ = State::kUnavailable;
    return;
  }
  if (embedded_ && now >= next_poll_) {
    embedded_->poll(now);
    next_poll_ = now + (embedded_->state() == EmbeddedSwitch::State::kStarting ? kPollStartingNs : kPollRunningNs);
    settle();
  }
  if (askers_.empty() || state_ == State::kFinding) return;
  const bool is_known = state_ == State::kKnown && address_.kind == SwitchAddress::Kind::kTcp;
  for (const int asker : askers_) send_(asker, SwitchIsAtMessage{.address = is_known ? address_.text() : "", .reason = is_known ? "" : failure_});
  askers_.clear();
}

}  // namespace ina::core
