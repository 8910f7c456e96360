// segmenting_sender_test.cpp: what arrives at a socket on loopback of packets that went out as large datagrams.
#include "net/segmenting_sender.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <vector>

#include "net/descriptor.hpp"
#include "wire/icrc.hpp"
#include "wire/roce.hpp"

namespace ina::net {
namespace {

using Bytes = std::vector<std::byte>;

struct Socket {
  explicit Socket(bool ipv6) : descriptor(socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_storage storage{};
    socklen_t length = (ipv6 ? wire::UdpAddress::parse("[::1]:0") : wire::UdpAddress::parse("127.0.0.1:0"))->to_sockaddr(storage);
    is_bound = descriptor && bind(descriptor.get(), reinterpret_cast<const sockaddr*>(&storage), length) == 0;
    length = sizeof storage;
    if (is_bound && getsockname(descriptor.get(), reinterpret_cast<sockaddr*>(&storage), &length) == 0) address = *wire::UdpAddress::from_sockaddr(storage);
    const int most = 1 << 20;
    (void)setsockopt(descriptor.get(), SOL_SOCKET, SO_RCVBUF, &most, sizeof most);
  }
  Bytes receive() {
    pollfd ready{.fd = descriptor.get(), .events = POLLIN, .revents = 0};
    Bytes bytes(65536);
    const ssize_t got = poll(&ready, 1, 5000) == 1 ? recv(descriptor.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) : -1;
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
  }
  Descriptor descriptor;
  wire::UdpAddress address;
  bool is_bound = false;
};

// Packets in three pieces, as the engine makes them.
class Packets {
 public:
  void add(const Socket& from, const Socket& to, std::size_t bytes, std::byte qpn_top = std::byte{1}) {
    Packet& packet = packets_.emplace_back();
    packet.bytes.assign(bytes, static_cast<std::byte>(packets_.size()));
    if (bytes > wire::kBthTopByteOfQpn) packet.bytes[wire::kBthTopByteOfQpn] = qpn_top;
    if (bytes >= wire::kBthBytes + wire::kIcrcBytes) wire::IcrcFlow(from.address, to.address).seal(packet.bytes);
    const std::size_t head = std::min<std::size_t>(bytes, 12);
    const std::size_t tail = bytes - std::max(bytes - std::min<std::size_t>(bytes, 4), head);
    packet.pieces = {{{packet.bytes.data(), head}, {&packet.bytes[head], bytes - head - tail}, {&packet.bytes[bytes - tail], tail}}};
    mmsghdr& header = headers_.emplace_back();
    header.msg_hdr.msg_namelen = to.address.to_sockaddr(packet.to);
    header.msg_hdr.msg_name = &packet.to;
    header.msg_hdr.msg_iov = packet.pieces.data();
    header.msg_hdr.msg_iovlen = packet.pieces.size();
  }
  std::span<mmsghdr> headers() { return headers_; }
  const Bytes& operator[](std::size_t i) const { return std::next(packets_.begin(), static_cast<std::ptrdiff_t>(i))->bytes; }

 private:
  struct Packet {
    Bytes bytes;
    std::array<iovec, 3> pieces;
    sockaddr_storage to;
  };
  std::list<Packet> packets_;
  std::vector<mmsghdr> headers_;
};

// The identification below 64 that the ICRC is right for, or -1.
int identification_of(const Socket& from, const Socket& to, std::span<const std::byte> packet) {
  wire::IdentificationEffects effects;
  const wire::IcrcFlow flow(from.address, to.address);
  for (std::uint16_t k = 0; k < wire::kMaxSegments; ++k) {
    if (flow.is_valid(packet, k, effects)) return k;
  }
  return -1;
}

class SegmentingSenderTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!from_.is_bound || !to_.is_bound) GTEST_SKIP() << "this host has no such address";
    if (!sender_.enable(from_.descriptor.get())) GTEST_SKIP() << "this kernel cuts no datagrams";
  }
  // Sends all and expects what arrives to be what was sent, with these identifications.
  void expect_identifications(Packets& packets, const std::vector<int>& expected) {
    ASSERT_EQ(sender_.send(from_.descriptor.get(), packets.headers(), 0), static_cast<int>(expected.size()));
    EXPECT_FALSE(sender_.was_refused());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Bytes got = to_.receive();
      ASSERT_EQ(got.size(), packets[i].size()) << "packet " << i;
      EXPECT_TRUE(std::equal(got.begin(), got.end() - 4, packets[i].begin())) << "packet " << i;
      EXPECT_EQ(identification_of(from_, to_, got), GetParam() ? 0 : expected[i]) << "packet " << i;
    }
  }
  Socket from_{GetParam()};
  Socket to_{GetParam()};
  SegmentingSender sender_;
};

