// local_route.hpp: which network device of this host leads to an address.
// Used when a fabric is opened towards a relay.
// Sends nothing: it asks the kernel's routing table.
#pragma once

#include <optional>
#include <string>

#include "wire/address.hpp"

namespace ina::core {

// Name of the device that owns the address which packets to `destination` leave from ("lo", "eth0"); nullopt: no route, or no such device.
[[nodiscard]] std::optional<std::string> device_towards(const wire::UdpAddress& destination);

}  // namespace ina::core
