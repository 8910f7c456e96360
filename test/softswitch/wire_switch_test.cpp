// wire_switch_test.cpp: frames of groups are added up and answered with the connections' own headers; all others leave as they came.
#include <gtest/gtest.h>

#include "test/softswitch/wire_world.hpp"

namespace ina::test {
namespace {

using softswitch::Offload;

class WireSwitchTest : public testing::Test {
 protected:
  Bytes contribution(std::uint16_t member, std::uint32_t number, std::int32_t value) const { return ring.contribution(member, number, lanes_of<std::int32_t>({value, 2 * value})); }
  static std::uint16_t next(std::uint16_t member) { return static_cast<std::uint16_t>(1 - member); }

  Ring ring;
  WireWorld world;
  std::uint32_t seq = ring.spec.first_seq;
};

TEST_F(WireSwitchTest, SumLeavesOnEveryConnectionWithItsOwnHeaders) {
  world.start(ring);
  EXPECT_EQ(world.bound.size(), 4u);
  world.receive(0, WireWorld::wrap(0, 1, contribution(0, seq, 5)));
  EXPECT_TRUE(world.sent.empty());
  world.receive(1, WireWorld::wrap(1, 0, contribution(1, seq, 7)));
  ASSERT_EQ(world.sent.size(), 2u);
  for (const auto& sent : world.sent) {
    const wire::Frame frame = sent.frame();
    const auto receiver = static_cast<std::uint16_t>(sent.port);
    EXPECT_EQ(frame.destination_mac, WireWorld::mac(receiver));
    EXPECT_EQ(frame.source_mac, WireWorld::mac(next(receiver)));
    EXPECT_EQ(frame.ip.source, WireWorld::host(next(receiver)));
    EXPECT_EQ(frame.ip.destination, WireWorld::host(receiver));
    EXPECT_EQ(frame.ip.identification, 0u);
    EXPECT_TRUE(frame.ip.dont_fragment);
    Bytes again = sent.bytes;
    WireWorld::seal(again);
    EXPECT_EQ(again, sent.bytes) << "the ICRC";
    const auto packet = wire::decode_packet(frame.udp_payload);
    ASSERT_TRUE(packet);
    EXPECT_EQ(packet->bth.dest_qpn, ring.forward_qpn(next(receiver)));
    EXPECT_EQ(packet->bth.psn, ring.psn(next(receiver), seq));
    const auto header = wire::decode_payload(packet->payload);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->kind, wire::Kind::kResult);
    EXPECT_EQ(header->contributions, 2u);
    const auto sum = lanes_of<std::int32_t>({12, 24});
    EXPECT_TRUE(std::equal(sum.begin(), sum.end(), packet->payload.begin() + wire::kHeaderBytes));
  }
  EXPECT_EQ(world.the_switch.counters().absorbed, 2u);
  EXPECT_EQ(world.the_switch.counters().made, 2u);
}

TEST_F(WireSwitchTest, VlanTagAndIdentificationOfContributionsAreTheirOwn) {
  world.start(ring, 0x2005);
  world.receive(0, WireWorld::wrap(0, 1, contribution(0, seq, 5), {63, 0x2005, 0}));
  world.receive(1, WireWorld::wrap(1, 0, contribution(1, seq, 7), {1, 0x2005, 0}));
  ASSERT_EQ(world.sent.size(), 2u);
  for (const auto& sent : world.sent) EXPECT_EQ(sent.frame().vlan, 0x2005);
}

TEST_F(WireSwitchTest, WrongIcrcPortOrSourceCountsForNothing) {
  world.start(ring);
  Bytes damaged = WireWorld::wrap(0, 1, contribution(0, seq, 5));
  damaged[damaged.size() - 12] ^= std::byte{1};
  world.receive(0, damaged);
  world.receive(2, WireWorld::wrap(0, 1, contribution(0, seq, 5)));
  world.receive(2, WireWorld::wrap(2, 1, contribution(0, seq, 5)));
  world.receive(1, WireWorld::wrap(1, 0, contribution(1, seq, 7)));
  EXPECT_TRUE(world.sent.empty());
  EXPECT_EQ(world.the_switch.counters().made, 0u);
}

TEST_F(WireSwitchTest, FramesOfOthersLeaveAsTheyCame) {
  world.start(ring);
  std::vector<Bytes> frames;
  frames.push_back(WireWorld::wrap(0, 1, Bytes(100, std::byte{1})));  // UDP 4791, no RoCE packet
  Ring other;
  other.spec.group = 99;  // of no group that is known here
  frames.push_back(WireWorld::wrap(0, 1, other.contribution(0, seq, lanes_of<std::int32_t>({1}))));
  frames.push_back(WireWorld::wrap(0, 1, contribution(0, seq, 1)));
  frames.back()[14 + 20 + 2] = std::byte{0};  // to another UDP port
  frames.push_back(Bytes(60, std::byte{0}));
  const wire::MacAddress to = WireWorld::mac(1), from = WireWorld::mac(0);  // no IP at all
  std::ranges::copy(std::as_bytes(std::span(to)), frames.back().begin());
  std::ranges::copy(std::as_bytes(std::span(from)), frames.back().begin() + 6);
  for (const Bytes& frame : frames) {
    world.receive(0, frame);
    ASSERT_EQ(world.sent.size(), 1u);
    EXPECT_EQ(world.sent[0].port, 1);
    EXPECT_EQ(world.sent[0].bytes, frame);
  }
}

TEST_F(WireSwitchTest, UnknownDestinationsAndGroupAddressesAreFlooded) {
  Bytes frame = WireWorld::wrap(0, 3, Bytes(50));
  world.receive(0, frame);
  EXPECT_EQ(world.sent.size(), 3u);
  frame = WireWorld::wrap(3, 0, Bytes(50));
  world.receive(3, frame);
  ASSERT_EQ(world.sent.size(), 1u);
  EXPECT_EQ(world.sent[0].port, 0);
  std::fill_n(frame.begin(), 6, std::byte{0xff});
  world.receive(3, frame);
  EXPECT_EQ(world.sent.size(), 3u);
  world.the_switch.forget(0);
  world.receive(3, WireWorld::wrap(3, 0, Bytes(50)));
  EXPECT_EQ(world.sent.size(), 3u) << "its port was unplugged";
}

TEST_F(WireSwitchTest, SuperFrameOfAGroupIsTakenApart) {
  world.start(ring);
  // Two chunks of a size, as UDP_SEGMENT hands them over: the second one's ICRC is for the identification that it would have.
  const Bytes first = WireWorld::wrap(0, 1, contribution(0, seq, 5), {0, {}, 0});
  const Bytes second = WireWorld::wrap(0, 1, contribution(0, seq + 1, 6), {1, {}, 0});
  const auto payload_of = [](const Bytes& bytes) { return wire::decode_frame(bytes)->udp_payload; };
  Bytes both(payload_of(first).begin(), payload_of(first).end());
  const std::size_t segment = both.size();
  both.insert(both.end(), payload_of(second).begin(), payload_of(second).end());
  Bytes whole = WireWorld::wrap(0, 1, Bytes(both.size()));
  std::ranges::copy(both, whole.end() - static_cast<std::ptrdiff_t>(both.size()));
  world.receive(0, whole, Offload{.flags = 1, .gso_type = 5, .header_bytes = 42, .segment_bytes = static_cast<std::uint16_t>(segment), .checksum_start = 34, .checksum_offset = 6});
  EXPECT_TRUE(world.sent.empty());
  EXPECT_EQ(world.the_switch.counters().segmented, 1u);
  EXPECT_EQ(world.the_switch.counters().absorbed, 2u);
  world.receive(1, WireWorld::wrap(1, 0, contribution(1, seq, 7)));
  EXPECT_EQ(world.sent.size(), 2u);
  world.receive(1, WireWorld::wrap(1, 0, contribution(1, seq + 1, 7)));
  EXPECT_EQ(world.sent.size(), 2u);
}

TEST_F(WireSwitchTest, SuperFrameOfOthersLeavesWhole) {
  world.start(ring);
  const Offload offload{.flags = 1, .gso_type = 5, .header_bytes = 42, .segment_bytes = 100, .checksum_start = 34, .checksum_offset = 6};
  const Bytes frame = WireWorld::wrap(0, 1, Bytes(1000, std::byte{3}));
  world.receive(0, frame, offload);
  ASSERT_EQ(world.sent.size(), 1u);
  EXPECT_EQ(world.sent[0].bytes, frame);
  EXPECT_EQ(world.sent[0].offload.segment_bytes, 100u);
}

TEST_F(WireSwitchTest, RuntsPauseFramesAndBadSourcesStayHere) {
  world.receive(0, Bytes(13));
  EXPECT_EQ(world.the_switch.counters().runt, 1u);
  Bytes frame = WireWorld::wrap(0, 1, Bytes(20));
  frame[6] |= std::byte{1};
  world.receive(0, frame);
  EXPECT_EQ(world.the_switch.counters().bad_source, 1u);
  frame = WireWorld::wrap(0, 1, Bytes(20));
  const wire::MacAddress pause{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
  std::ranges::copy(std::as_bytes(std::span(pause)), frame.begin());
  world.receive(0, frame);
  EXPECT_EQ(world.the_switch.counters().pause, 1u);
  EXPECT_TRUE(world.sent.empty());
}

}  // namespace
}  // namespace ina::test
