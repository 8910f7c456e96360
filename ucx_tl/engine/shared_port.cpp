#include "ucx_tl/engine/shared_port.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ucx_tl/engine/name_lock.hpp"
#include "ucx_tl/engine/port_steering.hpp"
#include "wire/bytes.hpp"
#include "wire/roce.hpp"

namespace ina::engine {
namespace {

constexpr std::size_t kPlaces = 256;  // as many as a byte tells apart
constexpr std::size_t kOffsetOfOpcode = 0;
// Joining takes a fraction of a millisecond; whoever holds the lock for longer does not mean well.
constexpr Nanoseconds kLongestWait = 2 * kSecond;

// The sender of a message, as the kernel tells it.
bool is_of_our_user(msghdr& header) noexcept {
  for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender;
    std::memcpy(&sender, CMSG_DATA(each), sizeof sender);
    return sender.uid == getuid();
  }
  return false;
}

}  // namespace

std::unique_ptr<SharedPort> SharedPort::join(int udp_descriptor, const wire::UdpAddress& at) {
  std::unique_ptr<SharedPort> member(new SharedPort(udp_descriptor, at));
  if (!member->bind_and_claim() || !member->watch()) return nullptr;
  return member;
}

// The name of a claim ends with its top byte in two digits.
void SharedPort::name_claim(std::uint8_t top_byte, sockaddr_un& address) const noexcept {
  constexpr char kDigits[] = "0123456789abcdef";
  address = claim_address_;
  char* const end = reinterpret_cast<char*>(&address) + claim_address_length_;
  end[-2] = kDigits[top_byte >> 4];
  end[-1] = kDigits[top_byte & 15];
}

