#include "switch/manager/group_table.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "switch/manager/random.hpp"
#include "wire/limits.hpp"

namespace ina::manager {
namespace {

constexpr std::size_t kQuarantine = 65536;       // group numbers
constexpr std::uint32_t kWrapRange = 1u << 20;   // seq wraps within this many chunks, so that every longer run meets a wrap
constexpr std::size_t kShownConnections = 16;    // in the text of a bind timeout

[[nodiscard]] aggregator::Capabilities bounded(aggregator::Capabilities c) {
  c.members = std::min(c.members, wire::kMaxMembers);
  c.payload = std::min(c.payload, wire::kMaxPayload);
  c.min_window = std::bit_ceil(std::max(c.min_window, wire::kMinWindow));
  c.max_window = std::bit_floor(std::min(c.max_window, wire::kMaxWindow));
  return c;
}

// "connection 2", "connections 2 and 3", "connections 2, 3 and 5", "connections 0, 1, ... and 40 more".
[[nodiscard]] std::string connections_text(const std::vector<std::uint16_t>& numbers) {
  const std::size_t shown = std::min(numbers.size(), kShownConnections);
  std::string text = numbers.size() == 1 ? "connection " : "connections ";
  for (std::size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == numbers.size();
    if (i != 0) text += is_last ? " and " : ", ";
    text += std::to_string(numbers[i]);
  }
  if (shown < numbers.size()) text += " and " + std::to_string(numbers.size() - shown) + " more";
  return text;
}

[[nodiscard]] std::string described(const Client& client) {
  return client.hello.client + " on " + client.hello.host + " pid " + std::to_string(client.hello.pid);
}

}  // namespace

GroupTable::GroupTable(aggregator::SwitchControl& control, const ManagerSettings& settings, Notify notify)
    : switch_(control),
      settings_(settings),
      notify_(std::move(notify)),
      capabilities_(bounded(control.capabilities())),
      slots_free_(capabilities_.slots) {}

void GroupTable::on_capabilities() { capabilities_ = bounded(switch_.capabilities()); }

std::optional<Refusal> GroupTable::why_not(ConnectionId connection, const OpenRequest& request) const {
  if (is_draining_) return Refusal{kDraining, "the switch is being drained: it opens no group"};
  if (request.members < wire::kMinMembers || request.members > capabilities_.members)
    return Refusal{kMembers, "a group has from " + std::to_string(wire::kMinMembers) + " to " + std::to_string(capabilities_.members) +
                                 " members, not " + std::to_string(request.members)};
  if (request.window < capabilities_.min_window)
    return Refusal{kBadRequest, "open: window must be at least " + std::to_string(capabilities_.min_window) + ", not " +
                                    std::to_string(request.window)};
  if (request.payload < wire::kMinPayload)
    return Refusal{kBadRequest, "open: payload must be at least " + std::to_string(wire::kMinPayload) + ", not " +
                                    std::to_string(request.payload)};
  const auto held = held_.find(connection);
  if (held != held_.end() && leases_.at(held->second).groups.size() >= settings_.max_groups_per_lease)
    return Refusal{kNoSlots, "the lease holds " + std::to_string(settings_.max_groups_per_lease) + " groups, the most that one may"};
  return std::nullopt;
}

// The largest power of two that was asked for and whose 2W slots are free. A switch may still refuse what counts as free
// (its memory may be in pieces): then half of it, down to the smallest window.
std::optional<aggregator::GroupSpec> GroupTable::prepare(const OpenRequest& request) {
  const auto asked = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.window, capabilities_.max_window));
  // A payload is 28 bytes and lanes, so a multiple of 4 (PROTOCOL.md 1).
  const auto payload = static_cast<std::size_t>(std::min<std::uint64_t>(request.payload, capabilities_.payload)) & ~std::size_t{3};
  for (std::uint32_t window = std::bit_floor(asked); window >= capabilities_.min_window; window /= 2) {
    const std::uint32_t slots = 2 * window;
    if (slots > slots_free_) continue;
    aggregator::GroupSpec spec{.group = draw_group(),
                               .epoch = std::max(draw(), 1u),
                               .members = static_cast<std::uint16_t>(request.members),
                               .window = window,
                               .first_seq = 0u - slots * (1 + draw() % (kWrapRange / slots)),
                               .payload = payload,
                               .place_bytes = static_cast<std::uint32_t>(std::bit_ceil(payload))};
    if (switch_.prepare(spec)) return spec;
  }
  return std::nullopt;
}

