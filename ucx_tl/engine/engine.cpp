#include "ucx_tl/engine/engine.hpp"

#include <poll.h>

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "ucx_tl/engine/error.hpp"

namespace ina::engine {
namespace {

// Packets that one QP may put into a batch before the next QP has its turn.
constexpr unsigned kTurn = 16;
// A tick that finds more than this leaves the rest to the next one.
constexpr unsigned kTickBatches = 16;
// The same for a call of progress().
constexpr unsigned kProgressBatches = 16;
// Batches of one call: a peer may ask for more than is good to send at once, and the caller has something else to do as well.
constexpr unsigned kTransmitBatches = 64;
// A connection without anything outstanding gives its queue's memory back after this time or up to twice of it.
constexpr Nanoseconds kIdle = 100 * kMillisecond;
// After so many time-outs in a row the relay is asked whether it still knows us.
constexpr std::uint32_t kRelayInDoubt = 3;
// After so many the peer's interface is asked whether it still knows the connection.
constexpr std::uint32_t kPeerInDoubt = 2;
// Passive QPs go at last after so many, also where endpoints are never given up: nobody would notice that they are left over.
constexpr std::uint32_t kPassiveRetries = 64;
constexpr std::uint32_t kBlockQpns = 1u << wire::kQpnBlockBits;

const char* describe(wire::RelayRefusal reason) noexcept {
  switch (reason) {
    case wire::RelayRefusal::kNoBlock: return "it has no block of QP numbers left";
    case wire::RelayRefusal::kTaken: return "the block of QP numbers is another's";
    case wire::RelayRefusal::kUnknownVersion: return "it does not know our protocol version";
    case wire::RelayRefusal::kNone: break;
  }
  return "for no known reason";
}

bool is_reliable_connection(wire::Opcode opcode) noexcept { return static_cast<std::uint8_t>(opcode) < 0x20; }

// Data that comes back, for a READ or an atomic.
bool is_answer(wire::Opcode opcode) noexcept {
  return (opcode >= wire::Opcode::kReadResponseFirst && opcode <= wire::Opcode::kReadResponseOnly) || opcode == wire::Opcode::kAtomicAcknowledge;
}

// Requests and what answers a READ: acknowledgements are small, and slowing their sender down would help nobody.
bool carries_data(wire::Opcode opcode) noexcept { return opcode != wire::Opcode::kAcknowledge && opcode != wire::Opcode::kAtomicAcknowledge; }

// A wire that is cut at both ends.
class NoIo final : public PacketIo {
 public:
  [[nodiscard]] SendResult send(std::span<const OutgoingPacket> packets) noexcept override { return {.taken = packets.size(), .refused = packets.size(), .system_calls = 0}; }
  [[nodiscard]] std::span<const IncomingPacket> receive() noexcept override { return {}; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
};

}  // namespace

Engine::Engine(const EngineOptions& options, PacketIo& io, Clock& clock, MemoryTable& memory)
    : options_(options),
      io_(io),
      clock_(clock),
      memory_(memory),
      random_state_(options.seed),
      send_buffers_(options.send_buffers, options.segment_bytes),
      receive_resources_(options.receive_buffers, options.segment_bytes),
      qps_(kBlockQpns),
      connector_(options.connect_timeout) {
  if (options.mtu < kMinMtu || options.mtu > kMaxMtu || options.mtu % 8 != 0) throw Error(Failure::kInvalid, "mtu " + std::to_string(options.mtu) + " is not a multiple of 8 from 256 to 8960");
  delivering_.reserve(options.receive_buffers);
  qpn_base_ = draw_qpn_block() << wire::kQpnBlockBits;
  next_index_ = static_cast<std::uint32_t>(random() % kBlockQpns);
  if (options.relay) relay_.emplace(options.local, *options.relay, random());
  instance_ = (random() & ServiceAddress::kInstanceMask) | 1;
  nonce_key_ = random();
}

Engine::~Engine() {
  connector_.say_goodbye();
  send_connect_messages();
  if (!relay_ || !relay_->client.is_registered()) return;
  batch_.add_relay_message(relay_->destination, relay_->outgoing, relay_->client.unregister());
  batch_.send(io_, counters_);
}

// Without a relay nobody else chooses; with a shared port the block lies in the part of the numbers that is ours.
std::uint32_t Engine::draw_qpn_block() noexcept {
  constexpr unsigned kBlockBitsBelowTopByte = 16 - wire::kQpnBlockBits;
  if (!options_.qpn_top_byte) return static_cast<std::uint32_t>(random() % wire::kLastQpnBlock) + wire::kFirstQpnBlock;
  const std::uint32_t first = std::uint32_t{*options_.qpn_top_byte} << kBlockBitsBelowTopByte;
  const std::uint32_t block = first + static_cast<std::uint32_t>(random()) % (1u << kBlockBitsBelowTopByte);
  return std::max<std::uint32_t>(block, wire::kFirstQpnBlock);
}

std::uint64_t Engine::random() noexcept {  // splitmix64
  std::uint64_t z = (random_state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void Engine::open_relay(Nanoseconds give_up_after) {
  assert(relay_);
  const std::string where = options_.relay->text();
  const Nanoseconds end = clock_.now() + give_up_after;
  for (Nanoseconds now = clock_.now(); !relay_->client.is_registered(); now = clock_.now()) {
    if (relay_->client.refusal() != wire::RelayRefusal::kNone) throw Error(Failure::kRefused, "relay " + where + " refuses: " + describe(relay_->client.refusal()));
    if (now >= end) throw Error(Failure::kUnreachable, "relay " + where + " does not answer");
    send_relay_message(now);
    const Nanoseconds wake = std::min(relay_->client.deadline(), end);
    pollfd ready{.fd = io_.get().descriptor(), .events = POLLIN, .revents = 0};
    if (wake > now) (void)poll(&ready, 1, static_cast<int>((wake - now) / kMillisecond + 1));
    pace_.poll_now();
    receive(clock_.now());
  }
  qpn_base_ = std::uint32_t{relay_->client.block()} << wire::kQpnBlockBits;
}

void Engine::mute() noexcept {
  static NoIo nothing;
  io_ = nothing;
}

Qp* Engine::create_qp() {
  if (live_.size() == kMaxQps) return nullptr;
  for (auto* list : {&live_, &sending_, &responding_, &eventful_, &paced_}) list->reserve(live_.size() + 1);
  timers_.reserve(live_.size() + 1);
  while (next_index_ == 0 || qps_[next_index_] != nullptr) next_index_ = (next_index_ + 1) % kBlockQpns;
  const auto first_psn = static_cast<std::uint32_t>(random()) & wire::kPsnMask;
  auto& place = qps_[next_index_];
  place = std::make_unique<Qp>(qpn_base_ | next_index_, first_psn, options_.requester, memory_, receive_resources_, counters_);
  next_index_ = (next_index_ + 1) % kBlockQpns;
  live_.push_back(place.get());
  return place.get();
}

QpAddress Engine::address(const Qp& qp) const noexcept { return {.qpn = qp.number(), .first_psn = qp.first_psn(), .mtu = options_.mtu}; }

bool Engine::connect(Qp& qp, const wire::UdpAddress& peer, const QpAddress& address) noexcept {
  const bool makes_sense = address.qpn > 2 && address.qpn <= wire::kQpnMask && address.first_psn <= wire::kPsnMask && address.mtu >= kMinMtu &&
                           address.mtu <= kMaxMtu && address.mtu % 8 == 0 && peer.is_ipv6 == options_.local.is_ipv6;
  if (!makes_sense || qp.is_connected()) return false;
  const std::uint32_t mtu = std::min(options_.mtu, address.mtu);
  qp.peer.emplace(options_.local, options_.relay.value_or(peer), address.qpn);
  qp.requester.set_mtu(mtu);
  qp.responder.start(address.first_psn, mtu);
  qp.last_heard = clock_.now();
  if (qp.link == nullptr) watch(qp, options_.keepalive_endpoints);
  return true;
}

void Engine::cancel_qp(Qp& qp, EventSink& sink) noexcept {
  qp.requester.fail(QpError::kCancelled);
  const QpError error = qp.error();
  while (const auto completed = qp.requester.take_completed()) {
    if (completed->token != nullptr) sink.on_completed(completed->token, completed->ok ? QpError::kNone : error);
    send_buffers_.give_back(completed->buffer);
  }
}

void Engine::destroy_qp(Qp* qp) noexcept {
  if (qp->is_connected()) {
    while (!batch_.is_full() && add_response(*qp)) {}
    (void)send_batch();
  }
  connector_.release(*qp, clock_.now());
  send_connect_messages();
  qp->requester.fail(QpError::kCancelled);
  while (const auto completed = qp->requester.take_completed()) send_buffers_.give_back(completed->buffer);
  in_flight_ -= qp->counted_in_flight;
  for (auto* list : {&live_, &sending_, &responding_, &eventful_, &paced_}) std::erase(*list, qp);
  timers_.remove(*qp);
  qps_[qp->number() % kBlockQpns].reset();
}

bool Engine::can_post(const Qp& qp, std::uint32_t length) const noexcept { return qp.is_connected() && !qp.has_failed() && qp.requester.has_room(length); }

PostStatus Engine::post(Qp& qp, const Message& message) noexcept {
  if (qp.has_failed() || !qp.is_connected()) return PostStatus::kFailed;
  if (!qp.requester.has_room(message.length) || !qp.requester.post(message)) return PostStatus::kNoResource;
  list_for_sending(qp);
  posted_packets_ += is_answered_with_data(message.kind) ? 1 : 1 + message.length / options_.mtu;
  if (posted_packets_ >= kBatchPackets) transmit(clock_.now());
  return PostStatus::kPosted;
}

void Engine::fail_qp(Qp& qp, QpError error) noexcept {
  if (qp.has_failed()) return;
  qp.requester.fail(error);
  on_qp_failed(qp);
  note(qp);
}

void Engine::on_qp_failed(Qp& qp) noexcept {
  counters_.failed_qps.add();
  connector_.on_failed(qp);
}

Qp* Engine::find(std::uint32_t qpn) const noexcept {
  Qp* const qp = qps_[qpn % kBlockQpns].get();
  return qp != nullptr && qp->number() == qpn && qp->is_connected() ? qp : nullptr;
}

void Engine::list_for_sending(Qp& qp) noexcept {
  if (!std::exchange(qp.is_listed_for_sending, true)) sending_.push_back(&qp);
}

void Engine::note(Qp& qp) noexcept {
  in_flight_ += qp.requester.in_flight();
  in_flight_ -= qp.counted_in_flight;
  qp.counted_in_flight = qp.requester.in_flight();
  timers_.wake_before(qp, qp.requester.deadline());
  if (qp.responder.has_response()) {
    next_response_ = std::min(next_response_, qp.responder.response_deadline());
    if (!std::exchange(qp.is_listed_for_response, true)) responding_.push_back(&qp);
  }
  if (qp.has_event() && !std::exchange(qp.is_listed_for_events, true)) eventful_.push_back(&qp);
  if (const Nanoseconds until = qp.requester.paced_until(); until != kNever) {
    next_paced_ = std::min(next_paced_, until);
    if (!std::exchange(qp.is_listed_as_paced, true)) paced_.push_back(&qp);
  }
}

unsigned Engine::progress() noexcept {
  ++progress_calls_;
  const Nanoseconds now = clock_.now();
  check_timers(now);
  serve_connections(now, true);
  transmit(now);
  if (!io_.get().is_receive_cheap() && !pace_.is_due(now)) return 0;
  unsigned received = receive(now);
  unsigned taken = received;
  // A caller that comes seldom finds more than a batch. Messages of its own have a limited number of buffers and go first.
  for (unsigned batches = 1; batches < kProgressBatches && received == kBatchPackets && receive_resources_.messages.empty(); ++batches) {
    transmit(now);
    taken += received = receive(clock_.now());
  }
  serve_connections(now, true);
  transmit(now);
  return taken;
}

bool Engine::tick(bool may_allocate) noexcept {
  const Nanoseconds now = clock_.now();
  // Registration holds the table alone, perhaps in the very thread that a signal interrupted: leave it to the next time.
  if (!memory_.try_lock_shared()) return has_events();
  memory_.unlock_shared();
  may_free_ = false;  // a signal may have interrupted malloc
  pace_.poll_now();
  unsigned received = receive(now);
  unsigned taken = received;
  for (unsigned batches = 1; batches < kTickBatches && received == kBatchPackets; ++batches) {
    flush_responses(now);
    taken += received = receive(now);
  }
  flush_responses(now);
  check_timers(now);
  serve_connections(now, may_allocate);
  transmit(now);
  may_free_ = true;
  return taken != 0 || has_events();
}

bool Engine::prepare_to_wait() noexcept {
  const Nanoseconds now = clock_.now();
  // What is in the socket already may not make its descriptor readable once more, for users that wait for a change.
  const bool has_received = receive(now) != 0;
  flush_responses(now);
  check_timers(now);
  serve_connections(now, true);
  transmit(now);
  pace_.poll_now();
  // Who is paced sends again within a round trip, which no descriptor tells.
  wake_paced(now);
  return !has_received && sending_.empty() && !has_events() && next_paced_ == kNever;
}

void Engine::check_timers(Nanoseconds now) noexcept {
  if (relay_ && now >= relay_->client.deadline()) send_relay_message(now);
  if (now >= next_response_) wake_responders(now);
  if (now >= next_paced_) wake_paced(now);
  if (first_overdue(now) == nullptr) return;
  // A process that did not run for a while finds the acknowledgements that its timers miss in its socket.
  for (unsigned batches = 0; batches < kTickBatches && receive(now) == kBatchPackets; ++batches) {}
  while (Qp* const qp = first_overdue(now)) on_timer(*qp, now);
}

// The QP whose deadline has passed for longest, or nullptr. Deadlines that have moved meanwhile are put right.
Qp* Engine::first_overdue(Nanoseconds now) noexcept {
  while (timers_.earliest() <= now) {
    Qp* const qp = timers_.first();
    if (qp->requester.deadline() <= now) return qp;
    timers_.set(*qp, std::min(qp->requester.deadline(), next_look_at_idle(*qp, now)));
  }
  return nullptr;
}

// An idle connection's queue goes once nothing was posted between two looks at it; kNever: there is nothing to go.
Nanoseconds Engine::next_look_at_idle(Qp& qp, Nanoseconds now) noexcept {
  if (qp.requester.queue_bytes() == 0) return kNever;
  const bool was_used = std::exchange(qp.posted_at_last_look, qp.requester.posted()) != qp.requester.posted();
  if (was_used || !qp.requester.is_idle() || !may_free_) return now + kIdle;
  qp.requester.release_queue();
  return kNever;
}

void Engine::on_timer(Qp& qp, Nanoseconds now) noexcept {
  const bool had_failed = qp.has_failed();
  qp.requester.on_timer(now);
  if (!had_failed && qp.has_failed()) on_qp_failed(qp);
  if (relay_ && qp.requester.silent_timeouts() >= kRelayInDoubt) relay_->client.refresh_soon(now);
  if (qp.link != nullptr && qp.requester.silent_timeouts() >= kPeerInDoubt) connector_.doubt(qp);
  if (qp.link != nullptr && !qp.link->is_active && qp.requester.silent_timeouts() >= kPassiveRetries) fail_qp(qp, QpError::kRetriesExhausted);
  timers_.set(qp, std::min(qp.requester.deadline(), now + kIdle));
  if (qp.has_work(now)) list_for_sending(qp);
  note(qp);
}

void Engine::wake_responders(Nanoseconds now) noexcept {
  next_response_ = kNever;
  for (std::size_t i = 0; i < responding_.size();) {
    Qp* const qp = responding_[i];
    if (!qp->responder.has_response()) {
      qp->is_listed_for_response = false;
      responding_[i] = responding_.back();
      responding_.pop_back();
      continue;
    }
    ++i;
    const Nanoseconds due = qp->responder.response_deadline();
    if (due <= now) {
      list_for_sending(*qp);
    } else {
      next_response_ = std::min(next_response_, due);
    }
  }
}

void Engine::wake_paced(Nanoseconds now) noexcept {
  next_paced_ = kNever;
  for (std::size_t i = 0; i < paced_.size();) {
    Qp* const qp = paced_[i];
    const Nanoseconds until = qp->requester.paced_until();
    if (until != kNever && until > now) {
      next_paced_ = std::min(next_paced_, until);
      ++i;
      continue;
    }
    if (qp->has_work(now)) list_for_sending(*qp);
    qp->is_listed_as_paced = false;
    paced_[i] = paced_.back();
    paced_.pop_back();
  }
}

void Engine::list_again_what_was_given_back(Nanoseconds now) noexcept {
  for (Qp* qp : batch_.given_back()) {
    if (qp->has_work(now)) list_for_sending(*qp);
    note(*qp);
  }
}

void Engine::send_relay_message(Nanoseconds now) noexcept {
  const auto message = relay_->client.take_due(now);
  if (!message) return;
  batch_.add_relay_message(relay_->destination, relay_->outgoing, *message);
  (void)send_batch();
}

void Engine::transmit(Nanoseconds now) noexcept {
  if (posted_packets_ != 0) pace_.on_sent(in_flight_, now);
  posted_packets_ = 0;
  for (unsigned batches = 0; !sending_.empty() && batches < kTransmitBatches;) {
    std::size_t kept = 0;
    const std::size_t listed = sending_.size();
    for (std::size_t i = 0; i < listed; ++i) {
      Qp* const qp = sending_[i];
      if (fill_from(*qp, now)) {
        sending_[kept++] = qp;
      } else {
        qp->is_listed_for_sending = false;
      }
    }
    sending_.resize(kept);
    if (kept > 1) std::rotate(sending_.begin(), sending_.begin() + 1, sending_.end());
    if (batch_.is_full() || (kept == 0 && !batch_.is_empty())) {
      ++batches;
      if (send_batch()) continue;
      list_again_what_was_given_back(now);
      return;
    }
  }
}

// Adds what the QP may send now, at most a turn. True: it has more.
bool Engine::fill_from(Qp& qp, Nanoseconds now) noexcept {
  for (unsigned i = 0; i < kTurn && !batch_.is_full() && qp.responder.response_deadline() <= now && add_response(qp); ++i) {}
  if (!batch_.is_full() && qp.congestion_reporter.is_due()) {
    qp.congestion_reporter.on_reported(now);
    batch_.add_congestion_notification(qp);
    counters_.notifications_sent.add();
  }
  for (unsigned i = 0; i < kTurn && !batch_.is_full() && qp.requester.can_send(now); ++i) batch_.add_request(qp, qp.requester.take_packet(now));
  note(qp);
  return qp.has_work(now);
}

// False: there is none.
bool Engine::add_response(Qp& qp) noexcept {
  if (qp.responder.is_answering() && !std::exchange(holds_memory_, true)) memory_.lock_shared();
  const auto response = qp.responder.take_response();
  if (response) batch_.add_response(qp, *response);
  return response.has_value();
}

bool Engine::send_batch() noexcept {
  const bool all_taken = batch_.is_empty() || batch_.send(io_, counters_);
  if (std::exchange(holds_memory_, false)) memory_.unlock_shared();
  return all_taken;
}

// Acknowledgements, also those that may wait. Who has answers to send first is listed for sending.
void Engine::flush_responses(Nanoseconds now) noexcept {
  for (Qp* qp : responding_) {
    qp->responder.acknowledge_without_delay();
    if (qp->responder.is_answering() || !add_response(*qp)) continue;
    if (!batch_.is_full() || send_batch()) continue;
    return list_again_what_was_given_back(now);
  }
  if (!send_batch()) list_again_what_was_given_back(now);
}

unsigned Engine::receive(Nanoseconds now) noexcept {
  const std::uint64_t in_flight_before = in_flight_;
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
  if (!qp->peer->incoming.is_valid(incoming.bytes)) return counters_.bad_icrc.add();
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
  if (!relay_->incoming.is_valid(incoming.bytes)) return counters_.bad_icrc.add();
  if (packet.bth.dest_qpn != wire::kRelayQpn || packet.deth.queue_key != wire::kRelayQueueKey) return counters_.unknown_qpn.add();
  const auto message = wire::decode_relay_message(packet.payload);
  if (!message || !relay_->client.on_message(*message, now)) return counters_.bad_packets.add();
  counters_.relay_messages.add();
  if (relay_->client.refusal() == wire::RelayRefusal::kNone) return;
  for (Qp* qp : live_) fail_qp(*qp, QpError::kRelayLost);
}

bool Engine::has_events() const noexcept { return !receive_resources_.messages.empty() || !eventful_.empty(); }

unsigned Engine::report(EventSink& sink) noexcept {
  unsigned events = 0;
  // Callbacks may post, and create and destroy QPs: nothing is kept across them but indexes that are checked again.
  for (std::size_t i = 0; i < eventful_.size();) {
    Qp* const qp = eventful_[i];
    const QpError error = qp->error();
    if (const auto completed = qp->requester.take_completed()) {
      if (completed->token != nullptr) sink.on_completed(completed->token, completed->ok ? QpError::kNone : error);
      send_buffers_.give_back(completed->buffer);  // a READ into it is looked at by the callback
      ++events;
    } else if (qp->has_event()) {
      qp->is_failure_reported = true;
      ++events;
      sink.on_failed(*qp, qp->error());
    } else {
      qp->is_listed_for_events = false;
      eventful_[i] = eventful_.back();
      eventful_.pop_back();
    }
  }
  if (receive_resources_.messages.empty() || !delivering_.empty()) return events;  // not empty: called from on_received()
  delivering_.swap(receive_resources_.messages);
  for (const ReceivedMessage& message : delivering_) {
    sink.on_received({message.buffer, message.length});
    receive_resources_.pool.give_back(message.buffer);
    ++events;
  }
  delivering_.clear();
  return events;
}

}  // namespace ina::engine
