// request.hpp: what a host asks of the manager (PROTOCOL.md 6), read from one line.
// Used by a session.
// Decides nothing: whether there are slots, or whose a group is, is GroupTable's business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace ina::manager {

// Why something is refused: a code for programs, a text for people.
struct Refusal {
  std::string_view code;  // one of the constants below
  std::string text;
};

inline constexpr std::string_view kBadLine = "bad-line";          // no JSON object: ends the connection
inline constexpr std::string_view kVersion = "version";           // of the first line: ends the connection
inline constexpr std::string_view kTimeout = "timeout";           // no first line in time: ends the connection
inline constexpr std::string_view kBusy = "busy";                 // too many connections: ends the connection
inline constexpr std::string_view kResumed = "resumed";           // the lease went to a newer connection: ends this one
inline constexpr std::string_view kBadRequest = "bad-request";
inline constexpr std::string_view kMembers = "members";
inline constexpr std::string_view kNoSlots = "no-slots";
inline constexpr std::string_view kDraining = "draining";
inline constexpr std::string_view kUnknownGroup = "unknown-group";
inline constexpr std::string_view kUnknownLease = "unknown-lease";

struct Hello {
  std::string client = "unknown";
  std::string host = "unknown";
  std::uint64_t pid = 0;
};

struct OpenRequest {
  std::uint64_t members;
  std::uint64_t window;   // the most that the host wants
  std::uint64_t payload;  // the most that the host wants
};
struct CloseRequest {
  std::uint32_t group;
};
struct ResumeRequest {
  std::string lease;
};
struct StatusRequest {
  std::uint32_t after = 0;  // groups with greater numbers only, for answers that fill more than a line
};

// Any integer of the host's choice; kept in the form in which it is repeated.
using RequestId = std::string;

struct Request {
  RequestId id;
  std::variant<OpenRequest, CloseRequest, ResumeRequest, StatusRequest> body;
};

// A refused request, with its id if that could be read. A fatal one is no request at all and ends the connection.
struct BadRequest {
  std::optional<RequestId> id;
  Refusal refusal;
  bool is_fatal = false;
};

[[nodiscard]] std::variant<Hello, Refusal> parse_hello(std::string_view line);
[[nodiscard]] std::variant<Request, BadRequest> parse_request(std::string_view line);

}  // namespace ina::manager
