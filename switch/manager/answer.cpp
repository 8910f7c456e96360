#include "switch/manager/answer.hpp"

#include <nlohmann/json.hpp>

#include "wire/ina_header.hpp"

namespace ina::manager {
namespace {

using nlohmann::ordered_json;

// Settings and hosts' names need not be UTF-8; what is not, is replaced.
[[nodiscard]] std::string text_of(const ordered_json& value) { return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace); }

[[nodiscard]] ordered_json error_of(const Refusal& refusal) { return {{"code", refusal.code}, {"text", refusal.text}}; }

}  // namespace

std::string welcome_line(const ManagerSettings& settings, const aggregator::Capabilities& can) {
  ordered_json ops = ordered_json::array();
  for (const wire::Op op : can.ops) ops.push_back(wire::name(op));
  ordered_json lanes = ordered_json::array();
  for (const wire::LaneType type : can.lane_types) lanes.push_back(wire::name(type));
  ordered_json capabilities = {{"ops", ops},
                               {"lanes", lanes},
                               {"payload", can.payload},
                               {"members", can.members},
                               {"slots", can.slots},
                               {"windows", {can.min_window, can.max_window}},
                               {"float_order", nullptr},
                               {"aids", can.aids}};
  if (can.member_order_floats) capabilities["float_order"] = "member";
  ordered_json welcome = {{"manager", settings.program},
                          {"instance", settings.instance},
                          {"relay", nullptr},
                          {"lease_grace_ms", settings.lease_grace.count()},
                          {"capabilities", capabilities}};
  if (settings.relay) welcome["relay"] = *settings.relay;
  return text_of({{"ina", 1}, {"welcome", welcome}}) + '\n';
}

std::string farewell_line(const Refusal& refusal) { return text_of({{"ina", 1}, {"error", error_of(refusal)}}) + '\n'; }

std::string error_line(const std::optional<RequestId>& id, const Refusal& refusal) {
  return "{\"id\":" + id.value_or("null") + ",\"error\":" + text_of(error_of(refusal)) + "}\n";
}

std::string result_line(const RequestId& id, std::string_view result) {
  return "{\"id\":" + id + ",\"result\":" + std::string(result) + "}\n";
}

std::string result_line(const RequestId& id, const Opened& opened) {
  return result_line(id, text_of({{"group", opened.group},
                                  {"epoch", opened.epoch},
                                  {"window", opened.window},
                                  {"first_seq", opened.first_seq},
                                  {"payload", opened.payload},
                                  {"lease", opened.lease}}));
}

std::string result_line(const RequestId& id, const Resumed& resumed) {
  return result_line(id, text_of({{"groups", resumed.groups}, {"active", resumed.active}}));
}

std::string event_line(const Event& event) {
  switch (event.kind) {
    case EventKind::kActive:
      return text_of({{"event", "active"}, {"group", event.group}}) + '\n';
    case EventKind::kFailed:
      return text_of({{"event", "failed"}, {"group", event.group}, {"reason", event.reason}, {"text", event.text}}) + '\n';
    case EventKind::kTakenOver:
      break;
  }
  return farewell_line({kResumed, "the lease of this connection was resumed by another"});
}

}  // namespace ina::manager
