// next_hop_test.cpp: what is remembered of neighbours, and for how long; and that the kernel's tables can be asked without privileges.
#include <gtest/gtest.h>

#include <net/if.h>

#include "ucx_tl/engine/next_hop.hpp"

namespace ina::engine {
namespace {

const wire::UdpAddress kPeer = *wire::UdpAddress::parse("192.0.2.2:4791");
constexpr wire::MacAddress kMac = {2, 0, 0, 0, 0, 1};
constexpr wire::MacAddress kOtherMac = {2, 0, 0, 0, 0, 2};
constexpr Nanoseconds kStart = 1000 * kSecond;

class FakeTable final : public NextHopSource {
 public:
  NextHop find(const wire::UdpAddress&) noexcept override {
    ++questions;
    return hop;
  }
  NextHop hop{.mac = kMac, .is_known = true, .is_certain = true};
  int questions = 0;
};

struct NextHopCacheTest : testing::Test {
  FakeTable table;
  NextHopCache cache{table};
};

TEST_F(NextHopCacheTest, AnswerIsKeptForASecondWhateverThePort) {
  wire::UdpAddress other_port = kPeer;
  ++other_port.port;
  ASSERT_NE(cache.find(kPeer, kStart), nullptr);
  EXPECT_EQ(*cache.find(other_port, kStart + NextHopCache::kValid - 1), kMac);
  EXPECT_EQ(table.questions, 1);
}

TEST_F(NextHopCacheTest, ChangedNeighbourIsNoticedWithinASecond) {
  (void)cache.find(kPeer, kStart);
  table.hop.mac = kOtherMac;
  EXPECT_EQ(*cache.find(kPeer, kStart + NextHopCache::kValid), kOtherMac);
}

TEST_F(NextHopCacheTest, UnknownNeighbourIsTheKernelsToFindAndAskedForAgainSoon) {
  table.hop = {};
  EXPECT_EQ(cache.find(kPeer, kStart), nullptr);
  EXPECT_EQ(cache.find(kPeer, kStart + NextHopCache::kRetry - 1), nullptr);
  EXPECT_EQ(table.questions, 1);
  table.hop = {.mac = kMac, .is_known = true, .is_certain = false};
  EXPECT_EQ(*cache.find(kPeer, kStart + NextHopCache::kRetry), kMac);
}

TEST_F(NextHopCacheTest, OnePacketASecondLetsTheKernelAskAnUncertainNeighbour) {
  table.hop.is_certain = false;
  (void)cache.find(kPeer, kStart);
  EXPECT_EQ(cache.find(kPeer, kStart + NextHopCache::kValid), nullptr);
  EXPECT_NE(cache.find(kPeer, kStart + NextHopCache::kValid + 1), nullptr);
  EXPECT_EQ(table.questions, 2);
}

TEST_F(NextHopCacheTest, ManyPeersHaveTheirOwnAnswersOrNone) {
  for (int i = 0; i < 5000; ++i) {
    wire::UdpAddress peer = kPeer;
    peer.ip[2] = static_cast<std::uint8_t>(i >> 8);
    peer.ip[3] = static_cast<std::uint8_t>(i);
    table.hop.mac[4] = peer.ip[2];
    table.hop.mac[5] = peer.ip[3];
    const wire::MacAddress* const mac = cache.find(peer, kStart);
    EXPECT_EQ(mac == nullptr ? table.hop.mac : *mac, table.hop.mac);
  }
}

TEST(RouteTable, ThisHostsOwnAddressesAreTheKernelsBusiness) {
  const unsigned loopback = if_nametoindex("lo");
  if (loopback == 0) GTEST_SKIP() << "this host has no loopback";
  RouteTable table(loopback, *wire::UdpAddress::parse("127.0.0.1:1"));
  EXPECT_FALSE(table.find(*wire::UdpAddress::parse("127.0.0.1:2")).is_known);
  EXPECT_FALSE(table.find(*wire::UdpAddress::parse("127.0.0.2:2")).is_known);
}

TEST(RouteTable, AddressWithoutARouteIsUnknown) {
  RouteTable table(1, *wire::UdpAddress::parse("[::1]:1"));
  EXPECT_FALSE(table.find(*wire::UdpAddress::parse("[100::1]:2")).is_known);
}

}  // namespace
}  // namespace ina::engine
