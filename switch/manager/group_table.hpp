// group_table.hpp: groups, the leases that they belong to, and the slots that they hold: the life of a group (PROTOCOL.md 6).
// Used by sessions for what hosts ask and by the manager for binds and time.
// Knows nothing of sockets nor JSON; what it has to tell a host goes through one callback.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "switch/aggregator/switch_control.hpp"
#include "switch/manager/request.hpp"
#include "switch/manager/settings.hpp"

namespace ina::manager {

enum class ConnectionId : std::uint64_t {};  // never used twice in the life of a manager
enum class LeaseId : std::uint64_t {};

// Who is at the other end of a connection: what it says of itself, and what the kernel says.
struct Client {
  Hello hello;
  std::string address;               // "10.0.0.1:4242"; "unix" for a UNIX socket
  std::optional<std::int64_t> uid;   // UNIX sockets only
  std::optional<std::int64_t> pid;   // UNIX sockets only
};

enum class GroupPhase : std::uint8_t {
  kBinding,  // known at the switch, which has not seen all binds
  kActive,   // installed
};

struct Group {
  aggregator::GroupSpec spec;
  LeaseId lease;
  GroupPhase phase = GroupPhase::kBinding;
  TimePoint opened;
  TimePoint bind_deadline;
};

struct Lease {
  std::string token;  // 32 hex digits: whoever shows it owns the lease's groups
  std::optional<ConnectionId> holder;
  Client client;
  std::set<std::uint32_t> groups;
  TimePoint grace_deadline;  // meaningful without a holder
};

enum class EventKind : std::uint8_t {
  kActive,     // the group is installed
  kFailed,     // the group is gone
  kTakenOver,  // the connection's lease was resumed by another connection
};
struct Event {
  EventKind kind;
  std::uint32_t group = 0;
  std::string_view reason;  // kFailed: for programs
  std::string text;         // kFailed: for people
};

struct Opened {
  std::uint32_t group;
  std::uint32_t epoch;
  std::uint32_t window;
  std::uint32_t first_seq;
  std::size_t payload;
  std::string lease;
};
struct Resumed {
  std::vector<std::uint32_t> groups;
  std::vector<std::uint32_t> active;  // those of them that are installed
};

struct GroupTableCounters {
  std::uint64_t opened = 0, refused = 0, activated = 0, closed = 0;
  std::uint64_t bind_timeouts = 0, leases_lost = 0, leases_resumed = 0;
};

class GroupTable {
 public:
  using Notify = std::function<void(ConnectionId, const Event&)>;

  GroupTable(aggregator::SwitchControl&, const ManagerSettings&, Notify);
  GroupTable(const GroupTable&) = delete;

  [[nodiscard]] std::variant<Opened, Refusal> open(ConnectionId, const Client&, const OpenRequest&, TimePoint now);
  [[nodiscard]] std::optional<Refusal> close(ConnectionId, std::uint32_t group);
  [[nodiscard]] std::variant<Resumed, Refusal> resume(ConnectionId, const Client&, const std::string& token);
  // The connection is gone: its lease, if it has one with groups, may be resumed within the grace time.
  void detach(ConnectionId, TimePoint now);

  void on_bind(std::uint32_t group);
  void on_time(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  void on_capabilities();
  // From now on no group is opened.
  void drain() noexcept { is_draining_ = true; }

  [[nodiscard]] const aggregator::Capabilities& capabilities() const noexcept { return capabilities_; }
  [[nodiscard]] std::uint32_t slots_free() const noexcept { return slots_free_; }
  [[nodiscard]] bool is_draining() const noexcept { return is_draining_; }
  [[nodiscard]] const std::map<std::uint32_t, Group>& groups() const noexcept { return groups_; }
  [[nodiscard]] const Lease& lease_of(const Group& group) const { return leases_.at(group.lease); }
  [[nodiscard]] std::size_t leases() const noexcept { return leases_.size(); }
  [[nodiscard]] const GroupTableCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] const aggregator::SwitchControl& switch_control() const noexcept { return switch_; }

 private:
  [[nodiscard]] std::optional<Refusal> why_not(ConnectionId, const OpenRequest&) const;
  [[nodiscard]] std::optional<aggregator::GroupSpec> prepare(const OpenRequest&);
  [[nodiscard]] std::uint32_t draw() const;
  [[nodiscard]] std::uint32_t draw_group() const;
  [[nodiscard]] LeaseId lease_for(ConnectionId, const Client&);
  void activate(std::uint32_t group);
  void fail(std::uint32_t group, std::string_view reason, std::string text);
  void remove(std::uint32_t group);
  void forget(LeaseId);
  void lose(LeaseId);
  void tell(const Lease&, const Event&) const;
  void log(LogLevel, const std::string& text) const;

  aggregator::SwitchControl& switch_;
  const ManagerSettings& settings_;
  Notify notify_;
  aggregator::Capabilities capabilities_;
  std::uint32_t slots_free_;
  bool is_draining_ = false;
  std::uint64_t next_lease_ = 1;
  std::map<std::uint32_t, Group> groups_;
  std::map<LeaseId, Lease> leases_;
  std::unordered_map<std::string, LeaseId> tokens_;
  std::map<ConnectionId, LeaseId> held_;
  std::set<std::pair<TimePoint, std::uint32_t>> bind_deadlines_;
  std::set<std::pair<TimePoint, LeaseId>> grace_deadlines_;
  // Numbers of the groups removed last, which are not handed out again while packets of theirs may be under way.
  std::deque<std::uint32_t> quarantine_;
  std::unordered_set<std::uint32_t> quarantined_;
  GroupTableCounters counters_;
};

}  // namespace ina::manager
