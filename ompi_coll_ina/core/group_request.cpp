#include "ompi_coll_ina/core/group_request.hpp"

#include <algorithm>
#include <bit>

#include "ompi_coll_ina/core/error.hpp"
#include "wire/limits.hpp"

namespace ina::core {

namespace {

constexpr const char* kDefaultTransport = "ina";

}  // namespace

void GroupRequest::start(std::uint32_t payload_limit, std::uint64_t now) {
  payload_limit_ = payload_limit;
  is_second_try_ = false;
  state_ = State::kFinding;
  services_.finder.find(false, now);
  progress(now);
}

void GroupRequest::progress(std::uint64_t now) {
  if (!is_under_way()) return;
  now_ = now;
  if (state_ == State::kFinding) {
    switch (services_.finder.state()) {
      case SwitchFinder::State::kUnknown:
      case SwitchFinder::State::kFinding: return;
      case SwitchFinder::State::kUnavailable: fail(INA_DECLINE_UNREACHABLE, services_.finder.failure()); return;
      case SwitchFinder::State::kKnown: break;
    }
    services_.manager.start(services_.finder.address(), now);
    state_ = State::kConnecting;
  }
  if (state_ == State::kConnecting) look_for_manager(now);
  if (state_ == State::kAsking) hear();
}

void GroupRequest::look_for_manager(std::uint64_t now) {
  if (services_.manager.state() == ManagerClient::State::kReady) {
    ask(now);
    return;
  }
  if (!services_.manager.is_unreachable()) return;
  const bool is_embedded = services_.settings.switch_address.kind == SwitchAddress::Kind::kEmbedded;
  if (!is_embedded || is_second_try_) {
    fail(INA_DECLINE_UNREACHABLE, services_.manager.failure());
    return;
  }
  is_second_try_ = true;
  state_ = State::kFinding;
  services_.finder.find(true, now);
}

// The interface is opened first, since it knows what a packet can carry.
void GroupRequest::ask(std::uint64_t now) {
  const Welcome& welcome = services_.manager.welcome();
  if (welcome.members < members_) {
    fail(INA_DECLINE_NO_SLOTS, "the switch serves groups of " + std::to_string(welcome.members) + " members at most");
    return;
  }
  fabric_settings_ = {.transport = services_.settings.transport == "auto" ? kDefaultTransport : services_.settings.transport, .device = {}, .relay = welcome.relay, .manager = {}};
  if (welcome.relay.empty()) {
    fabric_settings_.manager = services_.manager.peer();
    if (!has_wire_order_) {
      fail_transport("more than half of the ranks are on one node, and what they send to each other does not pass the switch, which is between nodes");
      return;
    }
  }
  try {
    const auto fabric = services_.fabrics.get(welcome.instance, fabric_settings_);
    const std::size_t most = std::min({fabric->max_payload(), std::size_t{welcome.payload}, std::size_t{payload_limit_}, wire::kMaxPayload});
    if (most < wire::kMinPayload) {
      fail_transport("packets of " + std::to_string(most) + " bytes are too small");
      return;
    }
    const auto payload = static_cast<std::uint32_t>(most / 4 * 4);
    question_ = services_.manager.ask(members_, std::min(std::bit_floor(kBytesUnderWay / payload), wire::kMaxWindow), payload, now);
    state_ = State::kAsking;
  } catch (const Error& error) {
    fail_transport(error.what());
  }
}

void GroupRequest::hear() {
  AskAnswer answer = services_.manager.answer(question_);
  switch (answer.state) {
    case AskState::kPending: return;
    case AskState::kGranted:
      grant_ = std::move(answer.grant);
      state_ = State::kGranted;
      return;
    case AskState::kRefused: fail(INA_DECLINE_NO_SLOTS, answer.reason); return;
    case AskState::kUnreachable: fail(INA_DECLINE_UNREACHABLE, answer.reason); return;
  }
}

Grant GroupRequest::take() {
  state_ = State::kIdle;
  return std::move(grant_);
}

void GroupRequest::abandon() {
  if (state_ == State::kAsking) services_.manager.abandon(question_);
  if (state_ == State::kGranted) services_.manager.close(grant_.life.group);
  state_ = State::kIdle;
}

void GroupRequest::fail(ina_decline reason, const std::string& why) {
  end_failed(reason, why);
  if (reason != INA_DECLINE_UNREACHABLE) return;
  if (services_.settings.switch_address.kind == SwitchAddress::Kind::kEmbedded) {
    complain("embedded", "The embedded switch cannot be used: " + why + ".",
             "Set coll_ina_softswitch to the path of ina-softswitch, or coll_ina_switch to where a switch listens (HOST:PORT or unix:PATH), or to none.");
  } else {
    complain("unreachable", "The switch cannot be used: " + why + ".",
             "Start ina-softswitch there, or set coll_ina_switch to where it listens (HOST:PORT or unix:PATH), to embedded, or to none.");
  }
}

void GroupRequest::fail_transport(const std::string& why) {
  end_failed(INA_DECLINE_UNREACHABLE, why);
  complain("transport", "The transport to the switch cannot be used: " + why + ".",
           "Set coll_ina_transport to auto, or to another transport that ucx_info -d shows, or coll_ina_switch to none.");
}

void GroupRequest::end_failed(ina_decline reason, const std::string& why) {
  state_ = State::kFailed;
  reason_ = reason;
  failure_ = why;
}

void GroupRequest::complain(const char* topic, const std::string& what, const char* advice) {
  if (services_.has_complained) return;
  services_.has_complained = true;
  services_.host.show_help(topic, what + "\nMPI_Allreduce runs in software, and the switch is asked again later. " + advice);
}

}  // namespace ina::core