bool SharedPort::bind_and_claim() {
  // So that a place is what the number of those before it says. Without the lock a wrong place is put right later.
  const NameLock lock("ina-port/" + at_.text() + "/lock", kLongestWait);
  claim_address_length_ = abstract_address("ina-port/" + at_.text() + "/00", claim_address_);
  const int on = 1;
  sockaddr_storage storage{};
  const socklen_t length = at_.to_sockaddr(storage);
  if (setsockopt(udp_descriptor_, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) return false;
  if (bind(udp_descriptor_, reinterpret_cast<const sockaddr*>(&storage), length) != 0) return false;
  const auto members = count_bound_sockets(at_);
  if (!members || *members == 0 || *members > kPlaces) return false;
  if (*members == 1 && !steer_by_qp(udp_descriptor_, {})) return false;
  const std::size_t place = *members - 1;
  if (claim(static_cast<std::uint8_t>(place))) return true;
  // Somebody who was moved has the number of our place.
  wants_places_ = true;
  for (std::size_t candidate = kPlaces; candidate-- > 0;) {
    if (claim(static_cast<std::uint8_t>(candidate))) return true;
  }
  return false;
}

bool SharedPort::claim(std::uint8_t top_byte) noexcept {
  sockaddr_un address;
  name_claim(top_byte, address);
  net::Descriptor claim(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (!claim || setsockopt(claim.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return false;
  if (bind(claim.get(), reinterpret_cast<const sockaddr*>(&address), claim_address_length_) != 0) return false;
  claim_ = std::move(claim);
  top_byte_ = top_byte;
  return true;
}

bool SharedPort::watch() noexcept {
  epoll_ = net::Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return false;
  for (const int descriptor : {udp_descriptor_, claim_.get()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return false;
  }
  for (std::size_t i = 0; i < kBatch; ++i) {
    Buffer& buffer = (*buffers_)[i];
    buffer.pieces = {{{.iov_base = buffer.header.data(), .iov_len = buffer.header.size()}, {.iov_base = buffer.payload.data(), .iov_len = buffer.payload.size()}}};
    headers_[i].msg_hdr.msg_iov = buffer.pieces.data();
    headers_[i].msg_hdr.msg_iovlen = buffer.pieces.size();
    headers_[i].msg_hdr.msg_control = buffer.control.data();
  }
  return true;
}

std::size_t SharedPort::keep_own(std::span<IncomingPacket> received) noexcept {
  std::size_t kept = 0;
  for (IncomingPacket& packet : received) {
    if (packet.bytes.size() > wire::kBthTopByteOfQpn) {
      if (packet.bytes[0] == kSteeringProbe && answer_probe(packet)) continue;
      const auto top_byte = std::to_integer<std::uint8_t>(packet.bytes[wire::kBthTopByteOfQpn]);
      const bool is_question = packet.bytes[kOffsetOfOpcode] == static_cast<std::byte>(wire::Opcode::kUdSendOnly);
      if (top_byte != top_byte_ && (hand_over(packet, top_byte) || !is_question)) continue;
    }
    received[kept++] = packet;
  }
  return kept;
}

// False: nobody has these QPs. Packets for QPs of a process that is gone end here, but for messages that ask whether it is there: whoever
// gets them answers.
bool SharedPort::hand_over(const IncomingPacket& packet, std::uint8_t to) noexcept {
  if (!known_[to]) return send(to, {.kind = Kind::kAsk, .from = top_byte_}, {});
  ++misled_;
  wants_places_ = true;
  const bool is_there = send(to, {.kind = Kind::kPacket, .from = top_byte_, .has_congestion_mark = packet.has_congestion_mark, .source = packet.from}, packet.bytes);
  if (!is_there) known_.reset(to);
  return is_there;
}

// False: nobody has that name. A message that finds no room is lost, as on a wire.
bool SharedPort::send(std::uint8_t to, const Header& header, std::span<const std::byte> payload) noexcept {
  std::array<std::byte, kHeaderBytes> bytes{};
  bytes[0] = static_cast<std::byte>(header.kind);
  bytes[1] = std::byte{header.from};
  bytes[2] = header.has_congestion_mark ? std::byte{1} : std::byte{0};
  bytes[3] = header.source.is_ipv6 ? std::byte{1} : std::byte{0};
  wire::store_be(&bytes[4], header.source.port);
  std::memcpy(&bytes[16], header.source.ip.data(), header.source.ip.size());
  sockaddr_un address;
  name_claim(to, address);
  const std::array<iovec, 2> pieces = {
      {{.iov_base = bytes.data(), .iov_len = bytes.size()}, {.iov_base = const_cast<std::byte*>(payload.data()), .iov_len = payload.size()}}};
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = claim_address_length_;
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  return sendmsg(claim_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 || errno != ECONNREFUSED;
}

std::optional<SharedPort::Header> SharedPort::decode(std::span<const std::byte> bytes) noexcept {
  const auto kind = std::to_integer<std::uint8_t>(bytes[0]);
  if (kind < static_cast<std::uint8_t>(Kind::kPacket) || kind > static_cast<std::uint8_t>(Kind::kHere)) return std::nullopt;
  Header header{.kind = static_cast<Kind>(kind), .from = std::to_integer<std::uint8_t>(bytes[1]), .has_congestion_mark = bytes[2] != std::byte{0}};
  header.source.is_ipv6 = bytes[3] != std::byte{0};
  header.source.port = wire::load_be<std::uint16_t>(&bytes[4]);
  std::memcpy(header.source.ip.data(), &bytes[16], header.source.ip.size());
  return header;
}

bool SharedPort::take(const Header& header) noexcept {
  known_.set(header.from);
  if (header.kind == Kind::kAsk) (void)send(header.from, {.kind = Kind::kHere, .from = top_byte_}, {});
  if (header.kind != Kind::kPacket) return false;
  ++misled_;
  return true;
}

std::span<const IncomingPacket> SharedPort::receive() noexcept {
  look_for_places();
  for (mmsghdr& header : headers_) header.msg_hdr.msg_controllen = sizeof(Buffer::control);
  const int received = recvmmsg(claim_.get(), headers_.data(), kBatch, MSG_DONTWAIT, nullptr);
  receives_ = 0;
  period_ = received > 0 || probes_ ? kBusyPeriod : kIdlePeriod;
  std::size_t count = 0;
  for (std::size_t i = 0; received > 0 && i < static_cast<std::size_t>(received); ++i) {
    mmsghdr& message = headers_[i];
    if (message.msg_len < kHeaderBytes || (message.msg_hdr.msg_flags & MSG_TRUNC) != 0 || !is_of_our_user(message.msg_hdr)) continue;
    const auto header = decode((*buffers_)[i].header);
    if (!header || !take(*header)) continue;
    incoming_[count++] = {.from = header->source,
                          .bytes = {(*buffers_)[i].payload.data(), message.msg_len - kHeaderBytes},
                          .has_congestion_mark = header->has_congestion_mark};
  }
  return {incoming_.data(), count};
}

}  // namespace ina::engine
