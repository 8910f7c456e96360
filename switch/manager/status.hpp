// status.hpp: what an operator sees of a manager: slots, connections, groups with their owners and counters.
// Used by sessions for the request `status`.
// Shows neither epochs nor lease tokens: whoever knows those can forge packets or take groups over.
#pragma once

#include <cstdint>
#include <string>

#include "switch/manager/session.hpp"
#include "switch/manager/settings.hpp"

namespace ina::manager {

// JSON text of at most a line: groups with numbers above `after`, ascending, as many as fit; "next" names the last of
// them if there are more.
[[nodiscard]] std::string status_text(const SessionContext&, std::uint32_t after, TimePoint now);

}  // namespace ina::manager
