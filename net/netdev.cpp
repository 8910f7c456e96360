#include "net/netdev.hpp"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "net/descriptor.hpp"
#include "net/error.hpp"
#include "net/local_address.hpp"

namespace ina::net {

std::vector<Netdev> list_netdevs() {
  const auto addresses = list_local_addresses();
  if (!addresses) throw Error(Failure::kSystem, std::string("cannot list network devices: ") + std::strerror(errno));
  std::vector<Netdev> devices;
  for (const LocalAddress& each : *addresses) {
    if ((each.flags & IFF_UP) == 0 || each.is_link_local()) continue;
    auto device = std::find_if(devices.begin(), devices.end(), [&](const Netdev& d) { return d.name == each.device; });
    if (device == devices.end()) {
      device = devices.insert(devices.end(), Netdev{.name = each.device, .is_loopback = (each.flags & IFF_LOOPBACK) != 0, .ipv4 = {}, .ipv6 = {}});
    }
    auto& address = each.address.is_ipv6 ? device->ipv6 : device->ipv4;
    if (!address) address = each.address;
  }
  return devices;
}

std::uint32_t netdev_mtu(const std::string& name) {
  ifreq request{};
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!any) throw Error(Failure::kSystem, std::string("cannot open a udp socket: ") + std::strerror(errno));
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  if (ioctl(any.get(), SIOCGIFMTU, &request) != 0) throw Error(Failure::kInvalid, "cannot read the mtu of device " + name + ": " + std::strerror(errno));
  return static_cast<std::uint32_t>(request.ifr_mtu);
}

std::optional<double> netdev_speed(const std::string& name) noexcept {
  char path[64 + IFNAMSIZ];
  std::snprintf(path, sizeof path, "/sys/class/net/%.*s/speed", IFNAMSIZ, name.c_str());
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "re"), &std::fclose);
  long megabits = 0;
  if (file == nullptr || std::fscanf(file.get(), "%ld", &megabits) != 1 || megabits <= 0) return std::nullopt;
  return static_cast<double>(megabits) * 1e6;
}

}  // namespace ina::net
