#include "ucx_tl/engine/connector.hpp"

#include <algorithm>
#include <new>

namespace ina::engine {
namespace {

using wire::ConnectKind;
using wire::ConnectMessage;
using wire::ConnectRefusal;

constexpr Nanoseconds kFirstRepeat = 5 * kMillisecond;
constexpr Nanoseconds kLongestRepeat = 200 * kMillisecond;
// A peer that has not heard that we are gone finds out by asking: there is no need to insist.
constexpr Nanoseconds kFarewell = kSecond;

template <typename T>
void reserve_one_more(std::vector<T>& vector, std::size_t count) {
  if (vector.capacity() < count + 1) vector.reserve(2 * count + 8);
}

}  // namespace

Connector::Connector(Nanoseconds give_up_after, std::uint32_t most_half_open) : give_up_after_(give_up_after), half_open_(most_half_open) {
  requests_.reserve(kMostRequests);
  outgoing_.reserve(kMostMessages);
}

Link* Connector::find(Links& links, std::uint64_t nonce, const wire::UdpAddress& peer) noexcept {
  const auto found = links.find(nonce);
  return found != links.end() && found->second.peer == peer ? &found->second : nullptr;
}

void Connector::send(const wire::UdpAddress& to, std::uint32_t to_qpn, const ConnectMessage& message) noexcept {
  if (outgoing_.size() < outgoing_.capacity()) outgoing_.push_back({.to = to, .to_qpn = to_qpn, .message = message});
}

void Connector::send_to_peer(const Link& link, ConnectKind kind) noexcept {
  ConnectMessage message{.kind = kind, .nonce = link.nonce, .qpn = link.own.qpn};
  if (kind == ConnectKind::kConnect || kind == ConnectKind::kAccept) {
    message.mtu = static_cast<std::uint16_t>(link.own.mtu);
    message.first_psn = link.own.first_psn;
  }
  if (kind == ConnectKind::kConnect) {
    message.instance = link.instance;
  } else {
    message.peer_qpn = link.peer_qpn;
  }
  send(link.peer, link.peer_service, message);
}

void Connector::begin(Qp& qp, const QpAddress& own, const wire::UdpAddress& peer, const ServiceAddress& service, std::uint64_t nonce, Nanoseconds now) {
  reserve_one_more(waiting_, active_.size());
  reserve_one_more(forgotten_, active_.size() + passive_.size());
  Link& link = active_[nonce];
  link = {.nonce = nonce, .is_active = true, .phase = Link::Phase::kConnecting, .peer = peer, .peer_service = service.qpn, .instance = service.instance,
          .own = own, .peer_qpn = 0, .qp = &qp, .next = now, .interval = kFirstRepeat, .give_up = now + give_up_after_};
  qp.link = &link;
  wait(link);
}

void Connector::wait(Link& link) noexcept {
  if (std::find(waiting_.begin(), waiting_.end(), &link) == waiting_.end()) waiting_.push_back(&link);
  deadline_ = std::min(deadline_, link.next);
}

void Connector::forget(Link* link) noexcept {
  std::erase(waiting_, link);
  if (link->qp != nullptr) link->qp->link = nullptr;
  link->qp = nullptr;
  link->phase = Link::Phase::kDead;
  forgotten_.push_back(link);
}

void Connector::collect() noexcept {
  for (const Link* const link : forgotten_) (link->is_active ? active_ : passive_).erase(link->nonce);
  forgotten_.clear();
}

// The peer has, or wants, nothing of this connection any more.
void Connector::bury(Link& link) noexcept {
  if (link.phase == Link::Phase::kDead) return;
  link.phase = Link::Phase::kDead;
  std::erase(waiting_, &link);
  if (!link.is_active) dead_.push_back(link.qp);
}

Connector::Event Connector::on_message(const wire::UdpAddress& from, std::uint32_t source_qpn, const ConnectMessage& message, std::uint64_t own_instance) noexcept {
  switch (message.kind) {
    case ConnectKind::kConnect: on_connect(from, source_qpn, message, own_instance); return {};
    case ConnectKind::kAccept: return on_accept(from, source_qpn, message);
    case ConnectKind::kReject: return on_reject(from, message);
    case ConnectKind::kClose: on_close(from, source_qpn, message); return {};
    case ConnectKind::kClosed: {
      Link* const link = find(active_, message.nonce, from);
      if (link != nullptr && link->phase == Link::Phase::kClosing) forget(link);
      return {};
    }
    case ConnectKind::kInquire: on_inquire(from, source_qpn, message); return {};
    case ConnectKind::kReset: return on_reset(from, message);
  }
  return {};
}

void Connector::on_other_version(const wire::UdpAddress& from, std::uint32_t source_qpn, std::uint64_t nonce) noexcept {
  send(from, source_qpn, {.kind = ConnectKind::kReject, .reason = ConnectRefusal::kUnknownVersion, .nonce = nonce});
}

void Connector::on_connect(const wire::UdpAddress& from, std::uint32_t source_qpn, const ConnectMessage& message, std::uint64_t own_instance) noexcept {
  if (message.instance != own_instance) {
    return send(from, source_qpn, {.kind = ConnectKind::kReject, .reason = ConnectRefusal::kNotHere, .nonce = message.nonce, .peer_qpn = message.qpn});
  }
  if (const auto known = passive_.find(message.nonce); known != passive_.end()) {
    Link& link = known->second;
    if (link.peer == from && link.peer_qpn == message.qpn && link.phase == Link::Phase::kConnected) send_to_peer(link, ConnectKind::kAccept);
    return;
  }
  const bool is_waiting = std::any_of(requests_.begin(), requests_.end(), [&](const Request& request) { return request.nonce == message.nonce; });
  if (is_waiting || requests_.size() == kMostRequests) return;
  requests_.push_back({.from = from, .service = source_qpn, .nonce = message.nonce,
                       .address = {.qpn = message.qpn, .first_psn = message.first_psn, .mtu = message.mtu}});
}

// Of a connection that is not, or not any more: the peer made its QP for nothing.
Connector::Event Connector::on_accept(const wire::UdpAddress& from, std::uint32_t source_qpn, const ConnectMessage& message) noexcept {
  Link* const link = find(active_, message.nonce, from);
  if (link == nullptr || link->own.qpn != message.peer_qpn) {
    send(from, source_qpn, {.kind = ConnectKind::kClose, .nonce = message.nonce, .qpn = message.peer_qpn, .peer_qpn = message.qpn});
    return {};
  }
  switch (link->phase) {
    case Link::Phase::kConnecting:
      link->phase = Link::Phase::kConnected;
      link->peer_qpn = message.qpn;
      std::erase(waiting_, link);
      return {.kind = Event::Kind::kConnected, .qp = link->qp, .peer = link->peer,
              .address = {.qpn = message.qpn, .first_psn = message.first_psn, .mtu = message.mtu}, .reason = {}};
    case Link::Phase::kClosing:
      link->peer_qpn = message.qpn;
      send_to_peer(*link, ConnectKind::kClose);
      return {};
    case Link::Phase::kConnected:
    case Link::Phase::kDead:
      if (message.qpn != link->peer_qpn) {
        send(from, source_qpn, {.kind = ConnectKind::kClose, .nonce = message.nonce, .qpn = message.peer_qpn, .peer_qpn = message.qpn});
      }
      return {};
  }
  return {};
}

Connector::Event Connector::on_reject(const wire::UdpAddress& from, const ConnectMessage& message) noexcept {
  Link* const link = find(active_, message.nonce, from);
  if (link == nullptr || link->phase != Link::Phase::kConnecting) return {};
  bury(*link);
  return {.kind = Event::Kind::kRefused, .qp = link->qp, .peer = link->peer, .address = {}, .reason = message.reason};
}

void Connector::on_close(const wire::UdpAddress& from, std::uint32_t source_qpn, const ConnectMessage& message) noexcept {
  std::erase_if(requests_, [&](const Request& request) { return request.nonce == message.nonce && request.from == from; });
  Link* const link = find(passive_, message.nonce, from);
  if (link != nullptr && (message.peer_qpn == 0 || message.peer_qpn == link->own.qpn)) bury(*link);
  send(from, source_qpn, {.kind = ConnectKind::kClosed, .nonce = message.nonce, .qpn = message.peer_qpn, .peer_qpn = message.qpn});
}

void Connector::on_inquire(const wire::UdpAddress& from, std::uint32_t source_qpn, const ConnectMessage& message) noexcept {
  for (Links* links : {&active_, &passive_}) {
    const Link* const link = find(*links, message.nonce, from);
    const bool lives = link != nullptr && (link->phase == Link::Phase::kConnected || link->phase == Link::Phase::kConnecting);
    if (lives && link->own.qpn == message.peer_qpn) return;
  }
  send(from, source_qpn, {.kind = ConnectKind::kReset, .nonce = message.nonce, .qpn = message.peer_qpn, .peer_qpn = message.qpn});
}

Connector::Event Connector::on_reset(const wire::UdpAddress& from, const ConnectMessage& message) noexcept {
  for (Links* links : {&active_, &passive_}) {
    Link* const link = find(*links, message.nonce, from);
    const bool lives = link != nullptr && (link->phase == Link::Phase::kConnected || link->phase == Link::Phase::kConnecting);
    if (!lives || link->own.qpn != message.peer_qpn) continue;
    bury(*link);
    return {.kind = Event::Kind::kReset, .qp = link->qp, .peer = link->peer, .address = {}, .reason = {}};
  }
  return {};
}

std::optional<Connector::Request> Connector::take_request() noexcept {
  if (requests_.empty()) return std::nullopt;
  const Request request = requests_.front();
  requests_.erase(requests_.begin());
  return request;
}

bool Connector::has_room_for(const Request& request, Nanoseconds now) {
  if (half_open_.wants_count(request.from, now)) {
    half_open_.begin_count(now);
    for (const auto& [nonce, link] : passive_) {
      if (link.phase == Link::Phase::kConnected && link.qp->last_heard == link.begun) half_open_.add(link.peer);
    }
    half_open_.end_count();
  }
  return half_open_.has_room_for(request.from);
}

void Connector::accept(const Request& request, Qp& qp, const QpAddress& own) {
  half_open_.add(request.from);
  reserve_one_more(dead_, passive_.size());
  reserve_one_more(forgotten_, active_.size() + passive_.size());
  Link& link = passive_[request.nonce];
  link = {.nonce = request.nonce, .is_active = false, .phase = Link::Phase::kConnected, .peer = request.from, .peer_service = request.service, .instance = 0,
          .own = own, .peer_qpn = request.address.qpn, .qp = &qp, .next = kNever, .interval = 0, .give_up = kNever, .begun = qp.last_heard};
  qp.link = &link;
  send_to_peer(link, ConnectKind::kAccept);
}

void Connector::refuse(const Request& request, ConnectRefusal reason) noexcept {
  send(request.from, request.service, {.kind = ConnectKind::kReject, .reason = reason, .nonce = request.nonce, .peer_qpn = request.address.qpn});
}

Qp* Connector::take_dead() noexcept {
  if (dead_.empty()) return nullptr;
  Qp* const qp = dead_.back();
  dead_.pop_back();
  return qp;
}

void Connector::on_failed(Qp& qp) noexcept {
  if (qp.link == nullptr) return;
  if (!qp.link->is_active) {
    bury(*qp.link);
  } else if (qp.link->phase == Link::Phase::kConnecting) {
    std::erase(waiting_, qp.link);
  }
}

void Connector::release(Qp& qp, Nanoseconds now) noexcept {
  Link* const link = qp.link;
  if (link == nullptr) return;
  std::erase(dead_, &qp);
  if (link->phase == Link::Phase::kDead || !link->is_active) {
    if (link->phase != Link::Phase::kDead) send_to_peer(*link, ConnectKind::kReset);
    return forget(link);
  }
  qp.link = nullptr;
  link->qp = nullptr;
  link->phase = Link::Phase::kClosing;
  link->next = now;
  link->interval = kFirstRepeat;
  link->give_up = now + kFarewell;
  wait(*link);
}

void Connector::doubt(const Qp& qp) noexcept {
  if (qp.link != nullptr && qp.link->phase == Link::Phase::kConnected) send_to_peer(*qp.link, ConnectKind::kInquire);
}

void Connector::say_goodbye() noexcept {
  try {
    outgoing_.reserve(outgoing_.size() + active_.size() + passive_.size());
  } catch (const std::bad_alloc&) {  // then as many as there is room for
  }
  for (const auto& [nonce, link] : active_) {
    if (link.phase != Link::Phase::kDead) send_to_peer(link, ConnectKind::kClose);
  }
  for (const auto& [nonce, link] : passive_) {
    if (link.phase != Link::Phase::kDead) send_to_peer(link, ConnectKind::kReset);
  }
}

Connector::Event Connector::take_due(Nanoseconds now) noexcept {
  if (now < deadline_) return {};
  deadline_ = kNever;
  for (std::size_t i = 0; i < waiting_.size();) {
    Link* const link = waiting_[i];
    if (link->next <= now) {
      if (now >= link->give_up) {
        if (link->phase == Link::Phase::kClosing) {
          forget(link);
          continue;
        }
        bury(*link);
        deadline_ = now;  // there may be more
        return {.kind = Event::Kind::kTimedOut, .qp = link->qp, .peer = link->peer, .address = {}, .reason = {}};
      }
      if (outgoing_.size() == outgoing_.capacity()) {
        deadline_ = now;
        return {};
      }
      send_to_peer(*link, link->phase == Link::Phase::kConnecting ? ConnectKind::kConnect : ConnectKind::kClose);
      link->next = now + link->interval;
      link->interval = std::min(2 * link->interval, kLongestRepeat);
    }
    deadline_ = std::min(deadline_, link->next);
    ++i;
  }
  return {};
}

}  // namespace ina::engine
