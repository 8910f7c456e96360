// example_packets.cpp: a group of two members with the smallest window and mailbox, two chunks before the wrap of seq.
#include "test/wire/example_packets.hpp"

#include <algorithm>
#include <initializer_list>

#include "wire/connect_message.hpp"
#include "wire/frame.hpp"
#include "wire/icrc.hpp"
#include "wire/ina_header.hpp"
#include "wire/relay_message.hpp"
#include "wire/roce.hpp"

namespace ina::test {
namespace {

using namespace ina::wire;
using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kFirstSeq = 0xfffffffc;
constexpr std::uint32_t kWindow = 2;
constexpr std::uint32_t kPlaceBytes = 64;
constexpr std::uint64_t kMailbox = 0x7f0000000100;  // a multiple of 2W x P = 256
constexpr std::uint64_t kScratch = 0x7f0000001000;
constexpr std::uint32_t kQpnAtMember0 = 0x1001;
constexpr std::uint32_t kQpnAtMember1 = 0x2001;

struct Hop {
  const char* source;
  const char* destination;
};
constexpr Hop kForwardHop{"10.0.0.1:49152", "10.0.0.2:4791"};
constexpr Hop kBackwardHop{"10.0.0.2:49152", "10.0.0.1:4791"};
constexpr Hop kForwardHopIpv6{"[fd00::1]:49152", "[fd00::2]:4791"};
constexpr Hop kToRelay{"10.0.0.1:40000", "10.0.0.9:5050"};
constexpr Hop kFromRelay{"10.0.0.9:5050", "10.0.0.1:40000"};

ExamplePacket packet(const char* name, const Hop& hop, const Packet& headers, std::span<const std::byte> payload) {
  Bytes bytes(headers_bytes(headers.bth.opcode));
  encode_headers(headers, bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  bytes.resize(bytes.size() + kIcrcBytes);
  const IpHeader ip{.source = *UdpAddress::parse(hop.source), .destination = *UdpAddress::parse(hop.destination)};
  IcrcFlow(ip.source, ip.destination).seal(bytes);
  Bytes whole(ip_header_bytes(ip));
  encode_ip(ip, bytes.size(), whole);
  whole.insert(whole.end(), bytes.begin(), bytes.end());
  return {.name = name, .udp_payload = bytes, .ip = whole};
}

Packet write_only(std::uint32_t qpn, std::uint32_t psn, bool ack_request, Reth reth) {
  return {.bth = {.opcode = Opcode::kWriteOnly, .dest_qpn = qpn, .ack_request = ack_request, .psn = psn}, .reth = reth};
}

Packet acknowledge(std::uint32_t psn, std::uint8_t syndrome) {
  return {.bth = {.opcode = Opcode::kAcknowledge, .dest_qpn = kQpnAtMember0, .psn = psn}, .aeth = {.syndrome = syndrome, .msn = 2}};
}

ExamplePacket bind_packet(const char* name, const Hop& hop, Direction direction) {
  const bool is_forward = direction == Direction::kForward;
  const auto payload = encode_bind({.group = 17, .epoch = 0x12345678, .connection = 0, .direction = direction, .members = 2, .window = kWindow,
                                    .first_seq = kFirstSeq, .place_bytes = kPlaceBytes, .mailbox = is_forward ? kMailbox : 0});
  const Reth reth = is_forward ? Reth{kMailbox + kPlaceBytes - kBindPayloadBytes, 0x11, kBindPayloadBytes} : Reth{kScratch, 0x12, kBindPayloadBytes};
  return packet(name, hop, write_only(is_forward ? kQpnAtMember1 : kQpnAtMember0, 0, true, reth), payload);
}

// A chunk of two int32 lanes on connection 0.
ExamplePacket chunk_packet(const char* name, const Hop& hop, Kind kind, std::uint32_t seq, std::initializer_list<std::uint32_t> lanes) {
  const std::uint16_t contributions = kind == Kind::kResult ? 2 : 1;
  const Header header{.kind = kind, .op = Op::kSum, .lane_type = LaneType::kInt32, .contributions = contributions, .group = 17, .epoch = 0x12345678,
                      .seq = seq, .member = 0, .length = static_cast<std::uint16_t>(4 * lanes.size())};
  Bytes payload(kFramingBytes + header.length);
  encode_header(header, std::span(payload).first<kHeaderBytes>());
  std::size_t at = kHeaderBytes;
  for (const std::uint32_t lane : lanes) {
    store_be(&payload[at], byte_swapped(lane));
    at += sizeof lane;
  }
  encode_trailer(seq, std::span(payload).last<kTrailerBytes>());
  const std::uint64_t place = kMailbox + (seq % (2 * kWindow)) * kPlaceBytes;
  const Reth reth{place + kPlaceBytes - payload.size(), 0x11, static_cast<std::uint32_t>(payload.size())};
  return packet(name, hop, write_only(kQpnAtMember1, psn_add(1, seq - kFirstSeq), kind == Kind::kResult, reth), payload);
}

// The packet as the kernel cuts it out of a datagram, behind `identification` others.
ExamplePacket as_segment(const char* name, const Hop& hop, std::uint16_t identification, ExamplePacket packet) {
  const IpHeader ip{.source = *UdpAddress::parse(hop.source), .destination = *UdpAddress::parse(hop.destination), .identification = identification};
  encode_ip(ip, packet.udp_payload.size(), packet.ip);
  const auto icrc = std::span(packet.ip).last(kIcrcBytes);
  store_icrc(icrc.data(), icrc_of_l3_packet(std::span(packet.ip).first(packet.ip.size() - kIcrcBytes)));
  std::ranges::copy(icrc, packet.udp_payload.end() - kIcrcBytes);
  packet.name = name;
  return packet;
}

ExamplePacket relay_packet(const char* name, const Hop& hop, const RelayMessage& message) {
  const Packet headers{.bth = {.opcode = Opcode::kUdSendOnly, .dest_qpn = kRelayQpn}, .deth = {.queue_key = kRelayQueueKey, .source_qpn = kRelayQpn}};
  return packet(name, hop, headers, encode_relay_message(message));
}

ExamplePacket connect_packet(const char* name, const Hop& hop, std::uint32_t service, std::uint32_t peer_service, const ConnectMessage& message) {
  const Packet headers{.bth = {.opcode = Opcode::kUdSendOnly, .dest_qpn = peer_service}, .deth = {.queue_key = kConnectQueueKey, .source_qpn = service}};
  return packet(name, hop, headers, encode_connect_message(message));
}

}  // namespace

std::vector<ExamplePacket> example_packets() {
  constexpr std::uint64_t kNonce = 0x1122334455667788;
  constexpr std::uint64_t kInstance = 0x99aabbccddeeff00;
  return {
      bind_packet("forward bind", kForwardHop, Direction::kForward),
      bind_packet("backward bind", kBackwardHop, Direction::kBackward),
      chunk_packet("data", kForwardHop, Kind::kData, kFirstSeq, {1, 0xfffffffe}),
      chunk_packet("result", kForwardHop, Kind::kResult, kFirstSeq, {41, 0x80000000}),
      packet("acknowledge", kBackwardHop, acknowledge(1, kSyndromeAck), {}),
      packet("sequence error", kBackwardHop, acknowledge(2, kSyndromeNakSequence), {}),
      chunk_packet("data after the wrap", kForwardHop, Kind::kData, 0, {7, 8}),
      as_segment("data behind five others of one datagram", kForwardHop, 5, chunk_packet("", kForwardHop, Kind::kData, 1, {9, 10})),
      chunk_packet("data over ipv6", kForwardHopIpv6, Kind::kData, kFirstSeq, {1, 0xfffffffe}),
      relay_packet("register", kToRelay, {.kind = RelayKind::kRegister, .nonce = kNonce}),
      relay_packet("registered", kFromRelay, {.kind = RelayKind::kRegistered, .block = 7, .nonce = kNonce, .instance = kInstance}),
      relay_packet("refused", kFromRelay, {.kind = RelayKind::kRefused, .block = 7, .reason = RelayRefusal::kTaken, .nonce = kNonce, .instance = kInstance}),
      connect_packet("connect", kForwardHop, 0x1000, 0x2000,
                     {.kind = ConnectKind::kConnect, .mtu = 1440, .nonce = kNonce, .instance = 0x99aabbccdd, .qpn = kQpnAtMember0, .first_psn = 0xfffffe}),
      connect_packet("accept", kBackwardHop, 0x2000, 0x1000,
                     {.kind = ConnectKind::kAccept, .mtu = 1440, .nonce = kNonce, .qpn = kQpnAtMember1, .peer_qpn = kQpnAtMember0, .first_psn = 5}),
      connect_packet("reject", kBackwardHop, 0x2000, 0x1000,
                     {.kind = ConnectKind::kReject, .reason = ConnectRefusal::kNotHere, .nonce = kNonce, .peer_qpn = kQpnAtMember0}),
  };
}

}  // namespace ina::test
