// icrc_test.cpp: the invariant CRC against public vectors of other implementations and captures of Linux's soft-RoCE.
#include "wire/icrc.hpp"

#include <gtest/gtest.h>

#include <random>

#include "test/support/pcap.hpp"
#include "wire/bytes.hpp"
#include "wire/roce.hpp"

namespace ina::wire {
namespace {

using Bytes = std::vector<std::byte>;

// The bits of IEEE 802.3, one at a time: what every faster form must equal.
std::uint32_t bitwise_crc32(std::uint32_t crc, std::span<const std::byte> bytes) {
  crc = ~crc;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

Bytes random_bytes(std::mt19937& random, std::size_t size) {
  Bytes bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

std::uint32_t stored_icrc(std::span<const std::byte> packet) {
  return byte_swapped(load_be<std::uint32_t>(&packet[packet.size() - kIcrcBytes]));
}

// IPv4 without options, UDP to the RoCE port: the captures hold neighbour discovery and TCP as well.
bool is_roce(std::span<const std::byte> frame) {
  return frame.size() > 14 + 28 + kBthBytes && load_be<std::uint16_t>(&frame[12]) == 0x0800 && frame[14] == std::byte{0x45} &&
         frame[23] == std::byte{17} && load_be<std::uint16_t>(&frame[36]) == kRocePort;
}

struct PublicVector {
  const char* what;
  bool is_grh;
  const char* hex;  // from the L3 header to the ICRC
};

// Bytes published in scapy's test/contrib/roce.uts; the first, third and fourth were captured from hardware.
constexpr PublicVector kPublicVectors[] = {
    {"RoCEv2 IPv4 CNP", false,
     "45c2003c718c4000401191610a0011010a001201000012b7002800008100ffff40000118000000000000000000000000000000000000000082fd002a"},
    {"RoCEv2 IPv4 UC SEND ONLY", false,
     "45010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000d300cf17104630818be28935d90e9a95505401be885e50000078f353f3"},
    {"RoCEv1 RC WRITE ONLY", true,
     "6020000000281b4000000000000000000000ffff0f00000200000000000000000000ffff0f0000020a70ffff0000010a80a788bc000055d4c0726000000047b3"
     "000000050000000001000000e3d856bb"},
    {"RoCEv1 RC ACKNOWLEDGE", true,
     "6020000000141b4000000000000000000000ffff0f00000200000000000000000000ffff0f0000021140ffff0000010900a788c00000000525f0c038"},
    {"RoCEv2 IPv6 UC SEND ONLY", false,
     "6e21face002c11ff2022000000000000000000000000102320230000000000000000000000001024c00012b7002ce7c52460ffff000000d300cf17104630818b"
     "e28935d90e9a95505401be885e5000003e5b743b"},
};

TEST(Crc32, GivesTheCheckValueOfIeee8023) { EXPECT_EQ(crc32(0, bytes_of("123456789")), 0xcbf43926U); }

TEST(Crc32, OfNothingIsTheValueItContinuesFrom) {
  EXPECT_EQ(crc32(0, {}), 0U);
  EXPECT_EQ(crc32(0x12345678, {}), 0x12345678U);
}

TEST(Crc32, EqualsTheBitwiseFormAtEveryLengthAndAlignment) {
  std::mt19937 random(1);
  const Bytes bytes = random_bytes(random, 600);
  for (std::size_t size = 0; size < 520; ++size) {
    const auto part = std::span(bytes).subspan(size % 17, size);
    const auto start = static_cast<std::uint32_t>(size * 2654435761U);
    ASSERT_EQ(crc32(start, part), bitwise_crc32(start, part)) << "size " << size;
  }
}

TEST(Icrc, EqualsPublicVectorsOfOtherImplementations) {
  for (const PublicVector& vector : kPublicVectors) {
    const Bytes packet = test::from_hex(vector.hex);
    EXPECT_EQ(icrc_of_l3_packet(std::span(packet).first(packet.size() - kIcrcBytes), vector.is_grh), stored_icrc(packet)) << vector.what;
  }
}

TEST(Icrc, OfAFlowEqualsThatOfItsPacketsForBothFamilies) {
  // The IPv6 vector: what the flow takes for granted (no extension headers) holds for it.
  const Bytes packet = test::from_hex(kPublicVectors[4].hex);
  UdpAddress source{.port = 0xc000, .is_ipv6 = true};
  UdpAddress destination{.port = kRocePort, .is_ipv6 = true};
  std::copy_n(reinterpret_cast<const std::uint8_t*>(&packet[8]), 16, source.ip.begin());
  std::copy_n(reinterpret_cast<const std::uint8_t*>(&packet[24]), 16, destination.ip.begin());
  const IcrcFlow ipv6(source, destination);
  EXPECT_TRUE(ipv6.is_valid(std::span(packet).subspan(48)));

  Bytes ipv4_packet = test::from_hex("4500003c0000400040110000 0a0000010a000002 c00012b700280000 0440ffff0000001100000001 000102030405060708090a0b0c0d0e0f 00000000");
  const IcrcFlow ipv4(*UdpAddress::parse("10.0.0.1:49152"), *UdpAddress::parse("10.0.0.2:4791"));
  ipv4.seal(std::span(ipv4_packet).subspan(28));
  EXPECT_EQ(stored_icrc(ipv4_packet), icrc_of_l3_packet(std::span(ipv4_packet).first(ipv4_packet.size() - kIcrcBytes)));
}

TEST(Icrc, DoesNotDependOnHowThePacketIsCutIntoPieces) {
  std::mt19937 random(2);
  for (const bool is_ipv6 : {false, true}) {
    const IcrcFlow flow = is_ipv6 ? IcrcFlow(*UdpAddress::parse("[fd00::1]:5"), *UdpAddress::parse("[fd00::2]:4791"))
                                  : IcrcFlow(*UdpAddress::parse("10.1.2.3:5"), *UdpAddress::parse("10.1.2.4:4791"));
    for (int round = 0; round < 300; ++round) {
      const Bytes packet = random_bytes(random, kBthBytes + random() % 1500);
      std::vector<std::span<const std::byte>> pieces;
      std::size_t at = 0;
      while (at < packet.size()) {
        const std::size_t least = at == 0 ? kBthBytes : 0;
        const std::size_t size = std::min<std::size_t>(packet.size() - at, least + random() % (round % 2 == 0 ? 40 : 700));
        pieces.push_back(std::span(packet).subspan(at, size));
        at += size;
      }
      ASSERT_EQ(flow.compute(pieces), flow.compute(std::span(packet))) << "round " << round << " pieces " << pieces.size();
    }
  }
}

TEST(Icrc, MissesNothingButTheMaskedByteOfTheBth) {
  std::mt19937 random(3);
  const IcrcFlow flow(*UdpAddress::parse("10.1.2.3:5"), *UdpAddress::parse("10.1.2.4:4791"));
  Bytes packet = random_bytes(random, 100);
  flow.seal(packet);
  for (std::size_t at = 0; at < packet.size(); ++at) {
    packet[at] ^= std::byte{1};
    EXPECT_EQ(flow.is_valid(packet), at == 4) << "byte " << at;
    packet[at] ^= std::byte{1};
  }
  EXPECT_TRUE(flow.is_valid(packet));
  EXPECT_FALSE(flow.is_valid(std::span(packet).first(15)));
}

// An IPv4 packet from 10.0.0.1:49152 to 10.0.0.2:4791 with DF and this identification, sealed as what it is.
Bytes packet_with_identification(std::mt19937& random, std::size_t payload_bytes, std::uint16_t identification) {
  Bytes packet = test::from_hex("4500000000004000401100000a0000010a000002c00012b700000000");
  store_be(&packet[2], static_cast<std::uint16_t>(28 + payload_bytes));
  store_be(&packet[4], identification);
  store_be(&packet[24], static_cast<std::uint16_t>(8 + payload_bytes));
  const Bytes payload = random_bytes(random, payload_bytes - kIcrcBytes);
  packet.insert(packet.end(), payload.begin(), payload.end());
  const std::uint32_t icrc = icrc_of_l3_packet(packet);
  packet.resize(packet.size() + kIcrcBytes);
  store_icrc(&packet[packet.size() - kIcrcBytes], icrc);
  return packet;
}

const IcrcFlow& flow_of_those_packets() {
  static const IcrcFlow flow(*UdpAddress::parse("10.0.0.1:49152"), *UdpAddress::parse("10.0.0.2:4791"));
  return flow;
}

TEST(Icrc, IsRightForTheIdentificationThatThePacketHas) {
  std::mt19937 random(4);
  IdentificationEffects effects;
  for (const std::uint16_t identification : std::initializer_list<std::uint16_t>{0, 1, 2, 31, 63, 64, 255, 256, 0x1234, 0xffff}) {
    for (const std::size_t payload_bytes : {16UL, 20UL, 272UL, 1456UL, 1472UL, 8964UL}) {
      const Bytes packet = packet_with_identification(random, payload_bytes, identification);
      const auto payload = std::span(packet).subspan(28);
      EXPECT_EQ(flow_of_those_packets().is_valid(payload), identification == 0) << identification;
      EXPECT_TRUE(flow_of_those_packets().is_valid(payload, identification, effects)) << identification << " bytes " << payload_bytes;
      EXPECT_FALSE(flow_of_those_packets().is_valid(payload, static_cast<std::uint16_t>(identification ^ 1), effects)) << identification;
      EXPECT_EQ(flow_of_those_packets().is_valid(payload, std::nullopt, effects), identification < kMaxSegments) << identification << " bytes " << payload_bytes;
    }
  }
}

TEST(Icrc, AnUnknownIdentificationHidesNoOtherError) {
  std::mt19937 random(5);
  IdentificationEffects effects;
  for (int round = 0; round < 20; ++round) {
    Bytes packet = packet_with_identification(random, 100, static_cast<std::uint16_t>(round));
    const auto payload = std::span(packet).subspan(28);
    for (std::size_t at = 0; at < payload.size(); ++at) {
      payload[at] ^= std::byte{4};
      EXPECT_EQ(flow_of_those_packets().is_valid(payload, std::nullopt, effects), at == 4) << "byte " << at << " round " << round;
      payload[at] ^= std::byte{4};
    }
  }
  EXPECT_FALSE(flow_of_those_packets().is_valid(Bytes(15), std::nullopt, effects));
}

TEST(Icrc, Ipv6HasNoIdentificationToBeUnknown) {
  IdentificationEffects effects;
  const IcrcFlow flow(*UdpAddress::parse("[fd00::1]:5"), *UdpAddress::parse("[fd00::2]:4791"));
  Bytes packet(100);
  flow.seal(packet);
  EXPECT_TRUE(flow.is_valid(packet, std::nullopt, effects));
  std::byte* const icrc = &packet[packet.size() - kIcrcBytes];
  store_be(icrc, load_be<std::uint32_t>(icrc) ^ byte_swapped(effects.of(1, packet.size())));
  EXPECT_FALSE(flow.is_valid(packet, std::nullopt, effects));
}

// Every difference that is accepted is one of 63, whatever the length, also where the table of lengths is full.
TEST(IdentificationEffects, ExplainTheirOwnSumsAndNothingElse) {
  std::mt19937 random(6);
  IdentificationEffects effects;
  for (std::size_t bytes = 16; bytes < 9000; bytes += 4 + random() % 40) {
    for (std::uint16_t identification = 0; identification < 2 * kMaxSegments; ++identification) {
      const std::uint32_t effect = effects.of(identification, bytes);
      ASSERT_EQ(effects.explain(effect, bytes), identification < kMaxSegments) << identification << " bytes " << bytes;
      const std::uint32_t other = effect ^ (1U << random() % 32);
      bool is_effect = false;
      for (std::uint16_t k = 0; k < kMaxSegments; ++k) is_effect = is_effect || effects.of(k, bytes) == other;
      ASSERT_EQ(effects.explain(other, bytes), is_effect);
    }
  }
}

TEST(Icrc, HoldsForEveryPacketOfTheKernelsRoce) {
  std::size_t packets = 0;
  for (const char* const name : {"rxe-clean.pcap", "rxe-loss.pcap"}) {
    const test::Capture capture = test::read_pcap(std::string(INA_CAPTURES) + name);
    ASSERT_EQ(capture.link_type, 1U);
    for (const Bytes& frame : capture.packets) {
      if (!is_roce(frame)) continue;
      const auto l3 = std::span(frame).subspan(14);
      ASSERT_EQ(icrc_of_l3_packet(l3.first(l3.size() - kIcrcBytes)), stored_icrc(l3)) << name << " packet " << packets;
      ++packets;
    }
  }
  EXPECT_EQ(packets, 480U + 1449U);
}

TEST(Icrc, OfAPacketThatIsNoIpIsSomeValueAndNoCrash) {
  const Bytes garbage(200, std::byte{0x4f});
  for (std::size_t size = 0; size < garbage.size(); ++size) {
    (void)icrc_of_l3_packet(std::span(garbage).first(size));
    (void)icrc_of_l3_packet(std::span(garbage).first(size), true);
  }
}

}  // namespace
}  // namespace ina::wire
