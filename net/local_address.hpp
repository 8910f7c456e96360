// local_address.hpp: the IP addresses of this host's network devices.
// Used by whatever has to choose a device or an address of its own.
// Keeps nothing: every call asks the system.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/address.hpp"

namespace ina::net {

struct LocalAddress {
  std::string device;
  wire::UdpAddress address;   // port 0
  unsigned flags = 0;   // IFF_UP, IFF_LOOPBACK, ... of the device
  [[nodiscard]] bool is_link_local() const noexcept { return address.is_ipv6 && address.ip[0] == 0xfe && (address.ip[1] & 0xc0) == 0x80; }
};

// IPv4 and IPv6, in the system's order. nullopt: the system does not tell them (errno).
[[nodiscard]] std::optional<std::vector<LocalAddress>> list_local_addresses();

}  // namespace ina::net
