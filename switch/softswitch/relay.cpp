#include "switch/softswitch/relay.hpp"

#include <algorithm>

#include "wire/icrc.hpp"
#include "wire/roce.hpp"

namespace ina::softswitch {

namespace {

constexpr std::size_t kMessageHeadBytes = wire::kBthBytes + wire::kDethBytes;

}  // namespace

Relay::Relay(aggregator::Aggregator& aggregator, Outbox& outbox, const Settings& settings, OnBind on_bind)
    : aggregator_(aggregator),
      outbox_(outbox),
      own_(settings.own),
      on_bind_(std::move(on_bind)),
      interfaces_(settings.own, settings.instance, settings.first_block) {}

void Relay::receive(const wire::UdpAddress& from, std::span<std::byte> bytes, Time now) noexcept {
  const auto packet = wire::decode_packet(bytes);
  if (!packet) {
    ++counters_.undecodable;
    return;
  }
  if (packet->bth.opcode == wire::Opcode::kUdSendOnly && packet->bth.dest_qpn == wire::kRelayQpn) {
    receive_message(from, *packet, bytes, now);
    return;
  }
  const auto source = interfaces_.endpoint_of(from);
  if (!source) {
    ++counters_.not_registered;
    return;
  }
  if (!interfaces_.find(*source)->inward.is_valid(bytes, std::nullopt, identifications_)) {
    ++counters_.bad_icrc;
    return;
  }
  const auto destination = interfaces_.endpoint_of_qpn(packet->bth.dest_qpn);
  if (!destination) {
    ++counters_.no_such_qpn;
    return;
  }
  const aggregator::Outcome outcome = aggregator_.receive({*packet, *source, *destination, true}, *this);
  if (outcome.action == aggregator::Action::kForward) forward(*destination, bytes);
  if (outcome.action == aggregator::Action::kAbsorb) ++counters_.absorbed;
  if (outcome.bound_group != 0) on_bind_(outcome.bound_group);
}

void Relay::receive_message(const wire::UdpAddress& from, const wire::Packet& packet, std::span<const std::byte> bytes,
                            Time now) noexcept {
  if (!wire::IcrcFlow(from, own_).is_valid(bytes, std::nullopt, identifications_)) {
    ++counters_.bad_icrc;
    return;
  }
  if (packet.deth.queue_key != wire::kRelayQueueKey || packet.deth.source_qpn != wire::kRelayQpn) {
    ++counters_.bad_message;
    return;
  }
  const auto message = wire::decode_relay_message(packet.payload);
  if (!message) {
    ++counters_.bad_message;
    if (message.error() == wire::HeaderError::kBadVersion) {
      answer(from, {.kind = wire::RelayKind::kRefused,
                    .reason = wire::RelayRefusal::kUnknownVersion,
                    .nonce = packet.payload.size() >= 16 ? wire::load_be<std::uint64_t>(&packet.payload[8]) : 0});
    }
    return;
  }
  const auto reply = interfaces_.take(from, *message, now);
  if (!reply) return;
  ++(reply->kind == wire::RelayKind::kRegistered ? counters_.registered : counters_.refused);
  answer(from, *reply);
}

void Relay::answer(const wire::UdpAddress& to, const wire::RelayMessage& message) noexcept {
  wire::Packet packet{};
  packet.bth = {.opcode = wire::Opcode::kUdSendOnly, .dest_qpn = wire::kRelayQpn};
  packet.deth = {.queue_key = wire::kRelayQueueKey, .source_qpn = wire::kRelayQpn};
  std::array<std::byte, kMessageHeadBytes + wire::kRelayMessageBytes> head;
  (void)wire::encode_headers(packet, head);
  std::ranges::copy(wire::encode_relay_message(message), head.begin() + kMessageHeadBytes);
  std::array<std::byte, wire::kIcrcBytes> tail;
  wire::store_icrc(tail.data(), wire::IcrcFlow(own_, to).compute(std::span<const std::byte>(head)));
  outbox_.send(to, {.head = head, .body = {}, .tail = tail});
}

void Relay::forward(aggregator::Endpoint to, std::span<std::byte> bytes) noexcept {
  const Interfaces::Interface* interface = interfaces_.find(to);
  interface->outward.seal(bytes);
  ++counters_.forwarded;
  outbox_.send(interface->address, {.head = {}, .body = bytes, .tail = {}});
}

void Relay::emit(const aggregator::MadePacket& made) noexcept {
  const Interfaces::Interface* interface = interfaces_.find(made.destination);
  if (interface == nullptr) {
    ++counters_.receiver_gone;
    return;
  }
  const std::array<std::span<const std::byte>, 3> pieces{made.head, made.lanes, made.tail};
  std::array<std::byte, 8> tail;
  std::ranges::copy(made.tail, tail.begin());
  wire::store_icrc(&tail[made.tail.size()], interface->outward.compute(pieces));
  ++counters_.made;
  outbox_.send(interface->address,
               {.head = made.head, .body = made.lanes, .tail = std::span(tail).first(made.tail.size() + wire::kIcrcBytes)});
}

}  // namespace ina::softswitch
