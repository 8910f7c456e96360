// ring.hpp: a group as its packets: makes the binds, contributions and acknowledgements of a ring of members, and reads what comes back.
// Used by tests and fuzzers of the aggregator and of the relay.
// Has no transport: which packet is sent when is the test's business (simulated_members.hpp has a transport).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "switch/aggregator/aggregator.hpp"
#include "wire/ina_header.hpp"
#include "wire/roce.hpp"

namespace ina::test {

using Bytes = std::vector<std::byte>;

// From the BTH to the payload's end, and room for an ICRC.
inline Bytes encode(const wire::Packet& packet, std::span<const std::byte> payload) {
  Bytes bytes(wire::headers_bytes(packet.bth.opcode) + payload.size() + wire::kIcrcBytes);
  const std::size_t headers = wire::encode_headers(packet, bytes);
  if (!payload.empty()) std::memcpy(&bytes[headers], payload.data(), payload.size());
  return bytes;
}

struct Ring {
  aggregator::GroupSpec spec{.group = 17, .epoch = 0x01020304, .members = 2, .window = 2, .first_seq = 0xfffffffc, .payload = 1024,
                             .place_bytes = 1024};
  std::uint32_t first_psn = 0xfffffe;  // of connection 0; connection i: + 7 i

  [[nodiscard]] aggregator::Endpoint sender(std::uint16_t i) const { return aggregator::Endpoint{100u + i}; }
  [[nodiscard]] aggregator::Endpoint receiver(std::uint16_t i) const { return aggregator::Endpoint{100u + (i + 1u) % spec.members}; }
  // QPs at the receiver and at the sender: in blocks of 4096 a member, as a relay hands them out.
  [[nodiscard]] std::uint32_t forward_qpn(std::uint16_t i) const { return ((i + 1u) % spec.members + 1) * 4096 + 1; }
  [[nodiscard]] std::uint32_t backward_qpn(std::uint16_t i) const { return (i + 1u) * 4096 + 2; }
  [[nodiscard]] std::uint32_t rkey(std::uint16_t i) const { return 0x1000u + i; }
  [[nodiscard]] std::uint64_t mailbox(std::uint16_t i) const { return 0x7f0000000000 + i * 0x10000000ull; }
  [[nodiscard]] std::uint32_t psn(std::uint16_t i, std::uint32_t seq) const {
    return wire::psn_add(first_psn, 7u * i + (seq - spec.first_seq));
  }
  [[nodiscard]] std::uint64_t address(std::uint16_t i, std::uint32_t seq, std::size_t payload) const {
    return mailbox(i) + std::uint64_t{seq % (2 * spec.window)} * spec.place_bytes + spec.place_bytes - payload;
  }

  [[nodiscard]] wire::Bind bind(std::uint16_t i, wire::Direction direction) const {
    return {.group = spec.group, .epoch = spec.epoch, .connection = i, .direction = direction, .members = spec.members,
            .window = spec.window, .first_seq = spec.first_seq, .place_bytes = spec.place_bytes,
            .mailbox = direction == wire::Direction::kForward ? mailbox(i) : 0};
  }
  [[nodiscard]] Bytes forward_bind(std::uint16_t i, const std::function<void(wire::Packet&, wire::Bind&)>& change = {}) const {
    wire::Bind body = bind(i, wire::Direction::kForward);
    wire::Packet packet{};
    packet.bth = {.opcode = wire::Opcode::kWriteOnly, .dest_qpn = forward_qpn(i), .ack_request = true, .psn = psn(i, spec.first_seq - 1)};
    packet.reth = {.address = mailbox(i) + spec.place_bytes - wire::kBindPayloadBytes, .rkey = rkey(i),
                   .dma_length = wire::kBindPayloadBytes};
    if (change) change(packet, body);
    return encode(packet, wire::encode_bind(body));
  }
  [[nodiscard]] Bytes backward_bind(std::uint16_t i, const std::function<void(wire::Packet&, wire::Bind&)>& change = {}) const {
    wire::Bind body = bind(i, wire::Direction::kBackward);
    wire::Packet packet{};
    packet.bth = {.opcode = wire::Opcode::kWriteOnly, .dest_qpn = backward_qpn(i), .ack_request = true, .psn = 5};
    packet.reth = {.address = 0x600000, .rkey = 9, .dma_length = wire::kBindPayloadBytes};
    if (change) change(packet, body);
    return encode(packet, wire::encode_bind(body));
  }

  // What a contribution consists of, for tests that change one thing.
  struct Contribution {
    wire::Packet packet{};
    wire::Header header{};
    std::uint32_t trailer = 0;
  };
  [[nodiscard]] Bytes contribution(std::uint16_t member, std::uint32_t seq, std::span<const std::byte> lanes,
                                   wire::LaneType type = wire::LaneType::kInt32, wire::Op op = wire::Op::kSum,
                                   const std::function<void(Contribution&)>& change = {}) const {
    const std::size_t size = wire::kFramingBytes + lanes.size();
    Contribution made;
    made.packet.bth = {.opcode = wire::Opcode::kWriteOnly, .dest_qpn = forward_qpn(member), .ack_request = true, .psn = psn(member, seq)};
    made.packet.reth = {.address = address(member, seq, size), .rkey = rkey(member), .dma_length = static_cast<std::uint32_t>(size)};
    made.header = {.kind = wire::Kind::kData, .op = op, .lane_type = type, .contributions = 1, .group = spec.group, .epoch = spec.epoch,
                   .seq = seq, .member = member, .length = static_cast<std::uint16_t>(lanes.size())};
    made.trailer = seq;
    if (change) change(made);
    Bytes payload(size);
    wire::encode_header(made.header, std::span(payload).first<wire::kHeaderBytes>());
    if (!lanes.empty()) std::memcpy(&payload[wire::kHeaderBytes], lanes.data(), lanes.size());
    wire::encode_trailer(made.trailer, std::span(payload).last<wire::kTrailerBytes>());
    return encode(made.packet, payload);
  }
  // From the receiver of connection i to its sender.
  [[nodiscard]] Bytes acknowledgement(std::uint16_t i, std::uint32_t seq, std::uint8_t syndrome = wire::kSyndromeAck,
                                      std::uint32_t msn = 1) const {
    wire::Packet packet{};
    packet.bth = {.opcode = wire::Opcode::kAcknowledge, .dest_qpn = backward_qpn(i), .psn = psn(i, seq)};
    packet.aeth = {.syndrome = syndrome, .msn = msn};
    return encode(packet, {});
  }
};

// What the aggregator made, copied.
struct Made {
  aggregator::Endpoint source, destination;
  Bytes bytes;  // with room for an ICRC
  [[nodiscard]] wire::Packet packet() const { return *wire::decode_packet(bytes); }
  [[nodiscard]] wire::Header header() const { return *wire::decode_payload(packet().payload); }
  [[nodiscard]] std::span<const std::byte> lanes() const {
    const auto payload = packet().payload;
    return payload.subspan(wire::kHeaderBytes, payload.size() - wire::kFramingBytes);
  }
};

class Collector final : public aggregator::Emitter {
 public:
  void emit(const aggregator::MadePacket& packet) noexcept override {
    Made made{packet.source, packet.destination, {}};
    for (const auto piece : {packet.head, packet.lanes, packet.tail}) made.bytes.insert(made.bytes.end(), piece.begin(), piece.end());
    made.bytes.resize(made.bytes.size() + wire::kIcrcBytes);
    all.push_back(std::move(made));
  }
  std::vector<Made> all;
};

template <typename T>
[[nodiscard]] Bytes lanes_of(std::initializer_list<T> values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

}  // namespace ina::test
