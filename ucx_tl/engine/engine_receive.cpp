// engine_receive.cpp: packets that come in: whose they are, whether they are genuine, and who is to look at them.
#include "ucx_tl/engine/engine.hpp"

namespace ina::engine {
namespace {

bool is_reliable_connection(wire::Opcode opcode) noexcept { return static_cast<std::uint8_t>(opcode) < 0x20; }

// Data that comes back, for a READ or an atomic.
bool is_answer(wire::Opcode opcode) noexcept {
  return (opcode >= wire::Opcode::kReadResponseFirst && opcode <= wire::Opcode::kReadResponseOnly) || opcode == wire::Opcode::kAtomicAcknowledge;
}

// Requests and what answers a READ: acknowledgements are small, and slowing their sender down would help nobody.
bool carries_data(wire::Opcode opcode) noexcept { return opcode != wire::Opcode::kAcknowledge && opcode != wire::Opcode::kAtomicAcknowledge; }

// After a report of a loss.
constexpr Nanoseconds kLossyTime = 200 * kMicrosecond;

}  // namespace

unsigned Engine::receive(Nanoseconds now) noexcept {
  const std::uint64_t in_flight_before = in_flight_;
  const std::uint64_t naks_before = counters_.naks_received.value();
  const auto packets = io_.get().receive();
  counters_.receive_calls.add();
  counters_.packets_received.add(packets.size());
  if (packets.empty()) {
    counters_.empty_receives.add();
  } else {
    memory_.lock_shared();
    for (const IncomingPacket& packet : packets) on_packet(packet, now);
    memory_.unlock_shared();
  }
  pace_.on_received(packets.size(), in_flight_before > in_flight_ ? in_flight_before - in_flight_ : 0, in_flight_, now);
  if (counters_.naks_received.value() != naks_before) lossy_until_ = now + kLossyTime;
  return static_cast<unsigned>(packets.size());
}

void Engine::on_packet(const IncomingPacket& incoming, Nanoseconds now) noexcept {
  auto packet = wire::decode_packet(incoming.bytes);
  if (!packet && packet.error() == wire::PacketError::kUnknownOpcode) {
    // Reserved, or newer than we are: its headers are unknown, but the peer wants to be told.
    const wire::Bth bth = wire::decode_bth(incoming.bytes.data());
    if (is_reliable_connection(bth.opcode)) packet = wire::Packet{.bth = bth};
  }
  if (!packet) return counters_.bad_packets.add();
  if (packet->bth.opcode == wire::Opcode::kUdSendOnly) {
    const bool is_of_relay = relay_ && packet->bth.dest_qpn == wire::kRelayQpn;
    return is_of_relay ? on_relay_packet(incoming, *packet, now) : on_connect_packet(incoming, *packet);
  }
  Qp* const qp = find(packet->bth.dest_qpn);
  if (qp == nullptr) return counters_.unknown_qpn.add();
  if (incoming.from != qp->peer->destination.address) return counters_.foreign_source.add();
  if (!is_genuine(qp->peer->incoming, incoming)) return counters_.bad_icrc.add();
  qp->last_heard = now;
  if (packet->bth.opcode == wire::Opcode::kCnp) {
    on_congestion_notification(*qp, *packet, now);
    return note(*qp);
  }
  if (incoming.has_congestion_mark && options_.ecn) on_congestion_mark(*qp, packet->bth.opcode, now);
  if (packet->bth.opcode == wire::Opcode::kAcknowledge) {
    const bool had_failed = qp->has_failed();
    qp->requester.on_acknowledge(packet->bth.psn, packet->aeth.syndrome, now);
    if (!had_failed && qp->has_failed()) on_qp_failed(*qp);
  } else if (is_answer(packet->bth.opcode)) {
    qp->requester.on_answer(*packet, now);
  } else if (is_reliable_connection(packet->bth.opcode)) {
    qp->responder.on_request(*packet, now);
  } else {
    return counters_.bad_packets.add();  // of another service than reliable connections
  }
  if (qp->has_work(now)) list_for_sending(*qp);
  note(*qp);
}

void Engine::on_congestion_mark(Qp& qp, wire::Opcode opcode, Nanoseconds now) noexcept {
  if (is_answer(opcode)) {  // how much of these is under way is up to us alone
    counters_.congestion_marks.add();
    qp.answer_congestion.on_mark(now);
    if (!qp.answer_congestion.is_due()) return;
    qp.answer_congestion.on_reported(now);
    qp.requester.on_congestion(now);
  } else if (carries_data(opcode)) {
    counters_.congestion_marks.add();
    qp.congestion_reporter.on_mark(now);
  }
}

void Engine::on_congestion_notification(Qp& qp, const wire::Packet& packet, Nanoseconds now) noexcept {
  // Who does not send packets that may be marked cannot be meant.
  if (!options_.ecn || !packet.bth.becn) return counters_.bad_packets.add();
  counters_.notifications_received.add();
  qp.requester.on_congestion(now);
}

void Engine::on_relay_packet(const IncomingPacket& incoming, const wire::Packet& packet, Nanoseconds now) noexcept {
  if (incoming.from != relay_->destination.address) return counters_.foreign_source.add();
  if (!is_genuine(relay_->incoming, incoming)) return counters_.bad_icrc.add();
  if (packet.bth.dest_qpn != wire::kRelayQpn || packet.deth.queue_key != wire::kRelayQueueKey) return counters_.unknown_qpn.add();
  const auto message = wire::decode_relay_message(packet.payload);
  if (!message || !relay_->client.on_message(*message, now)) return counters_.bad_packets.add();
  counters_.relay_messages.add();
  if (relay_->client.refusal() == wire::RelayRefusal::kNone) return;
  for (Qp* qp : live_) fail_qp(*qp, QpError::kRelayLost);
}

}  // namespace ina::engine
