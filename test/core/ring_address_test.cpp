#include "ompi_coll_ina/core/ring_address.hpp"

#include <gtest/gtest.h>

namespace ina::test {
namespace {

using core::RingAddress;

std::vector<std::byte> field(std::size_t bytes, unsigned char value) { return std::vector<std::byte>(bytes, std::byte{value}); }

RingAddress sample() {
  RingAddress address;
  address.transport = "ina";
  address.places = 256;
  address.place_bytes = 4096;
  address.mailbox = 0x7fff00000000;
  address.scratch = 0x1234;
  address.device = field(8, 1);
  address.right_ep = field(7, 3);
  address.left_ep = field(7, 4);
  address.mailbox_key = field(9, 5);
  address.scratch_key = field(9, 6);
  return address;
}

TEST(RingAddress, ItComesBackAsItWas) { EXPECT_EQ(core::decode_ring_address(encode(sample())), sample()); }

TEST(RingAddress, EveryTruncationIsRefused) {
  const auto bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(core::decode_ring_address(std::span(bytes).first(size))) << size;
}

TEST(RingAddress, TrailingBytesAndOtherVersionsAreRefused) {
  auto bytes = encode(sample());
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(core::decode_ring_address(bytes));
  bytes.pop_back();
  bytes[4] = std::byte{2};
  EXPECT_FALSE(core::decode_ring_address(bytes));
}

TEST(RingAddress, WhatIsTooLongIsNotEncoded) {
  auto address = sample();
  address.device = field(257, 1);
  EXPECT_TRUE(encode(address).empty());
  address = sample();
  address.device = address.iface = address.right_ep = address.left_ep = field(250, 1);
  EXPECT_TRUE(encode(address).empty());
}

TEST(RingAddress, OneChangedByteNeverCrashes) {
  const auto bytes = encode(sample());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned value : {0u, 1u, 0x7fu, 0x80u, 0xffu}) {
      auto changed = bytes;
      changed[at] = std::byte{static_cast<unsigned char>(value)};
      static_cast<void>(core::decode_ring_address(changed));
    }
  }
}

}  // namespace
}  // namespace ina::test
