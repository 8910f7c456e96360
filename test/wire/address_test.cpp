// address_test.cpp: text, sockaddr and names of UDP addresses.
#include "wire/address.hpp"

#include <gtest/gtest.h>

#include <unordered_set>

namespace ina::wire {
namespace {

TEST(Address, TextIsReadAndWrittenInOneForm) {
  for (const char* const text : {"10.0.0.1:5050", "0.0.0.0:0", "255.255.255.255:65535", "[fd00::1]:5050", "[::]:1", "[2001:db8::ff]:4791"}) {
    const auto address = UdpAddress::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
    EXPECT_EQ(address->is_ipv6, text[0] == '[');
  }
}

TEST(Address, AnythingElseIsRefused) {
  for (const char* const text : {"", ":", "10.0.0.1", "10.0.0.1:", "10.0.0.1:65536", "10.0.0.1:-1", "10.0.0.1:+1", "10.0.0.1: 1", "10.0.0.1:1x", "10.0.0:1", "10.0.0.256:1",
                                 "fd00::1:5050", "[fd00::1]", "[fd00::1]5050", "[fd00::1:5050", "[]:1", "[10.0.0.1]:1", "[fe80::1%lo]:1", "host:1", "[fd00::1]:5050 ",
                                 "1234567890123456789012345678901234567890123456789012345678901234567890:1"}) {
    EXPECT_FALSE(UdpAddress::parse(text)) << text;
  }
  EXPECT_FALSE(UdpAddress::parse(std::string_view("10.0.0.1\0:5", 11)));
}

TEST(Address, SurvivesASockaddr) {
  for (const char* const text : {"10.0.0.1:5050", "[fd00::1]:5050"}) {
    const auto address = UdpAddress::parse(text);
    sockaddr_storage storage{};
    EXPECT_GT(address->to_sockaddr(storage), 0U);
    EXPECT_EQ(UdpAddress::from_sockaddr(storage), address) << text;
  }
  sockaddr_storage storage{};
  storage.ss_family = AF_UNIX;
  EXPECT_FALSE(UdpAddress::from_sockaddr(storage));
}

TEST(Address, MappedIpv4IsIpv4AsItsPacketsAre) { EXPECT_EQ(UdpAddress::parse("[::ffff:10.0.0.1]:7"), UdpAddress::parse("10.0.0.1:7")); }

TEST(Address, HashTellsAddressesOfASiteApart) {
  std::unordered_set<std::size_t> hashes;
  for (int host = 0; host < 64; ++host) {
    for (int port = 4791; port < 4791 + 64; ++port) hashes.insert(UdpAddressHash()(*UdpAddress::parse("10.0.0." + std::to_string(host) + ":" + std::to_string(port))));
  }
  EXPECT_EQ(hashes.size(), 64U * 64U);
}

}  // namespace
}  // namespace ina::wire
