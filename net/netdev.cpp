#include "net/netdev.hpp"

#include <dirent.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
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

EthernetDevice find_ethernet(const std::string& name) {
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!any) throw Error(Failure::kSystem, std::string("cannot open a udp socket: ") + std::strerror(errno));
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  if (ioctl(any.get(), SIOCGIFINDEX, &request) != 0) throw Error(Failure::kInvalid, "cannot find device " + name + ": " + std::strerror(errno));
  EthernetDevice device{.index = static_cast<unsigned>(request.ifr_ifindex), .mac = {}, .driver = {}};
  if (ioctl(any.get(), SIOCGIFHWADDR, &request) != 0) throw Error(Failure::kSystem, "cannot read the address of device " + name + ": " + std::strerror(errno));
  if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER) throw Error(Failure::kInvalid, "device " + name + " is no Ethernet");
  std::memcpy(device.mac.data(), request.ifr_hwaddr.sa_data, device.mac.size());
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  request.ifr_data = reinterpret_cast<char*>(&driver);
  if (ioctl(any.get(), SIOCETHTOOL, &request) == 0) device.driver.assign(driver.driver, strnlen(driver.driver, sizeof driver.driver));
  return device;
}

void switch_off_offloads(const std::string& name) {
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!any) throw Error(Failure::kSystem, std::string("cannot open a udp socket: ") + std::strerror(errno));
  for (const std::uint32_t command : {ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SFLAGS}) {
    ethtool_value value{.cmd = command, .data = 0};
    ifreq request{};
    name.copy(request.ifr_name, sizeof request.ifr_name - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (ioctl(any.get(), SIOCETHTOOL, &request) != 0) {
      throw Error(Failure::kSystem, "cannot switch off offloads of device " + name + ": " + std::strerror(errno));
    }
  }
}

unsigned count_receive_queues(const std::string& name) noexcept {
  char path[64 + IFNAMSIZ];
  std::snprintf(path, sizeof path, "/sys/class/net/%.*s/queues", IFNAMSIZ, name.c_str());
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path), &closedir);
  unsigned count = 0;
  if (folder == nullptr) return 1;
  while (const dirent* entry = readdir(folder.get())) count += std::strncmp(entry->d_name, "rx-", 3) == 0 ? 1 : 0;
  return std::max(count, 1u);
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
