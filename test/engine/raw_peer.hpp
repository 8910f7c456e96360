// raw_peer.hpp: a peer without an engine: packets are made by hand, answers are read as they are on the wire.
// Used by tests that need to send what an engine would never send.
// Keeps no state of a connection but its numbers.
#pragma once

#include <optional>

#include "test/engine/test_network.hpp"

namespace ina::engine::test {

class RawPeer {
 public:
  RawPeer(TestNetwork& network, VirtualClock& clock, EngineOptions options = {}) : network_(network), host(network, clock, 1, options) {
    qp = host.engine.create_qp();
    connected = host.engine.connect(*qp, address(9), {.qpn = 0x999, .first_psn = kFirstPsn, .mtu = options.mtu});
    network.tap = [this](const CapturedPacket& packet) {
      if (packet.to == address(9)) answers.push_back(packet);
      return false;
    };
  }

  static constexpr std::uint32_t kFirstPsn = 0xfffffe;  // wraps soon

  // The packet as bytes, with pad and ICRC.
  std::vector<std::byte> encode(wire::Packet packet, std::span<const std::byte> payload = {}, wire::UdpAddress from = address(9)) const {
    packet.bth.dest_qpn = packet.bth.dest_qpn == 0 ? qp->number() : packet.bth.dest_qpn;
    packet.bth.pad_count = static_cast<std::uint8_t>(-payload.size() & 3u);
    std::vector<std::byte> bytes(64);
    bytes.resize(wire::encode_headers(packet, bytes));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    bytes.resize(bytes.size() + packet.bth.pad_count + wire::kIcrcBytes);
    wire::IcrcFlow(from, address(1)).seal(bytes);
    return bytes;
  }
  void deliver(std::vector<std::byte> bytes, wire::UdpAddress from = address(9)) {
    network_.inject({.from = from, .to = address(1), .bytes = std::move(bytes)});
    host.engine.tick();
    host.engine.report(host);
  }
  void request(wire::Opcode opcode, std::uint32_t psn, std::span<const std::byte> payload, wire::Reth reth = {}, std::uint64_t operand = 0, std::uint64_t compare = 0) {
    wire::Packet packet{};
    packet.bth.opcode = opcode;
    packet.bth.psn = psn & wire::kPsnMask;
    packet.bth.ack_request = true;
    packet.reth = reth;
    packet.atomic_eth = {.address = reth.address, .rkey = reth.rkey, .swap_or_add = operand, .compare = compare};
    packet.invalidate_rkey = reth.rkey;
    deliver(encode(packet, payload));
  }
  void acknowledge(std::uint32_t psn, std::uint8_t syndrome) {
    wire::Packet packet{};
    packet.bth.opcode = wire::Opcode::kAcknowledge;
    packet.bth.psn = psn & wire::kPsnMask;
    packet.aeth.syndrome = syndrome;
    deliver(encode(packet));
  }
  // A response to a READ, or an atomic's with the value that was there.
  void respond(wire::Opcode opcode, std::uint32_t psn, std::span<const std::byte> payload, std::uint64_t original = 0) {
    wire::Packet packet{};
    packet.bth.opcode = opcode;
    packet.bth.psn = psn & wire::kPsnMask;
    packet.aeth.syndrome = wire::kSyndromeAck;
    packet.atomic_original = original;
    deliver(encode(packet, payload));
  }
  wire::Reth reth(std::size_t offset, std::size_t bytes) const {
    return {.address = reinterpret_cast<std::uintptr_t>(host.area.data()) + offset, .rkey = host.rkey, .dma_length = static_cast<std::uint32_t>(bytes)};
  }
  // The oldest packet that was sent to us and not looked at yet. Its payload is valid until the next call.
  std::optional<wire::Packet> answer() {
    if (answers.empty()) return std::nullopt;
    current_ = std::move(answers.front().bytes);
    answers.pop_front();
    const auto packet = wire::decode_packet(current_);
    return packet ? std::optional(*packet) : std::nullopt;
  }

 private:
  TestNetwork& network_;
  std::vector<std::byte> current_;

 public:
  Host host;
  Qp* qp;
  bool connected;
  std::deque<CapturedPacket> answers;
};

}  // namespace ina::engine::test
