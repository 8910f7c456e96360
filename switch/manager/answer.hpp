// answer.hpp: the lines that the manager sends (PROTOCOL.md 6), all but status.
// Used by sessions.
// Decides nothing; every function returns one line with its end.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "switch/manager/group_table.hpp"
#include "switch/manager/request.hpp"
#include "switch/manager/settings.hpp"

namespace ina::manager {

[[nodiscard]] std::string welcome_line(const ManagerSettings&, const aggregator::Capabilities&);
// Ends the connection.
[[nodiscard]] std::string farewell_line(const Refusal&);
[[nodiscard]] std::string error_line(const std::optional<RequestId>&, const Refusal&);
[[nodiscard]] std::string result_line(const RequestId&, const Opened&);
[[nodiscard]] std::string result_line(const RequestId&, const Resumed&);
// result: JSON text.
[[nodiscard]] std::string result_line(const RequestId&, std::string_view result);
[[nodiscard]] std::string event_line(const Event&);

}  // namespace ina::manager
