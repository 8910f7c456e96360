#include "net/local_address.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>

namespace ina::net {

std::optional<std::vector<LocalAddress>> list_local_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return std::nullopt;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
  std::vector<LocalAddress> addresses;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const int family = entry->ifa_addr->sa_family;
    sockaddr_storage storage{};
    if (family == AF_INET) std::memcpy(&storage, entry->ifa_addr, sizeof(sockaddr_in));
    if (family == AF_INET6) std::memcpy(&storage, entry->ifa_addr, sizeof(sockaddr_in6));
    if (auto address = wire::UdpAddress::from_sockaddr(storage)) {
      address->port = 0;
      addresses.push_back({.device = entry->ifa_name, .address = *address, .flags = entry->ifa_flags});
    }
  }
  return addresses;
}

}  // namespace ina::net
