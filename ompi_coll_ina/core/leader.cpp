#include "ompi_coll_ina/core/leader.hpp"

#include <algorithm>

#include "wire/limits.hpp"

namespace ina::core {

Leader::Leader(const LeaderServices& services, std::string name, int size, bool all_on_one_node, bool has_wire_order)
    : services_(services), name_(std::move(name)), size_(size), all_on_one_node_(all_on_one_node), request_(services, static_cast<std::uint32_t>(size), has_wire_order) {}

Decision Leader::decide(const GroupLife* life, bool is_committed, const PathPlan& plan, std::uint64_t now) {
  const Settings& settings = services_.settings;
  if (settings.select == Select::kNever) return never(INA_DECLINE_NO_SWITCH, "coll_ina_select is never");
  if (settings.switch_address.kind == SwitchAddress::Kind::kNone) return never(INA_DECLINE_NO_SWITCH, "no switch configured");
  if (settings.select == Select::kAuto && all_on_one_node_ && !settings.one_node) return never(INA_DECLINE_ONE_NODE, "all ranks are on one node and coll_ina_select is auto");
  if (size_ > wire::kMaxMembers) return never(INA_DECLINE_NO_SLOTS, "a group has " + std::to_string(wire::kMaxMembers) + " members at most");
  if (life == nullptr) return ask(now);
  if (!is_committed) return judge_set_up(*life, now);
  if (services_.manager.group_state(life->key().group) == GroupState::kLost) return stop(*life, services_.manager.group_failure(life->key().group));
  return go_on(plan);
}

Decision Leader::go_on(const PathPlan& plan) {
  Decision decision = stay();
  decision.plan = plan.bits();
  if (services_.settings.select == Select::kAlways) return decision;
  decision.plan = costs_->next(plan);
  for (const std::string& line : costs_->take_news()) {
    if (services_.settings.verbose >= 2) services_.host.log(INA_LOG_DEBUG, name_ + ": " + line);
  }
  return decision;
}

void Leader::abandon(std::uint64_t operations) {
  request_.abandon();
  if (path_.empty() && operations != 0) announce("software: it ended with operation " + std::to_string(operations) + ", before its group was ready");
  const std::string chosen = costs_->summary();
  if (!chosen.empty()) announce("chosen by the time they took: " + chosen);
}

Decision Leader::never(ina_decline reason, const std::string& why) {
  announce("software: " + why);
  Decision decision;
  decision.kind = DecisionKind::kNever;
  decision.reason = static_cast<std::uint8_t>(reason);
  return decision;
}

Decision Leader::stay() const {
  Decision decision;
  decision.reason = static_cast<std::uint8_t>(reason_);
  return decision;
}

Decision Leader::ask(std::uint64_t now) {
  request_.progress(now);
  if (request_.state() == GroupRequest::State::kFailed) {
    reason_ = request_.reason();
    announce("software: " + request_.failure());
    retry_later(request_.failed_at());
    request_.abandon();
  }
  if (request_.state() == GroupRequest::State::kIdle && now >= retry_at_) {
    request_.start(payload_limit_, now);
  }
  if (request_.state() == GroupRequest::State::kGranted) return set_up(now);
  return stay();
}

Decision Leader::set_up(std::uint64_t now) {
  const Grant grant = request_.take();
  const Welcome& welcome = services_.manager.welcome();
  set_up_at_ = now;
  set_up_checkpoints_ = 0;
  reason_ = INA_DECLINE_SETUP;
  Decision decision;
  decision.kind = DecisionKind::kSetUp;
  decision.reason = INA_DECLINE_SETUP;
  decision.life = grant.life;
  decision.window = grant.window;
  decision.first_seq = grant.first_seq;
  decision.payload = grant.payload;
  decision.ops = welcome.ops;
  decision.lane_types = welcome.lane_types;
  decision.instance = welcome.instance;
  decision.relay = request_.fabric_settings().relay;
  decision.manager = request_.fabric_settings().manager;
  decision.transport = request_.fabric_settings().transport;
  return decision;
}

Decision Leader::judge_set_up(const GroupLife& life, std::uint64_t now) {
  const std::uint32_t group = life.key().group;
  ++set_up_checkpoints_;
  if (life.ballot() == GroupLife::Ballot::kRefused) return abort(life, life.refusal(), now);
  const GroupState state = services_.manager.group_state(group);
  if (state == GroupState::kLost) return abort(life, services_.manager.group_failure(group), now);
  if (life.ballot() == GroupLife::Ballot::kAccepted && state == GroupState::kActive) return commit(life);
  const bool is_late = set_up_checkpoints_ >= kSetUpCheckpoints && now - set_up_at_ > kSetUpPatienceNs;
  if (is_late) return abort(life, state == GroupState::kActive ? "a member did not vote within 5 s" : "the switch did not see all binds within 5 s", now);
  return stay();
}

Decision Leader::commit(const GroupLife& life) {
  const Decision& group = life.set_up();
  retry_ns_ = kFirstRetryNs;
  reason_ = INA_DECLINE_SETUP;
  announce("offloaded to " + services_.finder.address().text() + ", group " + std::to_string(group.life.group) + ", " + std::to_string(size_) +
           " members, window " + std::to_string(group.window) + ", chunks of " + std::to_string(group.payload) + " bytes (" + life.transport_description() + ")");
  Decision decision;
  decision.kind = DecisionKind::kCommit;
  decision.reason = INA_DECLINE_SETUP;
  decision.life = life.key();
  decision.plan = services_.settings.select == Select::kAlways ? kAlwaysBySwitch : costs_->begin();
  return decision;
}

Decision Leader::abort(const GroupLife& life, const std::string& why, std::uint64_t now) {
  payload_limit_ = std::min(payload_limit_, life.smallest_payload());
  reason_ = INA_DECLINE_UNREACHABLE;
  announce("software: " + why);
  retry_later(now);
  Decision decision;
  decision.kind = DecisionKind::kAbort;
  decision.reason = static_cast<std::uint8_t>(reason_);
  decision.life = life.key();
  return decision;
}

Decision Leader::stop(const GroupLife& life, const std::string& why) {
  reason_ = INA_DECLINE_FAILOVER;
  announce("software: " + why);
  Decision decision;
  decision.kind = DecisionKind::kStop;
  decision.reason = static_cast<std::uint8_t>(reason_);
  decision.life = life.key();
  return decision;
}

void Leader::retry_later(std::uint64_t since) noexcept {
  retry_at_ = since + retry_ns_;
  retry_ns_ = std::min(retry_ns_ * 2, kMaxRetryNs);
}

void Leader::announce(const std::string& path) {
  if (path == path_) return;
  path_ = path;
  if (services_.settings.verbose >= 1) services_.host.log(INA_LOG_INFO, name_ + ": " + path);
}

}  // namespace ina::core
