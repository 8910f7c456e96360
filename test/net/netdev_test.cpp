// netdev_test.cpp: what the system says about its network devices.
#include "net/netdev.hpp"

#include <gtest/gtest.h>

#include "net/error.hpp"

namespace ina::net {
namespace {

TEST(Netdev, LoopbackIsListedAndItsMtuLeavesTheLargestPayload) {
  bool found = false;
  for (const Netdev& device : list_netdevs()) found = found || (device.is_loopback && device.ipv4);
  EXPECT_TRUE(found);
  EXPECT_THROW((void)netdev_mtu("nosuchdevice"), Error);
}

}  // namespace
}  // namespace ina::net
