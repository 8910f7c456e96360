// write_seeds.cpp: writes the seed corpora of the codecs' fuzzers: one small file for every form that the encoders have.
// usage: write_seeds FOLDER (test/fuzz/corpus; run by hand when the wire changes)
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "wire/connect_message.hpp"
#include "wire/frame.hpp"
#include "wire/icrc.hpp"
#include "wire/ina_header.hpp"
#include "wire/relay_message.hpp"
#include "wire/roce.hpp"

namespace {

using namespace ina::wire;
using Bytes = std::vector<std::byte>;

void write(const std::filesystem::path& folder, const std::string& name, std::span<const std::byte> bytes) {
  std::filesystem::create_directories(folder);
  std::ofstream file(folder / name, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Bytes data_payload(Kind kind, LaneType type) {
  const Header header{.kind = kind, .op = Op::kSum, .lane_type = type, .contributions = 1, .group = 17, .epoch = 0x12345678, .seq = 0xfffffe00, .member = 2, .length = 8};
  Bytes payload(kFramingBytes + header.length);
  encode_header(header, std::span(payload).first<kHeaderBytes>());
  encode_trailer(header.seq, std::span(payload).last<kTrailerBytes>());
  return payload;
}

Bytes bind_payload(Direction direction) {
  const auto payload = encode_bind({.group = 17, .epoch = 0x12345678, .connection = 2, .direction = direction, .members = 4, .window = 64, .first_seq = 0xfffffe00,
                                    .place_bytes = 1024, .mailbox = direction == Direction::kForward ? 0x7f0000020000U : 0U});
  return {payload.begin(), payload.end()};
}

Bytes packet(Opcode opcode, std::span<const std::byte> payload) {
  const Packet headers{.bth = {.opcode = opcode, .pad_count = static_cast<std::uint8_t>(-payload.size() & 3), .dest_qpn = 0x1011, .ack_request = true, .psn = 0xfffffe},
                       .reth = {.address = 0x7f00000203c0, .rkey = 0x55, .dma_length = static_cast<std::uint32_t>(payload.size())},
                       .aeth = {.syndrome = kSyndromeAck, .msn = 7},
                       .deth = {.queue_key = kRelayQueueKey, .source_qpn = kRelayQpn}};
  Bytes bytes(headers_bytes(opcode));
  encode_headers(headers, bytes);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  bytes.resize(bytes.size() + headers.bth.pad_count + kIcrcBytes);
  return bytes;
}

ConnectMessage connect_message(ConnectKind kind) {
  const bool has_address = kind == ConnectKind::kConnect || kind == ConnectKind::kAccept;
  ConnectMessage message{.kind = kind, .mtu = has_address ? std::uint16_t{1440} : std::uint16_t{0}, .nonce = 1, .qpn = 0x1011, .peer_qpn = 0x2022, .first_psn = has_address ? 0xfffffeu : 0u};
  if (kind == ConnectKind::kConnect) {
    message.instance = 5;
    message.peer_qpn = 0;
  } else if (kind == ConnectKind::kReject) {
    message.reason = ConnectRefusal::kNotHere;
    message.qpn = 0;
  }
  return message;
}

void write_frames(const std::filesystem::path& folder) {
  for (const bool is_ipv6 : {false, true}) {
    Frame frame;
    frame.ip.source = *UdpAddress::parse(is_ipv6 ? "[fd00::1]:49152" : "10.0.0.1:49152");
    frame.ip.destination = *UdpAddress::parse(is_ipv6 ? "[fd00::2]:4791" : "10.0.0.2:4791");
    for (const bool has_vlan : {false, true}) {
      if (has_vlan) frame.vlan = 100;
      Bytes bytes(frame_header_bytes(frame));
      Bytes udp_payload = packet(Opcode::kWriteOnly, data_payload(Kind::kData, LaneType::kInt32));
      encode_frame(frame, udp_payload.size(), bytes);
      IcrcFlow(frame.ip.source, frame.ip.destination).seal(udp_payload);
      bytes.insert(bytes.end(), udp_payload.begin(), udp_payload.end());
      write(folder, std::string(is_ipv6 ? "ipv6" : "ipv4") + (has_vlan ? "-vlan" : ""), bytes);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_seeds FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const OpcodeTraits t = traits(static_cast<Opcode>(opcode));
    if (!t.known) continue;
    const Bytes payload = t.payload ? data_payload(Kind::kData, LaneType::kInt32) : Bytes();
    write(folder / "fuzz_roce", std::to_string(opcode), packet(static_cast<Opcode>(opcode), payload));
  }
  for (unsigned kind = 2; kind <= 6; ++kind) write(folder / "fuzz_ina_header", name(static_cast<Kind>(kind)), data_payload(static_cast<Kind>(kind), LaneType::kFloat64));
  write(folder / "fuzz_ina_header", "bind-forward", bind_payload(Direction::kForward));
  write(folder / "fuzz_ina_header", "bind-backward", bind_payload(Direction::kBackward));
  for (const RelayKind kind : {RelayKind::kRegister, RelayKind::kRegistered, RelayKind::kUnregister, RelayKind::kRefused}) {
    const RelayMessage message{.kind = kind, .block = 7, .reason = kind == RelayKind::kRefused ? RelayRefusal::kTaken : RelayRefusal::kNone, .nonce = 1, .instance = 2};
    write(folder / "fuzz_relay_message", std::to_string(static_cast<unsigned>(kind)), encode_relay_message(message));
  }
  for (unsigned kind = 32; kind <= 38; ++kind) {
    const auto message = connect_message(static_cast<ConnectKind>(kind));
    write(folder / "fuzz_connect_message", name(message.kind), encode_connect_message(message));
  }
  write_frames(folder / "fuzz_frame");
  return 0;
}
