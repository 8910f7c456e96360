// session.hpp: one host's conversation with the manager: bytes in, bytes out.
// Used by Manager, one per connection, and by tests and the fuzzer without any socket.
// Does no input or output and keeps no time of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "switch/manager/group_table.hpp"
#include "switch/manager/line_buffer.hpp"
#include "switch/manager/request.hpp"
#include "switch/manager/settings.hpp"

namespace ina::manager {

struct ManagerCounters {
  std::uint64_t connections_accepted = 0, connections_refused = 0, connections_evicted = 0, connections_overflowed = 0;
  std::uint64_t hello_timeouts = 0, bad_lines = 0, requests = 0;
};

// What all sessions of a manager share.
struct SessionContext {
  const ManagerSettings& settings;
  GroupTable& groups;
  ManagerCounters& counters;
  TimePoint started;
  std::size_t connections = 0;  // now
};

enum class SessionPhase : std::uint8_t {
  kHello,    // the first line has not come
  kReady,    // requests are served
  kClosing,  // the host was told why; what it sends is ignored and the connection ends when it has read that
};

class Session {
 public:
  Session(ConnectionId, Client, SessionContext&);

  // Bytes that came from the host; step() works on them.
  void receive(std::string_view bytes);
  // Handles one line. False: there is nothing more to do.
  [[nodiscard]] bool step();
  void tell(const Event&);
  // Tells the host why its connection ends, and ends the conversation.
  void end(const Refusal&);
  // The connection is gone: the grace time of its lease begins.
  void disconnect();

  [[nodiscard]] SessionPhase phase() const noexcept { return phase_; }
  [[nodiscard]] const Client& client() const noexcept { return client_; }
  // What the host has to be sent; the owner takes from its front.
  [[nodiscard]] std::string& output() noexcept { return output_; }

 private:
  void on_hello(std::string_view line);
  void on_request(std::string_view line);

  ConnectionId id_;
  Client client_;
  SessionContext& context_;
  SessionPhase phase_ = SessionPhase::kHello;
  LineBuffer input_;
  std::string output_;
};

}  // namespace ina::manager
