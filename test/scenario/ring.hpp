// ring.hpp: the members of one group as an aggregator sees them: the packets that they send, and what comes back to them.
// Used by scenarios; several rings may share an aggregator.
// Has no transport: what is lost or repeated is what a test leaves out or sends twice.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "switch/aggregator/aggregator.hpp"
#include "wire/ina_header.hpp"
#include "wire/roce.hpp"

namespace ina::scenario {

// What a host knows of its group from the manager's answer.
struct Granted {
  std::uint32_t group;
  std::uint32_t epoch;
  std::uint16_t members;
  std::uint32_t window;
  std::uint32_t first_seq;
  std::uint32_t place_bytes;
};

struct Received {
  wire::Header header;
  std::vector<std::int32_t> lanes;
};

class Ring : public aggregator::Emitter {
 public:
  static constexpr std::size_t kLanes = 4;

  // base: the endpoint of member 0; the others follow. QPNs and PSNs are made from it too.
  Ring(const Granted& granted, std::uint32_t base) : granted_(granted), base_(base), results_(granted.members) {}

  [[nodiscard]] const Granted& granted() const noexcept { return granted_; }
  [[nodiscard]] std::uint32_t first_psn(std::uint16_t connection) const noexcept { return wire::psn_add(0xfffff0 + connection, base_); }
  [[nodiscard]] aggregator::Endpoint endpoint(std::uint32_t member) const noexcept {
    return aggregator::Endpoint{base_ + member % granted_.members};
  }

  // One bind, of this ring's epoch if no other is given. A forged one comes from another source.
  aggregator::Outcome bind(aggregator::Aggregator& aggregator, std::uint16_t connection, wire::Direction direction,
                           std::optional<std::uint32_t> epoch = {}, std::optional<aggregator::Endpoint> source = {}) {
    const bool is_forward = direction == wire::Direction::kForward;
    const auto payload = wire::encode_bind({.group = granted_.group,
                                            .epoch = epoch.value_or(granted_.epoch),
                                            .connection = connection,
                                            .direction = direction,
                                            .members = granted_.members,
                                            .window = granted_.window,
                                            .first_seq = granted_.first_seq,
                                            .place_bytes = granted_.place_bytes,
                                            .mailbox = is_forward ? mailbox(connection) : 0});
    wire::Packet packet{.bth = {.opcode = wire::Opcode::kWriteOnly, .dest_qpn = qpn(connection, direction)}};
    packet.bth.psn = is_forward ? wire::psn_add(first_psn(connection), wire::kPsnMask) : 77;
    packet.reth = {.address = is_forward ? mailbox(connection) + granted_.place_bytes - payload.size() : 0x5000,
                   .rkey = rkey(connection),
                   .dma_length = static_cast<std::uint32_t>(payload.size())};
    packet.payload = payload;
    const auto from = endpoint(is_forward ? connection : connection + 1u);
    const auto to = endpoint(is_forward ? connection + 1u : connection);
    return aggregator.receive({.packet = packet, .source = source.value_or(from), .destination = to, .icrc_is_valid = true}, *this);
  }

  // Member's contribution to chunk number `chunk` of the life of the group.
  aggregator::Outcome contribute(aggregator::Aggregator& aggregator, std::uint16_t member, std::uint32_t chunk,
                                 const std::array<std::int32_t, kLanes>& lanes, std::optional<std::uint32_t> epoch = {}) {
    const std::uint32_t seq = granted_.first_seq + chunk;
    std::array<std::byte, wire::kFramingBytes + sizeof lanes> payload;
    const std::span<std::byte> bytes(payload);
    wire::encode_header({.kind = wire::Kind::kData,
                         .op = wire::Op::kSum,
                         .lane_type = wire::LaneType::kInt32,
                         .contributions = 1,
                         .group = granted_.group,
                         .epoch = epoch.value_or(granted_.epoch),
                         .seq = seq,
                         .member = member,
                         .length = sizeof lanes},
                        bytes.first<wire::kHeaderBytes>());
    std::memcpy(bytes.data() + wire::kHeaderBytes, lanes.data(), sizeof lanes);
    wire::encode_trailer(seq, bytes.last<wire::kTrailerBytes>());
    wire::Packet packet{.bth = {.opcode = wire::Opcode::kWriteOnly, .dest_qpn = qpn(member, wire::Direction::kForward)}};
    packet.bth.psn = wire::psn_add(first_psn(member), chunk);
    packet.reth = {.address = mailbox(member) + std::uint64_t{seq % (2 * granted_.window)} * granted_.place_bytes +
                              granted_.place_bytes - payload.size(),
                   .rkey = rkey(member),
                   .dma_length = static_cast<std::uint32_t>(payload.size())};
    packet.payload = payload;
    return aggregator.receive(
        {.packet = packet, .source = endpoint(member), .destination = endpoint(member + 1u), .icrc_is_valid = true}, *this);
  }

  // Results that came on a connection since the last call, oldest first.
  [[nodiscard]] std::vector<Received> take_results(std::uint16_t connection) { return std::exchange(results_[connection], {}); }

  void emit(const aggregator::MadePacket& made) noexcept override {
    std::vector<std::byte> bytes(made.head.begin(), made.head.end());
    bytes.insert(bytes.end(), made.lanes.begin(), made.lanes.end());
    bytes.insert(bytes.end(), made.tail.begin(), made.tail.end());
    bytes.resize(bytes.size() + wire::kIcrcBytes);
    const auto packet = wire::decode_packet(bytes);
    if (!packet || packet->bth.opcode != wire::Opcode::kWriteOnly) return;
    const auto header = wire::decode_payload(packet->payload);
    if (!header || header->member >= results_.size()) return;
    Received received{*header, std::vector<std::int32_t>(header->length / sizeof(std::int32_t))};
    std::memcpy(received.lanes.data(), packet->payload.data() + wire::kHeaderBytes, header->length);
    results_[header->member].push_back(std::move(received));
  }

 private:
  [[nodiscard]] std::uint32_t qpn(std::uint16_t connection, wire::Direction direction) const noexcept {
    return (base_ << 8 | std::uint32_t{connection} << 1 | (direction == wire::Direction::kForward ? 0u : 1u)) & wire::kQpnMask;
  }
  [[nodiscard]] std::uint32_t rkey(std::uint16_t connection) const noexcept { return base_ * 1000 + connection; }
  [[nodiscard]] std::uint64_t mailbox(std::uint16_t connection) const noexcept {
    return (std::uint64_t{connection} + 1) * 2 * granted_.window * granted_.place_bytes;
  }

  Granted granted_;
  std::uint32_t base_;
  std::vector<std::vector<Received>> results_;
};

}  // namespace ina::scenario
