// wire_world.hpp: a switch in the wire with the members of a ring at its ports, and the frames that leave it, without a socket.
// Used by tests and the fuzzer of the switch in the wire.
// Has no clock: tests say what time it is.
#pragma once

#include <stdexcept>
#include <vector>

#include "switch/softswitch/wire_switch.hpp"
#include "test/aggregator/ring.hpp"
#include "wire/frame.hpp"
#include "wire/icrc.hpp"

namespace ina::test {

class WireWorld final : public softswitch::FrameOutbox {
 public:
  static constexpr softswitch::PortIndex kPorts = 4;
  struct Sent {
    softswitch::PortIndex port;
    Bytes bytes;
    softswitch::Offload offload;
    [[nodiscard]] wire::Frame frame() const { return *wire::decode_frame(bytes); }
  };

  // Member m sits at port m.
  [[nodiscard]] static wire::UdpAddress host(std::uint16_t member) {
    return {.ip = {10, 0, 0, static_cast<std::uint8_t>(10 + member)}, .port = wire::kRocePort, .is_ipv6 = false};
  }
  [[nodiscard]] static wire::MacAddress mac(std::uint16_t member) { return {2, 0, 0, 0, 0, static_cast<std::uint8_t>(member + 1)}; }

  struct Wrapping {
    std::uint16_t identification = 0;
    std::optional<std::uint16_t> vlan = {};
    std::uint16_t udp_checksum = 0;
  };
  // A RoCE packet (its ICRC is made here) or other UDP payload in a frame from one member to another.
  [[nodiscard]] static Bytes wrap(std::uint16_t from, std::uint16_t to, Bytes payload, const Wrapping& wrapping = {0, {}, 0}) {
    wire::Frame frame{.destination_mac = mac(to), .source_mac = mac(from), .vlan = wrapping.vlan, .ip = {.source = host(from), .destination = host(to)}, .l3 = {}, .udp_payload = {}};
    frame.ip.identification = wrapping.identification;
    frame.ip.udp_checksum = wrapping.udp_checksum;
    Bytes bytes(wire::frame_header_bytes(frame) + payload.size());
    const std::size_t headers = wire::encode_frame(frame, payload.size(), bytes);
    std::ranges::copy(payload, bytes.begin() + static_cast<std::ptrdiff_t>(headers));
    seal(bytes);
    return bytes;
  }
  // With the ICRC that the frame's own headers ask for, if it is a RoCE packet.
  static void seal(Bytes& bytes) {
    const auto frame = wire::decode_frame(bytes);
    if (!frame || frame->udp_payload.size() < wire::kBthBytes + wire::kIcrcBytes) return;
    const auto begin = frame->l3.data() - bytes.data();
    const auto all = std::span(bytes).subspan(static_cast<std::size_t>(begin), frame->l3.size());
    wire::store_icrc(&all[all.size() - wire::kIcrcBytes], wire::icrc_of_l3_packet(all.first(all.size() - wire::kIcrcBytes)));
  }

  void receive(softswitch::PortIndex port, Bytes bytes, const softswitch::Offload& offload = {}) {
    sent.clear();
    current_ = std::move(bytes);
    the_switch.receive(port, {.bytes = current_, .offload = offload}, now);
  }
  void start(const Ring& ring, std::optional<std::uint16_t> vlan = {}) {
    if (!aggregator.prepare(ring.spec)) throw std::runtime_error("not prepared");
    for (std::uint16_t i = 0; i < ring.spec.members; ++i) {
      const auto next = static_cast<std::uint16_t>((i + 1) % ring.spec.members);
      receive(i, wrap(i, next, ring.forward_bind(i), {0, vlan, 0}));
      receive(next, wrap(next, i, ring.backward_bind(i), {0, vlan, 0}));
    }
    if (!aggregator.activate(ring.spec.group)) throw std::runtime_error("not activated");
  }

  void send(softswitch::PortIndex port, const softswitch::FramePieces& pieces) noexcept override {
    Sent one{port, {}, pieces.offload};
    for (const auto piece : {pieces.head, pieces.body, pieces.tail}) one.bytes.insert(one.bytes.end(), piece.begin(), piece.end());
    sent.push_back(std::move(one));
  }
  void before_change(std::span<const std::byte>) noexcept override {}

  softswitch::Time now{};
  aggregator::Aggregator aggregator{{.slots = 1024}};
  std::vector<Sent> sent;
  std::vector<std::uint32_t> bound;
  softswitch::WireSwitch the_switch{aggregator, *this, kPorts, 1, [this](std::uint32_t group) { bound.push_back(group); }};

 private:
  Bytes current_;
};

}  // namespace ina::test
