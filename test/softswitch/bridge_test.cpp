#include <gtest/gtest.h>

#include "switch/softswitch/bridge.hpp"

namespace ina::softswitch {
namespace {

constexpr wire::MacAddress kA{2, 0, 0, 0, 0, 1}, kB{2, 0, 0, 0, 0, 2};
constexpr Time kStart{};

wire::MacAddress mac(unsigned number) {
  return {2, 0, static_cast<std::uint8_t>(number >> 24), static_cast<std::uint8_t>(number >> 16), static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)};
}

TEST(Bridge, KnowsWhereAStationWasHeard) {
  Bridge bridge;
  EXPECT_EQ(bridge.find(kA, 0, kStart), Bridge::kUnknown);
  bridge.learn(kA, 0, 3, kStart);
  bridge.learn(kB, 0, 0, kStart);
  EXPECT_EQ(bridge.find(kA, 0, kStart), 3);
  EXPECT_EQ(bridge.find(kB, 0, kStart), 0);
  EXPECT_EQ(bridge.stations(kStart), 2u);
}

TEST(Bridge, AStationThatMovedIsWhereItWasHeardLast) {
  Bridge bridge;
  bridge.learn(kA, 0, 3, kStart);
  bridge.learn(kA, 0, 4, kStart);
  EXPECT_EQ(bridge.find(kA, 0, kStart), 4);
  EXPECT_EQ(bridge.stations(kStart), 1u);
}

TEST(Bridge, VlansAreNetworksOfTheirOwn) {
  Bridge bridge;
  bridge.learn(kA, 1, 3, kStart);
  bridge.learn(kA, 2, 4, kStart);
  EXPECT_EQ(bridge.find(kA, 1, kStart), 3);
  EXPECT_EQ(bridge.find(kA, 2, kStart), 4);
  EXPECT_EQ(bridge.find(kA, 0, kStart), Bridge::kUnknown);
}

TEST(Bridge, SilentStationsAreForgotten) {
  Bridge bridge;
  bridge.learn(kA, 0, 3, kStart);
  const Time just_before = kStart + Bridge::kSilence - std::chrono::nanoseconds(1);
  EXPECT_EQ(bridge.find(kA, 0, just_before), 3);
  EXPECT_EQ(bridge.find(kA, 0, kStart + Bridge::kSilence), Bridge::kUnknown);
  bridge.learn(kA, 0, 3, just_before);
  EXPECT_EQ(bridge.find(kA, 0, kStart + Bridge::kSilence), 3);
}

TEST(Bridge, AnUnpluggedPortHasNoStations) {
  Bridge bridge;
  bridge.learn(kA, 0, 3, kStart);
  bridge.learn(kB, 0, 4, kStart);
  bridge.forget(3);
  EXPECT_EQ(bridge.find(kA, 0, kStart), Bridge::kUnknown);
  EXPECT_EQ(bridge.find(kB, 0, kStart), 4);
}

TEST(Bridge, AFullTableKeepsTheNewestAndStaysBounded) {
  Bridge bridge(7, 64);
  for (unsigned i = 0; i < 10000; ++i) bridge.learn(mac(i), 0, 1, kStart + std::chrono::milliseconds(i));
  const Time now = kStart + std::chrono::seconds(10);
  EXPECT_LE(bridge.stations(now), 64u);
  EXPECT_EQ(bridge.find(mac(9999), 0, now), 1);
  EXPECT_EQ(bridge.find(mac(0), 0, now), Bridge::kUnknown);
}

TEST(Bridge, ManyStationsAreKnownAtOnce) {
  Bridge bridge(1);
  for (unsigned i = 0; i < 2000; ++i) bridge.learn(mac(i), 5, static_cast<PortIndex>(i % 7), kStart);
  unsigned found = 0;
  for (unsigned i = 0; i < 2000; ++i) found += bridge.find(mac(i), 5, kStart) == i % 7 ? 1 : 0;
  EXPECT_GE(found, 1980u) << "places are shared by few";
}

}  // namespace
}  // namespace ina::softswitch
