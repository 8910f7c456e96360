// frame_test.cpp: Ethernet, IP and UDP headers: values, truncations, corruptions.
#include "wire/frame.hpp"

#include <gtest/gtest.h>

#include "test/support/pcap.hpp"
#include "test/wire/corruption.hpp"

namespace ina::wire {
namespace {

using Bytes = std::vector<std::byte>;

Frame example(bool is_ipv6, bool has_vlan) {
  Frame frame{.destination_mac = {2, 0, 0, 0, 0, 2}, .source_mac = {2, 0, 0, 0, 0, 1}, .vlan = {}, .ip = {}, .l3 = {}, .udp_payload = {}};
  if (has_vlan) frame.vlan = 0x6064;
  frame.ip.source = *UdpAddress::parse(is_ipv6 ? "[fd00::1]:49152" : "10.0.0.1:49152");
  frame.ip.destination = *UdpAddress::parse(is_ipv6 ? "[fd00::2]:4791" : "10.0.0.2:4791");
  frame.ip.traffic_class = 0xb9;
  frame.ip.hop_limit = 3;
  if (is_ipv6) {
    frame.ip.flow_label = 0xabcde;
  } else {
    frame.ip.identification = 0x1234;
    frame.ip.dont_fragment = false;
  }
  return frame;
}

Bytes encoded(const Frame& frame, std::span<const std::byte> payload) {
  Bytes bytes(frame_header_bytes(frame));
  EXPECT_EQ(encode_frame(frame, payload.size(), bytes), bytes.size());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

const Bytes kPayload = test::from_hex("1140ffff00000011000000051f00000701020304");

TEST(Frame, IsEncodedAtTheOffsetsOfTheStandards) {
  EXPECT_EQ(test::to_hex(encoded(example(false, true), kPayload)),
            "020000000002" "020000000001" "81006064" "0800" "45b9003012340000031190ce0a0000010a000002" "c00012b7001c0000" + test::to_hex(kPayload));
  EXPECT_EQ(test::to_hex(encoded(example(true, false), kPayload)),
            "020000000002" "020000000001" "86dd" "6b9abcde001c1103" "fd000000000000000000000000000001" "fd000000000000000000000000000002" "c00012b7001c0000" +
                test::to_hex(kPayload));
}

TEST(Frame, SurvivesEncodingAndDecoding) {
  for (const bool is_ipv6 : {false, true}) {
    for (const bool has_vlan : {false, true}) {
      const Frame frame = example(is_ipv6, has_vlan);
      Bytes bytes = encoded(frame, kPayload);
      const std::size_t packet_bytes = bytes.size();
      bytes.resize(packet_bytes + 6, std::byte{0xee});  // Ethernet's padding
      const auto decoded = decode_frame(bytes);
      ASSERT_TRUE(decoded) << name(decoded.error());
      EXPECT_EQ(decoded->destination_mac, frame.destination_mac);
      EXPECT_EQ(decoded->source_mac, frame.source_mac);
      EXPECT_EQ(decoded->vlan, frame.vlan);
      EXPECT_EQ(decoded->ip, frame.ip);
      EXPECT_EQ(test::to_hex(decoded->udp_payload), test::to_hex(kPayload));
      EXPECT_EQ(decoded->l3.data() + decoded->l3.size(), bytes.data() + packet_bytes);
      const auto from_ip = decode_ip(decoded->l3);
      ASSERT_TRUE(from_ip);
      EXPECT_EQ(from_ip->ip, frame.ip);
    }
  }
}

TEST(Frame, TruncatedIsRefused) {
  for (const bool is_ipv6 : {false, true}) {
    test::for_every_truncation(encoded(example(is_ipv6, true), kPayload), [](std::span<const std::byte> bytes) { EXPECT_FALSE(decode_frame(bytes)) << bytes.size(); });
  }
}

TEST(Frame, CorruptedIsRefusedOrMeansExactlyWhatItSays) {
  for (const bool is_ipv6 : {false, true}) {
    for (const bool has_vlan : {false, true}) {
      test::for_every_corruption(encoded(example(is_ipv6, has_vlan), kPayload), [](std::span<const std::byte> bytes, std::size_t at) {
        const auto decoded = decode_frame(bytes);
        if (!decoded) return;
        EXPECT_EQ(test::to_hex(encoded(*decoded, decoded->udp_payload)), test::to_hex(bytes)) << "byte " << at;
      });
    }
  }
}

struct Refusal {
  const char* what;
  const char* hex;  // an IP packet
  FrameError error;
};

TEST(Frame, IsRefusedForTheReasonThatItGives) {
  constexpr Refusal kRefusals[] = {
      {"nothing", "", FrameError::kTooShort},
      {"ARP's operation", "0001080006040001", FrameError::kBadIpHeader},
      {"IPv4 options", "4600002400000000401100000a0000010a00000201010101c00012b7000c000000000000", FrameError::kOptions},
      {"a header of four words", "4400001c00000000401100000a0000010a000002c00012b700080000", FrameError::kBadIpHeader},
      {"a wrong header checksum", "4500001c00004000401100000a0000010a000002c00012b700080000", FrameError::kBadChecksum},
      {"more fragments", "4500001c00002000401146cf0a0000010a000002c00012b700080000", FrameError::kFragment},
      {"TCP", "4500001c00004000400626da0a0000010a000002c00012b700080000", FrameError::kNotUdp},
      {"a UDP length beyond IP's", "4500001c00004000401126cf0a0000010a000002c00012b700090000", FrameError::kBadLength},
      {"an IP length beyond the packet", "4500001d00004000401126ce0a0000010a000002c00012b700080000", FrameError::kTooShort},
      {"an IPv6 hop-by-hop header", "6000000000080040fd000000000000000000000000000001fd000000000000000000000000000002c00012b700080000", FrameError::kNotUdp},
  };
  for (const Refusal& refusal : kRefusals) {
    const auto decoded = decode_ip(test::from_hex(refusal.hex));
    ASSERT_FALSE(decoded) << refusal.what;
    EXPECT_EQ(decoded.error(), refusal.error) << refusal.what << ": " << name(decoded.error());
  }
  Bytes arp(60);
  arp[12] = std::byte{0x08};
  arp[13] = std::byte{0x06};
  EXPECT_EQ(decode_frame(arp).error(), FrameError::kNotIp);
}

TEST(Frame, EtherTypeAndIpVersionMustAgree) {
  Bytes bytes = encoded(example(false, false), kPayload);
  bytes[12] = std::byte{0x86};
  bytes[13] = std::byte{0xdd};
  ASSERT_FALSE(decode_frame(bytes));
  EXPECT_EQ(decode_frame(bytes).error(), FrameError::kBadIpHeader);
}

TEST(Frame, IsNotWrittenWhereItDoesNotFit) {
  const Frame frame = example(true, true);
  Bytes room(kMaxFrameHeaderBytes);
  EXPECT_EQ(encode_frame(frame, 0, room), kMaxFrameHeaderBytes);
  EXPECT_EQ(encode_frame(frame, 0, std::span(room).first(kMaxFrameHeaderBytes - 1)), 0U);
  EXPECT_EQ(encode_frame(frame, 65536, room), 0U);
  EXPECT_EQ(encode_ip(frame.ip, 0, std::span(room).first(47)), 0U);
}

TEST(UdpChecksum, IsRightAbsentOrWrong) {
  for (const bool is_ipv6 : {false, true}) {
    Frame frame = example(is_ipv6, false);
    frame.udp_payload = kPayload;
    EXPECT_TRUE(is_udp_checksum_valid(frame));
    frame.ip.udp_checksum = udp_checksum(frame.ip, kPayload);
    EXPECT_TRUE(is_udp_checksum_valid(frame));
    frame.ip.udp_checksum ^= 1;
    EXPECT_FALSE(is_udp_checksum_valid(frame));
  }
}

TEST(UdpChecksum, OfAKnownPacket) {
  // RFC 768's sum done by hand: source 0.0.0.1, destination 0.0.0.2, ports 1 and 2, payload 00 05 (length 10 twice, protocol 17).
  IpHeader ip;
  ip.source = *UdpAddress::parse("0.0.0.1:1");
  ip.destination = *UdpAddress::parse("0.0.0.2:2");
  EXPECT_EQ(udp_checksum(ip, test::from_hex("0005")), 0xffff - (1 + 2 + 17 + 10 + 1 + 2 + 10 + 5));
}

}  // namespace
}  // namespace ina::wire
