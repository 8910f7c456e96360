// netdev.hpp: the network devices of this host that can carry packets: name, address, MTU, speed.
// Used by the transport to list its devices and to open an interface on one, and by whatever opens AF_XDP sockets.
// Keeps nothing: every call asks the system.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/address.hpp"
#include "wire/frame.hpp"

namespace ina::net {

struct Netdev {
  std::string name;
  bool is_loopback = false;
  std::optional<wire::UdpAddress> ipv4;  // port 0
  std::optional<wire::UdpAddress> ipv6;  // not link-local: such an address needs a device to mean anything
};

struct EthernetDevice {
  unsigned index = 0;
  wire::MacAddress mac{};
  std::string driver;  // empty: it does not say
};
// Throws Error if there is no such device, or it is no Ethernet.
[[nodiscard]] EthernetDevice find_ethernet(const std::string& name);

// Devices that are up and have an address, in the system's order. Throws Error.
[[nodiscard]] std::vector<Netdev> list_netdevs();
// Bytes of an IP packet; throws Error if there is no such device.
[[nodiscard]] std::uint32_t netdev_mtu(const std::string& name);
// Frames that are handed to the device are finished: tag, checksum and segments are not left to it. Throws Error.
void switch_off_offloads(const std::string& name);
// The receive queues that the device has now, at least 1.
[[nodiscard]] unsigned count_receive_queues(const std::string& name) noexcept;
// Bits per second; nullopt: unknown (virtual devices).
[[nodiscard]] std::optional<double> netdev_speed(const std::string& name) noexcept;

}  // namespace ina::net
