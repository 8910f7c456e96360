#include "switch/softswitch/wire_switch.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "wire/icrc.hpp"
#include "wire/ina_header.hpp"
#include "wire/roce.hpp"

namespace ina::softswitch {

namespace {

using aggregator::Action;

constexpr std::uint16_t kTypeVlan = 0x8100;
constexpr std::size_t kVlanEnd = wire::kEthernetBytes + wire::kVlanTagBytes;
constexpr wire::MacAddress kPauseAddress{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};

std::uint16_t vlan_of(std::span<const std::byte> frame) noexcept {
  if (wire::load_be<std::uint16_t>(&frame[12]) != kTypeVlan || frame.size() < kVlanEnd) return 0;
  return wire::load_be<std::uint16_t>(&frame[14]) & 0xfff;
}

wire::MacAddress mac_at(const std::byte* from) noexcept {
  wire::MacAddress mac;
  std::memcpy(mac.data(), from, mac.size());
  return mac;
}

bool is_bind(const wire::Packet& packet) noexcept {
  if (packet.bth.opcode != wire::Opcode::kWriteOnly) return false;
  const auto header = wire::decode_header(packet.payload);
  return header && header->kind == wire::Kind::kBind;
}

}  // namespace

WireSwitch::WireSwitch(aggregator::Aggregator& aggregator, FrameOutbox& outbox, PortIndex ports, std::uint64_t seed, OnBind on_bind)
    : aggregator_(aggregator), outbox_(outbox), ports_(ports), on_bind_(std::move(on_bind)), bridge_(seed), segment_(wire::kMaxFrameHeaderBytes + kMaxSegmentBytes) {}

void WireSwitch::receive(PortIndex from, const ArrivedFrame& arrived, Time now) noexcept {
  const std::span<const std::byte> bytes = arrived.bytes;
  if (bytes.size() < wire::kEthernetBytes) {
    ++counters_.runt;
    return;
  }
  const wire::MacAddress destination = mac_at(bytes.data()), source = mac_at(&bytes[6]);
  if (is_group_address(source)) {
    ++counters_.bad_source;
    return;
  }
  if (destination == kPauseAddress) {
    ++counters_.pause;
    return;
  }
  const std::uint16_t vlan = vlan_of(bytes);
  bridge_.learn(source, vlan, from, now);
  const auto frame = wire::decode_frame(bytes);
  if (frame && frame->ip.destination.port == wire::kRocePort && takes(from, *frame, arrived, now)) return;
  forward(from, destination, vlan, {.head = {}, .body = bytes, .tail = {}, .offload = arrived.offload}, now);
}

// True: the frame has been dealt with.
bool WireSwitch::takes(PortIndex from, const wire::Frame& frame, const ArrivedFrame& arrived, Time now) noexcept {
  if (arrived.offload.gso_type != 0) return arrived.offload.gso_type == Offload::kUdpSegments && take_segments(from, frame, arrived, now);
  const auto packet = wire::decode_packet(frame.udp_payload);
  if (!packet) return false;
  const auto outcome = aggregate({from, frame, *packet, frame.l3});
  return outcome && outcome->action != Action::kForward;
}

// The aggregator relies on the ICRC of what concerns it alone: the rest is not looked into any further.
std::optional<aggregator::Outcome> WireSwitch::aggregate(const Roce& roce) noexcept {
  const bool binds = is_bind(roce.packet);
  aggregator::Endpoint source = stations_.source(roce.frame, roce.from);
  if (!aggregator_.relies_on(roce.packet, source)) return std::nullopt;
  const bool icrc_is_valid = wire::icrc_of_l3_packet(roce.l3.first(roce.l3.size() - wire::kIcrcBytes)) == roce.packet.icrc;
  aggregator::Endpoint destination = stations_.destination(roce.frame);
  try {
    if (binds) {
      const Stations::Ends ends = stations_.prepare(roce.frame);
      source = ends.source;
      destination = ends.destination;
    }
    const aggregator::Outcome outcome = aggregator_.receive({roce.packet, source, destination, icrc_is_valid}, *this);
    if (outcome.action == Action::kAbsorb) ++counters_.absorbed;
    if (!binds) return outcome;
    if (outcome.bound_group == 0) {
      stations_.withdraw();
      return outcome;
    }
    if (!stations_.has_group(outcome.bound_group)) {
      stations_.purge([this](std::uint32_t group) { return aggregator_.knows(group); });
    }
    stations_.accept(roce.frame, {source, destination}, roce.from, outcome.bound_group, roce.packet.bth.dest_qpn);
    on_bind_(outcome.bound_group);
    return outcome;
  } catch (const std::bad_alloc&) {
    return aggregator::dropped(aggregator::Drop::kMalformedBind);
  }
}

bool WireSwitch::concerns(PortIndex from, const wire::Frame& frame, std::span<const std::byte> udp_payload) const noexcept {
  const auto packet = wire::decode_packet(udp_payload);
  return packet && aggregator_.relies_on(*packet, stations_.source(frame, from));
}

// A super-frame of UDP stands for datagrams of one size, but for the last; the identification counts up. If none of them is the
// aggregator's, it goes on whole.
bool WireSwitch::take_segments(PortIndex from, const wire::Frame& whole, const ArrivedFrame& arrived, Time now) noexcept {
  const std::size_t size = arrived.offload.segment_bytes;
  const auto all = whole.udp_payload;
  if (size == 0 || size > kMaxSegmentBytes) return false;
  const auto segment = [&](std::size_t at) { return all.subspan(at, std::min(size, all.size() - at)); };
  bool is_concerned = false;
  for (std::size_t at = 0; at < all.size() && !is_concerned; at += size) is_concerned = concerns(from, whole, segment(at));
  if (!is_concerned) return false;
  ++counters_.segmented;
  wire::Frame frame = whole;
  const std::size_t l2 = wire::frame_header_bytes(frame) - wire::ip_header_bytes(frame.ip);
  const bool is_unfinished = (arrived.offload.flags & Offload::kChecksumIsUnfinished) != 0;
  for (std::size_t at = 0; at < all.size(); at += size, ++frame.ip.identification) {
    frame.udp_payload = segment(at);
    if (whole.ip.udp_checksum != 0 || is_unfinished) frame.ip.udp_checksum = wire::udp_checksum(frame.ip, frame.udp_payload);
    const std::size_t headers = wire::encode_frame(frame, frame.udp_payload.size(), segment_);
    std::memcpy(&segment_[headers], frame.udp_payload.data(), frame.udp_payload.size());
    frame.l3 = std::span(segment_).subspan(l2, headers - l2 + frame.udp_payload.size());
    const auto packet = wire::decode_packet(frame.udp_payload);
    if (packet) {
      const auto outcome = aggregate({from, frame, *packet, frame.l3});
      if (outcome && outcome->action != Action::kForward) continue;
    }
    send_segment(from, frame, now);
  }
  return true;
}

void WireSwitch::send_segment(PortIndex from, wire::Frame frame, Time now) noexcept {
  std::array<std::byte, wire::kMaxFrameHeaderBytes> head;
  const std::size_t headers = wire::encode_frame(frame, frame.udp_payload.size(), head);
  forward(from, frame.destination_mac, vlan_id(frame), {.head = std::span(head).first(headers), .body = frame.udp_payload, .tail = {}, .offload = {}}, now);
}

void WireSwitch::forward(PortIndex from, const wire::MacAddress& destination, std::uint16_t vlan, const FramePieces& pieces, Time now) noexcept {
  const PortIndex to = is_group_address(destination) ? Bridge::kUnknown : bridge_.find(destination, vlan, now);
  if (to == from) {
    ++counters_.same_port;
    return;
  }
  if (to != Bridge::kUnknown) {
    ++counters_.forwarded;
    outbox_.send(to, pieces);
    return;
  }
  ++counters_.flooded;
  for (PortIndex port = 0; port < ports_; ++port) {
    if (port != from) outbox_.send(port, pieces);
  }
}

void WireSwitch::emit(const aggregator::MadePacket& made) noexcept {
  const std::uint32_t qpn = wire::load_be<std::uint32_t>(&made.head[4]) & wire::kQpnMask;
  const Stations::Connection* connection = stations_.connection(made.destination, qpn);
  if (connection == nullptr) {
    ++counters_.receiver_gone;
    return;
  }
  const std::array<std::span<const std::byte>, 3> pieces{made.head, made.lanes, made.tail};
  const std::size_t payload = made.head.size() + made.lanes.size() + made.tail.size() + wire::kIcrcBytes;
  std::array<std::byte, FramePieces::kMaxHeadBytes> head;
  const std::size_t headers = wire::encode_frame(connection->frame, payload, head);
  std::ranges::copy(made.head, head.begin() + static_cast<std::ptrdiff_t>(headers));
  std::array<std::byte, FramePieces::kMaxTailBytes> tail;
  std::ranges::copy(made.tail, tail.begin());
  wire::store_icrc(&tail[made.tail.size()], connection->icrc.compute(pieces));
  ++counters_.made;
  outbox_.send(stations_.port(made.destination),
               {.head = std::span(head).first(headers + made.head.size()), .body = made.lanes, .tail = std::span(tail).first(made.tail.size() + wire::kIcrcBytes), .offload = {}});
}

}  // namespace ina::softswitch