std::variant<Opened, Refusal> GroupTable::open(ConnectionId connection, const Client& client, const OpenRequest& request,
                                               TimePoint now) {
  std::optional<Refusal> refusal = why_not(connection, request);
  if (refusal) {
    ++counters_.refused;
    return *std::move(refusal);
  }
  const std::optional<aggregator::GroupSpec> spec = prepare(request);
  if (!spec) {
    ++counters_.refused;
    const std::uint64_t asked = std::bit_floor(std::min<std::uint64_t>(request.window, capabilities_.max_window));
    return Refusal{kNoSlots, std::to_string(slots_free_) + " of " + std::to_string(capabilities_.slots) + " slots are free; a window of " +
                                 std::to_string(asked) + " takes " + std::to_string(2 * asked) + ", the smallest takes " +
                                 std::to_string(2 * capabilities_.min_window)};
  }
  const LeaseId lease_id = lease_for(connection, client);
  Lease& lease = leases_.at(lease_id);
  const TimePoint deadline = now + settings_.bind_timeout;
  groups_.emplace(spec->group, Group{.spec = *spec, .lease = lease_id, .opened = now, .bind_deadline = deadline});
  bind_deadlines_.emplace(deadline, spec->group);
  lease.groups.insert(spec->group);
  slots_free_ -= 2 * spec->window;
  ++counters_.opened;
  log(LogLevel::kDebug, "group " + std::to_string(spec->group) + ": opened, " + std::to_string(spec->members) + " members, window " +
                            std::to_string(spec->window) + ", payload " + std::to_string(spec->payload) + ", for " +
                            described(client));
  return Opened{spec->group, spec->epoch, spec->window, spec->first_seq, spec->payload, lease.token};
}

std::optional<Refusal> GroupTable::close(ConnectionId connection, std::uint32_t group) {
  const auto held = held_.find(connection);
  const auto found = groups_.find(group);
  if (held == held_.end() || found == groups_.end() || found->second.lease != held->second)
    return Refusal{kUnknownGroup, "this connection has no group " + std::to_string(group)};
  remove(group);
  ++counters_.closed;
  log(LogLevel::kDebug, "group " + std::to_string(group) + ": closed");
  return std::nullopt;
}

std::variant<Resumed, Refusal> GroupTable::resume(ConnectionId connection, const Client& client, const std::string& token) {
  if (held_.contains(connection)) return Refusal{kBadRequest, "resume: this connection has a lease already"};
  const auto found = tokens_.find(token);
  if (found == tokens_.end()) return Refusal{kUnknownLease, "no such lease, or its grace time is over"};
  const LeaseId id = found->second;
  Lease& lease = leases_.at(id);
  if (lease.holder) {
    held_.erase(*lease.holder);
    tell(lease, Event{.kind = EventKind::kTakenOver});
  } else {
    grace_deadlines_.erase({lease.grace_deadline, id});
  }
  lease.holder = connection;
  lease.client = client;
  held_.emplace(connection, id);
  ++counters_.leases_resumed;
  Resumed result;
  for (const std::uint32_t group : lease.groups) {
    result.groups.push_back(group);
    if (groups_.at(group).phase == GroupPhase::kActive) result.active.push_back(group);
  }
  log(LogLevel::kInfo, "lease of " + described(client) + " resumed, " + std::to_string(result.groups.size()) + " groups");
  return result;
}

void GroupTable::detach(ConnectionId connection, TimePoint now) {
  const auto held = held_.find(connection);
  if (held == held_.end()) return;
  const LeaseId id = held->second;
  Lease& lease = leases_.at(id);
  held_.erase(held);
  lease.holder.reset();
  if (lease.groups.empty()) return forget(id);
  lease.grace_deadline = now + settings_.lease_grace;
  grace_deadlines_.emplace(lease.grace_deadline, id);
  log(LogLevel::kInfo, "lease of " + described(lease.client) + ": connection closed, " + std::to_string(lease.groups.size()) +
                           " groups kept for " + std::to_string(settings_.lease_grace.count()) + " ms");
}

void GroupTable::on_bind(std::uint32_t group) {
  const auto found = groups_.find(group);
  if (found == groups_.end() || found->second.phase != GroupPhase::kBinding) return;
  if (switch_.binds_seen(group) < std::size_t{2} * found->second.spec.members) return;
  activate(group);
}

