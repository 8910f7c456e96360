// shared_port_places.cpp: who is in which place of the group that shares a port: asking, answering, and telling the kernel.
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "ucx_tl/engine/port_steering.hpp"
#include "ucx_tl/engine/shared_port.hpp"
#include "wire/bytes.hpp"

namespace ina::engine {
namespace {

// A member that does not progress answers from its timer, some milliseconds later.
constexpr Nanoseconds kLongestAnswer = 50 * kMillisecond;
constexpr Nanoseconds kShortestPause = 100 * kMillisecond;

// Probe and answer: 0xff, place, top byte of who answers, 1 for an answer, nonce.
constexpr std::size_t kProbeBytes = 12;
constexpr std::size_t kNonceOffset = 4;
using Probe = std::array<std::byte, kProbeBytes>;

Probe make_probe(std::size_t place, std::uint64_t nonce) noexcept {
  Probe probe{kSteeringProbe, static_cast<std::byte>(place)};
  wire::store_be(&probe[kNonceOffset], nonce);
  return probe;
}

void send_to(int descriptor, const wire::UdpAddress& to, std::span<const std::byte> bytes) noexcept {
  sockaddr_storage storage{};
  const socklen_t length = to.to_sockaddr(storage);
  (void)sendto(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&storage), length);
}

}  // namespace

// Only for processes of this host: their packets have our own address.
bool SharedPort::answer_probe(const IncomingPacket& packet) noexcept {
  if (packet.bytes.size() != kProbeBytes || packet.bytes[3] != std::byte{0}) return false;
  if (packet.from.ip != at_.ip || packet.from.is_ipv6 != at_.is_ipv6) return false;
  Probe answer;
  std::copy(packet.bytes.begin(), packet.bytes.end(), answer.begin());
  answer[2] = std::byte{top_byte_};
  answer[3] = std::byte{1};
  send_to(udp_descriptor_, packet.from, answer);
  return true;
}

void SharedPort::look_for_places() noexcept {
  if (!wants_places_ && !probes_) return;
  const Nanoseconds now = clock_.now();
  if (!probes_) {
    if (now >= next_asking_) ask_places(now);
    return;
  }
  read_answers();
  if (answered_.count() < places_ && now - asked_at_ < kLongestAnswer) return;
  steer();
  probes_ = net::Descriptor();
  next_asking_ = now + kShortestPause;
}

void SharedPort::ask_places(Nanoseconds now) noexcept {
  wants_places_ = false;
  next_asking_ = now + kShortestPause;
  const auto members = count_bound_sockets(at_);
  if (!members || *members > top_byte_at_.size() || getrandom(&nonce_, sizeof nonce_, 0) != sizeof nonce_) return;
  net::Descriptor probes(socket(at_.is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  wire::UdpAddress from = at_;
  from.port = 0;
  sockaddr_storage storage{};
  const socklen_t length = from.to_sockaddr(storage);
  if (!probes || bind(probes.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) return;
  places_ = *members;
  answered_.reset();
  asked_at_ = now;
  for (std::size_t place = 0; place < places_; ++place) send_to(probes.get(), at_, make_probe(place, nonce_));
  probes_ = std::move(probes);
}

void SharedPort::read_answers() noexcept {
  Probe answer;
  while (recv(probes_.get(), answer.data(), answer.size(), MSG_DONTWAIT) == static_cast<ssize_t>(answer.size())) {
    const auto place = std::to_integer<std::size_t>(answer[1]);
    const bool fits = answer[0] == kSteeringProbe && answer[3] == std::byte{1} && place < places_ && wire::load_be<std::uint64_t>(&answer[kNonceOffset]) == nonce_;
    if (!fits) continue;
    answered_.set(place);
    top_byte_at_[place] = std::to_integer<std::int16_t>(answer[2]);
  }
}

// Who has not answered is taken to be where it was, unless somebody else is there now.
void SharedPort::steer() noexcept {
  std::bitset<256> found;
  for (std::size_t place = 0; place < places_; ++place) {
    if (answered_[place]) found.set(static_cast<std::size_t>(top_byte_at_[place]));
  }
  std::array<SteeringException, 256> exceptions;
  std::size_t count = 0;
  for (std::size_t place = 0; place < top_byte_at_.size(); ++place) {
    std::int16_t& top_byte = top_byte_at_[place];
    const bool is_stale = top_byte != kNobody && !answered_[place] && (place >= places_ || found[static_cast<std::size_t>(top_byte)]);
    if (is_stale) top_byte = kNobody;
    if (top_byte == kNobody || top_byte == static_cast<std::int16_t>(place)) continue;
    exceptions[count++] = {.top_byte = static_cast<std::uint8_t>(top_byte), .place = static_cast<std::uint8_t>(place)};
  }
  (void)steer_by_qp(udp_descriptor_, {exceptions.data(), count});
}

}  // namespace ina::engine
