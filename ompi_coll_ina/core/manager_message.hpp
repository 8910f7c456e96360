// manager_message.hpp: the lines that a host and a manager exchange (PROTOCOL.md 6), host's side.
// Used by ManagerClient. Pure: text in, values out.
// Never trusts a manager: every number is checked before anything is made of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ompi_coll_ina/core/life_message.hpp"

namespace ina::core {

struct Welcome {
  std::string manager;
  std::string instance;
  std::string relay;               // empty: the switch is in the wire
  std::uint32_t lease_grace_ms = 0;
  std::uint16_t ops = 0;           // bit n: wire::Op n
  std::uint16_t lane_types = 0;    // bit n: wire::LaneType n
  std::uint32_t payload = 0;
  std::uint32_t members = 0;
};
struct Grant {
  LifeKey life;
  std::uint32_t window = 0;
  std::uint32_t first_seq = 0;
  std::uint32_t payload = 0;
  std::string lease;
};
// An answer to a request. What a request did not ask for is absent.
struct ManagerResult {
  std::uint64_t id = 0;
  std::optional<Grant> grant;
  std::vector<std::uint32_t> groups;  // resume
  std::vector<std::uint32_t> active;  // resume: those of them that are active
};
struct ManagerRefusal {
  std::optional<std::uint64_t> id;  // none: the connection is refused
  std::string code;
  std::string text;
};
struct GroupEvent {
  std::uint32_t group = 0;
  bool is_active = false;  // else it has failed
  std::string text;
};
struct IgnoredLine {};  // well formed, of a kind that this version does not know
struct ManagerGarbage {
  std::string why;
};

using ManagerLine = std::variant<Welcome, ManagerResult, ManagerRefusal, GroupEvent, IgnoredLine, ManagerGarbage>;

[[nodiscard]] ManagerLine decode_manager_line(std::string_view line);

[[nodiscard]] std::string hello_line(const std::string& client, const std::string& host, long pid);
[[nodiscard]] std::string open_line(std::uint64_t id, std::uint32_t members, std::uint32_t window, std::uint32_t payload);
[[nodiscard]] std::string close_line(std::uint64_t id, std::uint32_t group);
[[nodiscard]] std::string resume_line(std::uint64_t id, const std::string& lease);

}  // namespace ina::core
