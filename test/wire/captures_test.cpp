// captures_test.cpp: packets of Linux's RoCE stack decode, and encode to the same bytes from Ethernet to the ICRC.
#include <gtest/gtest.h>

#include <set>

#include "test/support/pcap.hpp"
#include "wire/frame.hpp"
#include "wire/icrc.hpp"
#include "wire/roce.hpp"

namespace ina::wire {
namespace {

using Bytes = std::vector<std::byte>;

Bytes encoded(const Frame& frame, const Packet& packet) {
  Bytes bytes(frame_header_bytes(frame));
  EXPECT_EQ(encode_frame(frame, frame.udp_payload.size(), bytes), bytes.size());
  const std::size_t bth = bytes.size();
  bytes.resize(bth + headers_bytes(packet.bth.opcode));
  EXPECT_EQ(encode_headers(packet, std::span(bytes).subspan(bth)), bytes.size() - bth);
  bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
  bytes.resize(bytes.size() + packet.bth.pad_count + kIcrcBytes);
  const std::size_t l3 = frame_header_bytes(frame) - ip_header_bytes(frame.ip);
  store_icrc(&bytes[bytes.size() - kIcrcBytes], icrc_of_l3_packet(std::span(bytes).subspan(l3, bytes.size() - kIcrcBytes - l3)));
  return bytes;
}

TEST(Captures, EveryPacketDecodesAndEncodesToTheSameBytes) {
  std::size_t packets = 0;
  std::set<Opcode> opcodes;
  for (const char* const file : {"rxe-clean.pcap", "rxe-loss.pcap"}) {
    const test::Capture capture = test::read_pcap(std::string(INA_CAPTURES) + file);
    ASSERT_EQ(capture.link_type, 1U);
    for (const Bytes& bytes : capture.packets) {
      const auto frame = decode_frame(bytes);
      if (!frame || frame->ip.destination.port != kRocePort) continue;  // neighbour discovery, the tests' own TCP
      const auto packet = decode_packet(frame->udp_payload);
      ASSERT_TRUE(packet) << file << ": " << name(packet.error());
      ASSERT_EQ(test::to_hex(encoded(*frame, *packet)), test::to_hex(bytes)) << file;
      ASSERT_TRUE(is_udp_checksum_valid(*frame));
      opcodes.insert(packet->bth.opcode);
      ++packets;
    }
  }
  EXPECT_EQ(packets, 480U + 1449U);
  EXPECT_GE(opcodes.size(), 14U);
  for (const Opcode opcode : {Opcode::kWriteOnly, Opcode::kWriteFirst, Opcode::kSendLast, Opcode::kReadRequest, Opcode::kAcknowledge, Opcode::kAtomicAcknowledge}) {
    EXPECT_TRUE(opcodes.contains(opcode)) << name(opcode);
  }
}

}  // namespace
}  // namespace ina::wire
