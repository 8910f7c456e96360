#include "test/vectors/wire_port.hpp"

#include <cstring>

#include "wire/icrc.hpp"

namespace ina::test {

namespace {

constexpr std::uint32_t kNobody = 0xffff;

}  // namespace

void WirePort::add_host(unsigned port, const wire::UdpAddress& ip, const wire::MacAddress& mac) { hosts_[port] = {ip, mac}; }

aggregator::Endpoint WirePort::endpoint(wire::UdpAddress ip, unsigned port) const {
  ip.port = 0;
  for (const auto& [at, host] : hosts_) {
    if (host.ip == ip && (port == 0 || port == at)) return aggregator::Endpoint{at};
  }
  return aggregator::Endpoint{kNobody};
}

std::vector<Output> WirePort::receive(unsigned port, std::vector<std::byte> bytes) {
  out_.clear();
  const auto frame = wire::decode_frame(bytes);
  if (!frame) return {};
  const auto source = endpoint(frame->ip.source, port);
  const auto destination = endpoint(frame->ip.destination, 0);
  const auto to = static_cast<unsigned>(destination);
  const auto packet = wire::decode_packet(frame->udp_payload);
  if (packet) {
    const auto covered = frame->l3.first(frame->l3.size() - wire::kIcrcBytes);
    const bool is_valid = wire::icrc_of_l3_packet(covered) == packet->icrc;
    const auto outcome = aggregator_.receive({*packet, source, destination, is_valid}, *this);
    if (outcome.bound_group != 0) source_ports_[{destination, packet->bth.dest_qpn}] = frame->ip.source.port;
    if (outcome.action != aggregator::Action::kForward) return std::move(out_);
  }
  if (hosts_.contains(to)) out_.push_back({to, std::move(bytes)});
  return std::move(out_);
}

void WirePort::emit(const aggregator::MadePacket& made) noexcept {
  const Host& from = hosts_.at(static_cast<unsigned>(made.source));
  const Host& to = hosts_.at(static_cast<unsigned>(made.destination));
  const std::uint32_t qpn = wire::load_be<std::uint32_t>(&made.head[4]) & wire::kQpnMask;
  wire::Frame frame{};
  frame.destination_mac = to.mac;
  frame.source_mac = from.mac;
  frame.ip.source = from.ip;
  frame.ip.destination = to.ip;
  frame.ip.source.port = source_ports_.at({made.destination, qpn});
  frame.ip.destination.port = wire::kRocePort;
  const std::size_t payload = made.head.size() + made.lanes.size() + made.tail.size() + wire::kIcrcBytes;
  std::vector<std::byte> bytes(wire::frame_header_bytes(frame) + payload);
  std::size_t at = wire::encode_frame(frame, payload, bytes);
  for (const auto piece : {made.head, made.lanes, made.tail}) {
    if (!piece.empty()) std::memcpy(&bytes[at], piece.data(), piece.size());
    at += piece.size();
  }
  const auto l3 = std::span<const std::byte>(bytes).subspan(wire::kEthernetBytes, at - wire::kEthernetBytes);
  wire::store_icrc(&bytes[at], wire::icrc_of_l3_packet(l3));
  out_.push_back({static_cast<unsigned>(made.destination), std::move(bytes)});
}

}  // namespace ina::test