void GroupTable::activate(std::uint32_t group) {
  if (!switch_.activate(group)) return fail(group, "switch", "the switch could not install the group");
  Group& activated = groups_.at(group);
  bind_deadlines_.erase({activated.bind_deadline, group});
  activated.phase = GroupPhase::kActive;
  ++counters_.activated;
  log(LogLevel::kDebug, "group " + std::to_string(group) + ": active");
  tell(leases_.at(activated.lease), Event{.kind = EventKind::kActive, .group = group});
}

void GroupTable::on_time(TimePoint now) {
  while (!bind_deadlines_.empty() && bind_deadlines_.begin()->first <= now) {
    const std::uint32_t group = bind_deadlines_.begin()->second;
    const std::size_t expected = std::size_t{2} * groups_.at(group).spec.members;
    ++counters_.bind_timeouts;
    fail(group, "bind-timeout",
         connections_text(switch_.unbound_connections(group)) + " did not bind within " +
             std::to_string(settings_.bind_timeout.count()) + " ms (" + std::to_string(switch_.binds_seen(group)) + " of " +
             std::to_string(expected) + " binds seen)");
  }
  while (!grace_deadlines_.empty() && grace_deadlines_.begin()->first <= now) lose(grace_deadlines_.begin()->second);
}

std::optional<TimePoint> GroupTable::next_deadline() const {
  if (bind_deadlines_.empty() && grace_deadlines_.empty()) return std::nullopt;
  if (bind_deadlines_.empty()) return grace_deadlines_.begin()->first;
  if (grace_deadlines_.empty()) return bind_deadlines_.begin()->first;
  return std::min(bind_deadlines_.begin()->first, grace_deadlines_.begin()->first);
}

void GroupTable::fail(std::uint32_t group, std::string_view reason, std::string text) {
  const LeaseId lease = groups_.at(group).lease;
  log(LogLevel::kWarn, "group " + std::to_string(group) + " of " + described(leases_.at(lease).client) + ": removed, " + text);
  remove(group);
  tell(leases_.at(lease), Event{.kind = EventKind::kFailed, .group = group, .reason = reason, .text = std::move(text)});
}

void GroupTable::remove(std::uint32_t group) {
  const auto found = groups_.find(group);
  const Group& removed = found->second;
  switch_.remove(group);
  slots_free_ += 2 * removed.spec.window;
  bind_deadlines_.erase({removed.bind_deadline, group});
  leases_.at(removed.lease).groups.erase(group);
  groups_.erase(found);
  quarantine_.push_back(group);
  quarantined_.insert(group);
  if (quarantine_.size() > kQuarantine) {
    quarantined_.erase(quarantine_.front());
    quarantine_.pop_front();
  }
}

void GroupTable::lose(LeaseId id) {
  Lease& lease = leases_.at(id);
  grace_deadlines_.erase({lease.grace_deadline, id});
  ++counters_.leases_lost;
  log(LogLevel::kInfo, "lease of " + described(lease.client) + ": lost, " + std::to_string(lease.groups.size()) + " groups removed");
  while (!lease.groups.empty()) remove(*lease.groups.begin());
  forget(id);
}

void GroupTable::forget(LeaseId id) {
  tokens_.erase(leases_.at(id).token);
  leases_.erase(id);
}

std::uint32_t GroupTable::draw() const {
  std::array<std::byte, sizeof(std::uint32_t)> bytes{};
  settings_.random(bytes);
  return std::bit_cast<std::uint32_t>(bytes);
}

std::uint32_t GroupTable::draw_group() const {
  for (;;) {
    const std::uint32_t group = draw();
    if (group != 0 && !groups_.contains(group) && !quarantined_.contains(group)) return group;
  }
}

LeaseId GroupTable::lease_for(ConnectionId connection, const Client& client) {
  const auto held = held_.find(connection);
  if (held != held_.end()) return held->second;
  std::array<std::byte, 16> token{};
  settings_.random(token);
  const LeaseId id{next_lease_++};
  const auto made = leases_.emplace(id, Lease{.token = hex(token), .holder = connection, .client = client}).first;
  tokens_.emplace(made->second.token, id);
  held_.emplace(connection, id);
  return id;
}

void GroupTable::tell(const Lease& lease, const Event& event) const {
  if (lease.holder) notify_(*lease.holder, event);
}

void GroupTable::log(LogLevel level, const std::string& text) const {
  if (settings_.log) settings_.log(level, text);
}

}  // namespace ina::manager