TEST_P(SegmentingSenderTest, EqualPacketsGoTogetherAndAShorterOneEndsTheRun) {
  Packets packets;
  for (const std::size_t bytes : {1472, 1456, 1456, 1456, 700, 700, 16, 1456}) packets.add(from_, to_, bytes);
  // 1472 + 1456 (shorter), 1456 + 1456 + 700, 700 + 16, 1456.
  expect_identifications(packets, {0, 1, 0, 1, 2, 0, 1, 0});
}

TEST_P(SegmentingSenderTest, ARunIsNoLongerThanADatagramCanBe) {
  Packets packets;
  std::vector<int> expected;
  for (int i = 0; i < 60; ++i) {
    packets.add(from_, to_, 1456);
    expected.push_back(i % 44);
  }
  expect_identifications(packets, expected);
}

TEST_P(SegmentingSenderTest, PacketsForQpsOfDifferentProcessesGoApart) {
  Packets packets;
  for (const int top : {1, 1, 2, 2, 1}) packets.add(from_, to_, 300, static_cast<std::byte>(top));
  expect_identifications(packets, {0, 1, 0, 1, 0});
}

TEST_P(SegmentingSenderTest, PacketsForDifferentAddressesGoApart) {
  Socket other(GetParam());
  Packets packets;
  packets.add(from_, to_, 300);
  packets.add(from_, other, 300);
  packets.add(from_, to_, 300);
  ASSERT_EQ(sender_.send(from_.descriptor.get(), packets.headers(), 0), 3);
  EXPECT_EQ(to_.receive(), packets[0]);
  EXPECT_EQ(to_.receive(), packets[2]);
  EXPECT_EQ(other.receive(), packets[1]);
}

TEST_P(SegmentingSenderTest, WhatIsNoRocePacketGoesAlone) {
  Packets packets;
  for (const std::size_t bytes : {8, 8, 3, 300, 300}) packets.add(from_, to_, bytes);
  ASSERT_EQ(sender_.send(from_.descriptor.get(), packets.headers(), 0), 5);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(to_.receive(), packets[i]) << i;
  EXPECT_EQ(identification_of(from_, to_, to_.receive()), GetParam() ? 0 : 1);
}

// A socket that computes no checksums is the easiest way to a kernel that refuses.
TEST_P(SegmentingSenderTest, RefusedDatagramsGoOnePacketAfterTheOther) {
  const int on = 1;
  ASSERT_EQ(setsockopt(from_.descriptor.get(), GetParam() ? IPPROTO_UDP : SOL_SOCKET, GetParam() ? UDP_NO_CHECK6_TX : SO_NO_CHECK, &on, sizeof on), 0);
  ASSERT_TRUE(!GetParam() || setsockopt(to_.descriptor.get(), IPPROTO_UDP, UDP_NO_CHECK6_RX, &on, sizeof on) == 0);
  Packets packets;
  for (int i = 0; i < 5; ++i) packets.add(from_, to_, 300);
  ASSERT_EQ(sender_.send(from_.descriptor.get(), packets.headers(), 0), 5);
  EXPECT_TRUE(sender_.was_refused());
  EXPECT_FALSE(sender_.is_enabled());
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(to_.receive(), packets[i]) << i;
}

TEST_P(SegmentingSenderTest, PacketsThatWereNotTakenAreAsTheyWere) {
  Packets packets;
  for (int i = 0; i < 3; ++i) packets.add(from_, to_, 300);
  const Bytes before = packets[2];
  ASSERT_EQ(sender_.send(-1, packets.headers(), 0), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_FALSE(sender_.was_refused());
  EXPECT_EQ(packets[2], before);
}

INSTANTIATE_TEST_SUITE_P(Families, SegmentingSenderTest, testing::Bool(), [](const auto& ipv6) { return ipv6.param ? "Ipv6" : "Ipv4"; });

}  // namespace
}  // namespace ina::net
