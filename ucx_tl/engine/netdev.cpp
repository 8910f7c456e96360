#include "ucx_tl/engine/netdev.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ucx_tl/engine/error.hpp"
#include "ucx_tl/engine/message.hpp"

namespace ina::engine {
namespace {

constexpr std::uint32_t kIpv4Bytes = 20;
constexpr std::uint32_t kIpv6Bytes = 40;
constexpr std::uint32_t kUdpBytes = 8;

void add_address(Netdev& device, const sockaddr& address) noexcept {
  sockaddr_storage storage{};
  std::memcpy(&storage, &address, address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  const auto found = wire::UdpAddress::from_sockaddr(storage);
  if (!found) return;
  if (!found->is_ipv6) {
    if (!device.ipv4) device.ipv4 = found;
  } else {
    const bool is_link_local = found->ip[0] == 0xfe && (found->ip[1] & 0xc0) == 0x80;
    if (!device.ipv6 && !is_link_local) device.ipv6 = found;
  }
}

}  // namespace

std::vector<Netdev> list_netdevs() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) throw Error(Failure::kSystem, std::string("cannot list network devices: ") + std::strerror(errno));
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
  std::vector<Netdev> devices;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    const bool is_ip = entry->ifa_addr != nullptr && (entry->ifa_addr->sa_family == AF_INET || entry->ifa_addr->sa_family == AF_INET6);
    if (!is_ip || (entry->ifa_flags & IFF_UP) == 0) continue;
    auto device = std::find_if(devices.begin(), devices.end(), [&](const Netdev& d) { return d.name == entry->ifa_name; });
    if (device == devices.end()) {
      device = devices.insert(devices.end(), Netdev{});
      device->name = entry->ifa_name;
      device->is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    }
    add_address(*device, *entry->ifa_addr);
  }
  std::erase_if(devices, [](const Netdev& device) { return !device.ipv4 && !device.ipv6; });
  return devices;
}

std::uint32_t netdev_mtu(const std::string& name) {
  ifreq request{};
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw Error(Failure::kSystem, std::string("cannot open a udp socket: ") + std::strerror(errno));
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  const int status = ioctl(descriptor, SIOCGIFMTU, &request);
  const int error = errno;
  close(descriptor);
  if (status != 0) throw Error(Failure::kInvalid, "cannot read the mtu of device " + name + ": " + std::strerror(error));
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

std::uint32_t payload_limit(std::uint32_t ip_mtu, bool is_ipv6) noexcept {
  const std::uint32_t headers = (is_ipv6 ? kIpv6Bytes : kIpv4Bytes) + kUdpBytes + wire::kBthBytes + wire::kRethBytes + wire::kIcrcBytes;
  if (ip_mtu <= headers) return 0;
  return std::min(kMaxMtu, (ip_mtu - headers) & ~7u);
}

}  // namespace ina::engine
