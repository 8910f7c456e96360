#include "switch/manager/status.hpp"

#include <chrono>

#include <nlohmann/json.hpp>

#include "wire/limits.hpp"

namespace ina::manager {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kReserve = 512;  // of a line, for what is put around the groups

[[nodiscard]] std::string text_of(const ordered_json& value) { return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace); }

[[nodiscard]] std::int64_t milliseconds(TimePoint from, TimePoint to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count();
}

[[nodiscard]] ordered_json owner_of(const Client& client) {
  ordered_json owner = {
      {"client", client.hello.client}, {"host", client.hello.host}, {"pid", client.hello.pid}, {"address", client.address}};
  if (client.uid) owner["peer_uid"] = *client.uid;
  if (client.pid) owner["peer_pid"] = *client.pid;
  return owner;
}

[[nodiscard]] ordered_json counters_of(const aggregator::GroupCounters& c) {
  return {{"contributions", c.contributions},
          {"results", c.results},
          {"duplicates_answered", c.duplicates_answered},
          {"duplicates_dropped", c.duplicates_dropped},
          {"duplicates_passed", c.duplicates_passed},
          {"gaps", c.gaps},
          {"refused", c.refused},
          {"naks_made", c.naks_made},
          {"naks_answered", c.naks_answered},
          {"bytes_combined", c.bytes_combined}};
}

[[nodiscard]] ordered_json group_of(const SessionContext& context, const Group& group, TimePoint now) {
  const std::uint32_t number = group.spec.group;
  const Lease& lease = context.groups.lease_of(group);
  return {{"group", number},
          {"phase", group.phase == GroupPhase::kActive ? "active" : "binding"},
          {"members", group.spec.members},
          {"binds_seen", context.groups.switch_control().binds_seen(number)},
          {"window", group.spec.window},
          {"payload", group.spec.payload},
          {"age_ms", milliseconds(group.opened, now)},
          {"lease", lease.holder ? "held" : "grace"},
          {"owner", owner_of(lease.client)},
          {"counters", counters_of(context.groups.switch_control().counters(number))}};
}

[[nodiscard]] ordered_json manager_counters_of(const SessionContext& context) {
  const ManagerCounters& c = context.counters;
  const GroupTableCounters& g = context.groups.counters();
  return {{"connections_accepted", c.connections_accepted},
          {"connections_refused", c.connections_refused},
          {"connections_evicted", c.connections_evicted},
          {"connections_overflowed", c.connections_overflowed},
          {"hello_timeouts", c.hello_timeouts},
          {"bad_lines", c.bad_lines},
          {"requests", c.requests},
          {"groups_opened", g.opened},
          {"groups_refused", g.refused},
          {"groups_activated", g.activated},
          {"groups_closed", g.closed},
          {"bind_timeouts", g.bind_timeouts},
          {"leases_lost", g.leases_lost},
          {"leases_resumed", g.leases_resumed}};
}

[[nodiscard]] ordered_json summary_of(const SessionContext& context, TimePoint now) {
  const ManagerSettings& settings = context.settings;
  const GroupTable& groups = context.groups;
  ordered_json summary = {{"manager", settings.program},
                          {"instance", settings.instance},
                          {"relay", nullptr},
                          {"uptime_ms", milliseconds(context.started, now)},
                          {"draining", groups.is_draining()},
                          {"slots", {{"total", groups.capabilities().slots}, {"free", groups.slots_free()}}},
                          {"connections", {{"open", context.connections}, {"limit", settings.max_connections}}},
                          {"leases", groups.leases()},
                          {"counters", {{"manager", manager_counters_of(context)}, {"switch", ordered_json::object()}}},
                          {"groups_total", groups.groups().size()}};
  if (settings.relay) summary["relay"] = *settings.relay;
  if (settings.switch_counters)
    for (const auto& [name, value] : settings.switch_counters()) summary["counters"]["switch"][name] = value;
  return summary;
}

}  // namespace

std::string status_text(const SessionContext& context, std::uint32_t after, TimePoint now) {
  std::string text = text_of(summary_of(context, now));
  text.pop_back();  // the brace
  text += ",\"groups\":[";
  std::uint32_t last = after;
  bool is_first = true;
  for (auto entry = context.groups.groups().upper_bound(after); entry != context.groups.groups().end(); ++entry) {
    const std::string group = text_of(group_of(context, entry->second, now));
    if (text.size() + group.size() + kReserve > wire::kMaxManagerLine) return text + "],\"next\":" + std::to_string(last) + "}";
    if (!is_first) text += ',';
    text += group;
    is_first = false;
    last = entry->first;
  }
  return text + "]}";
}

}  // namespace ina::manager
