// manager.hpp: the manager in its first form: serves hosts (PROTOCOL.md 6) from sockets, inside the program that runs the switch.
// Used by ina-softswitch, which nests fd() in its own loop, and by tests.
// Does not block, starts no thread, makes no listening socket, and knows nothing of packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "switch/aggregator/switch_control.hpp"
#include "switch/manager/group_table.hpp"
#include "switch/manager/session.hpp"
#include "switch/manager/settings.hpp"
#include "net/descriptor.hpp"

namespace ina::manager {

class Manager {
 public:
  // Throws std::system_error if there is no epoll instance to be had. The switch must outlive the manager.
  Manager(aggregator::SwitchControl&, ManagerSettings);
  ~Manager();
  Manager(const Manager&) = delete;

  // Takes ownership of a listening TCP or UNIX stream socket and makes it non-blocking. Throws std::system_error.
  void add_listener(int listening_fd);
  // Readable when run_ready() has something to do.
  [[nodiscard]] int fd() const noexcept { return epoll_.get(); }
  // Serves what is ready, a bounded part of it; returns without waiting.
  void run_ready();
  // When on_time() has something to do at the latest. Constant time: it may be asked once per batch of packets.
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  void on_time(TimePoint now);
  // The switch has seen a bind of this group. To be called when no packet is being handled: it may activate the group.
  void on_bind(std::uint32_t group);
  // The switch can do something else now, as far as groups are concerned that are opened from now on.
  void on_capabilities() { groups_.on_capabilities(); }
  // From now on no group is opened; what runs goes on. For a switch that is about to end.
  void drain() noexcept { groups_.drain(); }

  [[nodiscard]] const std::string& instance() const noexcept { return settings_.instance; }
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }
  [[nodiscard]] std::size_t groups() const noexcept { return groups_.groups().size(); }

 private:
  struct Connection;

  void accept_some(std::uint64_t listener);
  void admit(net::Descriptor socket);
  void refuse(net::Descriptor socket);
  void pause_listeners(int error);
  void read_some(Connection&);
  void take(Connection&, std::string_view bytes);
  [[nodiscard]] bool flush(Connection&);
  // Sends what can be sent, and brings the connection's epoll interest, deadline and end in line with its session.
  void attend(ConnectionId);
  void attend_pending();
  void set_deadline(Connection&, std::optional<TimePoint>);
  void destroy(ConnectionId);
  void log(LogLevel, const std::string& text) const;

  ManagerSettings settings_;
  net::Descriptor epoll_;
  ManagerCounters counters_;
  GroupTable groups_;
  SessionContext context_;
  std::vector<net::Descriptor> listeners_;
  std::optional<TimePoint> listeners_resume_;  // set while no descriptor is free for another connection
  std::uint64_t next_connection_;
  std::map<ConnectionId, std::unique_ptr<Connection>> connections_;
  std::set<std::pair<TimePoint, ConnectionId>> deadlines_;  // of connections without a hello, or that are about to end
  std::vector<ConnectionId> pending_;                       // whose sessions were told something
};

}  // namespace ina::manager
