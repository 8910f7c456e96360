#include "ucx_tl/engine/engine.hpp"

#include <poll.h>

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "ucx_tl/engine/error.hpp"

namespace ina::engine {
namespace {

// Without a relay an interface has all QP numbers of a top byte: one process of those that share a port, and nobody else asks for more.
constexpr unsigned kTopByteBits = 16;

// Of one host: an eighth of all. A host that uses its connections may have many more; behind a relay all hosts look like one.
constexpr std::uint32_t kMostHalfOpen = (1u << kTopByteBits) / 8;

// Geometric: thousands of connections come one by one.
template <typename T>
void reserve_one_more(std::vector<T>& list) {
  if (list.capacity() == list.size()) list.reserve(2 * list.size() + 8);
}

const char* describe(wire::RelayRefusal reason) noexcept {
  switch (reason) {
    case wire::RelayRefusal::kNoBlock: return "it has no block of QP numbers left";
    case wire::RelayRefusal::kTaken: return "the block of QP numbers is another's";
    case wire::RelayRefusal::kUnknownVersion: return "it does not know our protocol version";
    case wire::RelayRefusal::kNone: break;
  }
  return "for no known reason";
}

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
      qps_(options.relay ? wire::kQpnBlockBits : kTopByteBits),
      connector_(options.connect_timeout, options.relay ? ~0u : kMostHalfOpen) {
  if (options.mtu < kMinMtu || options.mtu > kMaxMtu || options.mtu % 8 != 0) throw Error(Failure::kInvalid, "mtu " + std::to_string(options.mtu) + " is not a multiple of 8 from 256 to 8960");
  receive_resources_.acknowledge_delay = options.acknowledge_delay;
  delivering_.reserve(options.receive_buffers);
  const std::uint32_t qpn_base = draw_qpn_base();
  qps_.move_to(qpn_base, random());
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

// With a relay, which gives a block later, any; a port that is shared leaves no choice.
std::uint32_t Engine::draw_qpn_base() noexcept {
  if (options_.relay) return (static_cast<std::uint32_t>(random() % wire::kLastQpnBlock) + wire::kFirstQpnBlock) << wire::kQpnBlockBits;
  return std::uint32_t{options_.qpn_top_byte ? *options_.qpn_top_byte : static_cast<std::uint8_t>(random() % 255 + 1)} << kTopByteBits;
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
  qps_.move_to(std::uint32_t{relay_->client.block()} << wire::kQpnBlockBits, random());
}

void Engine::mute() noexcept {
  static NoIo nothing;
  io_ = nothing;
}

Qp* Engine::create_qp() {
  if (live_.size() == max_qps()) return nullptr;
  reserve_one_more(live_);
  for (auto* list : {&sending_, &responding_, &eventful_, &paced_}) list->reserve(live_.capacity());
  timers_.reserve(live_.capacity());
  const std::uint32_t number = qps_.reserve();
  const auto first_psn = static_cast<std::uint32_t>(random()) & wire::kPsnMask;
  Qp* const qp = qps_.add(std::make_unique<Qp>(number, first_psn, options_.requester, memory_, receive_resources_, counters_));
  qp->live_place = live_.size();
  live_.push_back(qp);
  return qp;
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
  live_.back()->live_place = qp->live_place;
  live_[qp->live_place] = live_.back();
  live_.pop_back();
  if (qp->is_listed_for_sending) std::erase(sending_, qp);
  if (qp->is_listed_for_response) std::erase(responding_, qp);
  if (qp->is_listed_for_events) std::erase(eventful_, qp);
  if (qp->is_listed_as_paced) std::erase(paced_, qp);
  timers_.remove(*qp);
  qps_.remove(*qp);
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
  Qp* const qp = qps_.find(qpn);
  return qp != nullptr && qp->is_connected() ? qp : nullptr;
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
