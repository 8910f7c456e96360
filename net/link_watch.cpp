#include "net/link_watch.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "net/error.hpp"

namespace ina::net {

LinkWatch::LinkWatch() : netlink_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)) {
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  if (!netlink_ || ::bind(netlink_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw Error(Failure::kSystem, std::string("cannot watch network interfaces: ") + std::strerror(errno));
}

bool LinkWatch::has_changed() noexcept {
  bool has_changed = false;
  std::array<std::byte, 8192> ignored;
  for (;;) {
    const ssize_t size = ::recv(netlink_.get(), ignored.data(), ignored.size(), MSG_DONTWAIT);
    if (size < 0 && errno != ENOBUFS && errno != EINTR) return has_changed;
    has_changed = true;
  }
}

}  // namespace ina::net
