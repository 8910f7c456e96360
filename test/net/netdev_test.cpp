// netdev_test.cpp: what the system says about its network devices.
#include "net/netdev.hpp"

#include <gtest/gtest.h>

#include "net/error.hpp"
#include "net/netdev_features.hpp"

namespace ina::net {
namespace {

TEST(Netdev, LoopbackIsListedAndItsMtuLeavesTheLargestPayload) {
  bool found = false;
  for (const Netdev& device : list_netdevs()) found = found || (device.is_loopback && device.ipv4);
  EXPECT_TRUE(found);
  EXPECT_THROW((void)netdev_mtu("nosuchdevice"), Error);
}

// The loopback of Linux always takes large datagrams where the kernel makes them; whoever does not say is taken for one that does.
TEST(NetdevFeatures, DeviceThatIsNotThereMayTakeLargeDatagrams) {
  (void)takes_large_datagrams("lo");
  EXPECT_TRUE(takes_large_datagrams("nosuchdevice"));
}

}  // namespace
}  // namespace ina::net
