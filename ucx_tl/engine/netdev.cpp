#include "ucx_tl/engine/netdev.hpp"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ucx_tl/engine/error.hpp"
#include "ucx_tl/engine/message.hpp"
#include "wire/local_address.hpp"

namespace ina::engine {
namespace {

constexpr std::uint32_t kIpv4Bytes = 20;
constexpr std::uint32_t kIpv6Bytes = 40;
constexpr std::uint32_t kUdpBytes = 8;

}  // namespace

std::vector<Netdev> list_netdevs() {
  const auto addresses = wire::list_local_addresses();
  if (!addresses) throw Error(Failure::kSystem, std::string("cannot list network devices: ") + std::strerror(errno));
  std::vector<Netdev> devices;
  for (const wire::LocalAddress& each : *addresses) {
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
