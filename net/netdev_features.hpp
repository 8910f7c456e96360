// netdev_features.hpp: what a network device takes off the kernel's hands, as ethtool -k shows it.
// Used where it matters who cuts large datagrams into packets.
// Changes nothing and needs no privilege.
#pragma once

#include <string>

namespace ina::net {

// The device takes large UDP datagrams whole (tx-udp-segmentation): a NIC cuts them itself, a virtual device may pass them on as they are.
// False: the kernel cuts them first. A device whose features cannot be read is taken for one that does.
[[nodiscard]] bool takes_large_datagrams(const std::string& device) noexcept;

}  // namespace ina::net
