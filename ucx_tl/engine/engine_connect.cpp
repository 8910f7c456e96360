// engine_connect.cpp: the part of Engine that makes, closes and watches connections in band. Decisions are Connector's.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "ucx_tl/engine/engine.hpp"

namespace ina::engine {
namespace {

// Passive QPs are probed later than the peer's active ones, which therefore do it alone while their process lives.
constexpr Nanoseconds kPassiveFactor = 3;

constexpr std::size_t kHeaderBytes = wire::kBthBytes + wire::kDethBytes;
constexpr std::size_t kPacketBytes = kHeaderBytes + wire::kConnectMessageBytes + wire::kIcrcBytes;

std::array<std::byte, kPacketBytes> build(const Connector::Outgoing& outgoing, std::uint32_t own_service, const wire::IcrcFlow& flow) noexcept {
  std::array<std::byte, kPacketBytes> bytes;
  wire::Packet packet{};
  packet.bth = {.opcode = wire::Opcode::kUdSendOnly, .dest_qpn = outgoing.to_qpn};
  packet.deth = {.queue_key = wire::kConnectQueueKey, .source_qpn = own_service};
  (void)wire::encode_headers(packet, bytes);
  std::ranges::copy(wire::encode_connect_message(outgoing.message), bytes.begin() + kHeaderBytes);
  flow.seal(bytes);
  return bytes;
}

}  // namespace

bool Engine::connect_to_service(Qp& qp, const wire::UdpAddress& peer, const ServiceAddress& service) {
  const bool makes_sense = service.qpn > 2 && service.qpn <= wire::kQpnMask && service.instance != 0 && service.instance <= ServiceAddress::kInstanceMask &&
                           peer.is_ipv6 == options_.local.is_ipv6;
  if (!makes_sense || qp.is_connected() || qp.link != nullptr) return false;
  const Nanoseconds now = clock_.now();
  // One step of a generator with a key that is never sent: who has seen a nonce cannot tell the next.
  std::uint64_t nonce = random() ^ nonce_key_;
  nonce = (nonce ^ (nonce >> 29)) * 0xbf58476d1ce4e5b9u;
  nonce ^= nonce >> 32;
  connector_.begin(qp, address(qp), options_.relay.value_or(peer), service, nonce, now);
  serve_connections(now, true);
  return true;
}

PostStatus Engine::probe(Qp& qp, void* token) noexcept {
  Message message;
  message.token = token;
  const PostStatus status = post(qp, message);
  if (status == PostStatus::kPosted) counters_.probes_sent.add();
  return status;
}

void Engine::on_connect_packet(const IncomingPacket& incoming, const wire::Packet& packet) noexcept {
  if (relay_ && incoming.from != relay_->destination.address) return counters_.foreign_source.add();
  const bool is_valid = is_genuine(relay_ ? relay_->incoming : wire::IcrcFlow(incoming.from, options_.local), incoming);
  if (!is_valid) return counters_.bad_icrc.add();
  if (packet.deth.queue_key != wire::kConnectQueueKey) return counters_.bad_packets.add();  // of another service
  const auto message = wire::decode_connect_message(packet.payload);
  if (!message) {
    counters_.bad_packets.add();
    const bool is_connect = message.error() == wire::HeaderError::kBadVersion && packet.payload.size() >= 16 &&
                            wire::load_be<std::uint8_t>(&packet.payload[3]) == static_cast<std::uint8_t>(wire::ConnectKind::kConnect);
    if (is_connect) connector_.on_other_version(incoming.from, packet.deth.source_qpn, wire::load_be<std::uint64_t>(&packet.payload[8]));
    return;
  }
  counters_.connect_messages.add();
  // A message to a number of an interface that was here before is answered as well: the peer learns that it is gone.
  const std::uint64_t instance = packet.bth.dest_qpn == qps_.service_qpn() ? instance_ : 0;
  apply(connector_.on_message(incoming.from, packet.deth.source_qpn, *message, instance));
}

void Engine::apply(const Connector::Event& event) noexcept {
  using Kind = Connector::Event::Kind;
  switch (event.kind) {
    case Kind::kNone: return;
    case Kind::kConnected:
      if (!connect(*event.qp, event.peer, event.address)) {
        event.qp->refusal = wire::ConnectRefusal::kBadAddress;
        return fail_qp(*event.qp, QpError::kRefused);
      }
      return watch(*event.qp, options_.keepalive);
    case Kind::kRefused:
      event.qp->refusal = event.reason;
      return fail_qp(*event.qp, QpError::kRefused);
    case Kind::kReset: return fail_qp(*event.qp, QpError::kReset);
    case Kind::kTimedOut: return fail_qp(*event.qp, QpError::kNoAnswer);
  }
}

// QPs come and go here only: at the top of a call, where nobody walks through them.
void Engine::serve(Nanoseconds now, bool may_allocate) noexcept {
  do {
    for (auto event = connector_.take_due(now); event.kind != Connector::Event::Kind::kNone; event = connector_.take_due(now)) apply(event);
    send_connect_messages();
  } while (connector_.deadline() <= now);
  if (may_allocate && connector_.has_work()) {
    while (Qp* const dead = connector_.take_dead()) destroy_qp(dead);
    connector_.collect();
    while (const auto request = connector_.take_request()) answer(*request, now);
  }
  if (may_allocate && now >= next_probe_) probe_idle(now);  // the message may be the first for a while, and need memory
  if (!connector_.outgoing().empty()) send_connect_messages();
}

void Engine::answer(const Connector::Request& request, Nanoseconds now) noexcept {
  Qp* qp = nullptr;
  try {
    if (!connector_.has_room_for(request, now)) return counters_.half_open_drops.add();
    qp = create_qp();
    if (qp == nullptr) return connector_.refuse(request, wire::ConnectRefusal::kNoQp);
    qp->is_failure_reported = true;  // nobody would know what to do with it
    if (connect(*qp, request.from, request.address)) {
      connector_.accept(request, *qp, address(*qp));
      return watch(*qp, options_.keepalive * kPassiveFactor);
    }
    connector_.refuse(request, wire::ConnectRefusal::kBadAddress);
  } catch (const std::bad_alloc&) {
    connector_.refuse(request, wire::ConnectRefusal::kNoQp);
  }
  if (qp != nullptr) destroy_qp(qp);
}

void Engine::watch(Qp& qp, Nanoseconds keepalive) noexcept {
  qp.keepalive = keepalive;
  if (keepalive != 0) next_probe_ = std::min(next_probe_, qp.last_heard + keepalive);
}

void Engine::send_connect_messages() noexcept {
  for (const Connector::Outgoing& outgoing : connector_.outgoing()) {
    const Destination destination(outgoing.to);
    const auto bytes = build(outgoing, qps_.service_qpn(), wire::IcrcFlow(options_.local, outgoing.to));
    const iovec piece{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
    const OutgoingPacket packet{.to = &destination, .pieces = &piece, .piece_count = 1};
    // One that is not taken is lost, as on a wire: whoever wants to know asks again.
    const SendResult result = io_.get().send({&packet, 1});
    counters_.send_calls.add(result.system_calls);
    counters_.packets_sent.add(result.taken - result.refused);
  }
  connector_.clear_outgoing();
}

// Looked at in steps that are coarse against the keepalive time, so that thousands of idle connections cost little.
void Engine::probe_idle(Nanoseconds now) noexcept {
  Nanoseconds next = kNever;
  Nanoseconds step = kNever;
  for (Qp* const qp : live_) {
    if (qp->keepalive == 0 || !qp->is_connected() || qp->has_failed()) continue;
    const Nanoseconds due = qp->last_heard + qp->keepalive;
    step = std::min(step, qp->keepalive / 8);
    if (due > now) {
      next = std::min(next, due);
    } else if (qp->requester.is_idle()) {
      (void)probe(*qp, nullptr);
    }
  }
  next_probe_ = step == kNever ? kNever : std::max(std::min(next, now + 8 * step), now + step);
}

}  // namespace ina::engine
