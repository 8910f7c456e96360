#include "net/segmenting_sender.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wire/bytes.hpp"
#include "wire/roce.hpp"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

namespace ina::net {
namespace {

// With the headers of either family less than an IP packet can be.
constexpr std::size_t kMaxDatagramBytes = 65000;

std::size_t bytes_of(const msghdr& packet) noexcept {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < packet.msg_iovlen; ++i) bytes += packet.msg_iov[i].iov_len;
  return bytes;
}

const iovec& last_piece(const msghdr& packet) noexcept { return packet.msg_iov[packet.msg_iovlen - 1]; }

// So that its QP is readable and its ICRC can be put right.
bool is_apt(const msghdr& packet) noexcept {
  return packet.msg_iovlen != 0 && packet.msg_iov[0].iov_len >= wire::kBthBytes && last_piece(packet).iov_len >= wire::kIcrcBytes;
}

std::byte top_byte_of_qpn(const msghdr& packet) noexcept { return static_cast<const std::byte*>(packet.msg_iov[0].iov_base)[wire::kBthTopByteOfQpn]; }

// Where processes share the destination's port, the kernel finds the right one by the top byte of the QP number, and may look for it before it
// has cut the datagram.
bool go_together(const msghdr& a, const msghdr& b) noexcept {
  const bool is_same_address = a.msg_namelen == b.msg_namelen && (a.msg_name == b.msg_name || std::memcmp(a.msg_name, b.msg_name, a.msg_namelen) == 0);
  return is_same_address && top_byte_of_qpn(a) == top_byte_of_qpn(b);
}

bool is_ipv4(const msghdr& packet) noexcept {
  sa_family_t family;
  std::memcpy(&family, static_cast<const std::byte*>(packet.msg_name) + offsetof(sockaddr, sa_family), sizeof family);
  return family == AF_INET;
}

// Of a device behind a tunnel, of IPsec, of a packet that is longer than the path takes: it says nothing of the packets one by one.
bool is_refusal(int error) noexcept { return error == EINVAL || error == EIO || error == EOPNOTSUPP || error == EMSGSIZE; }

}  // namespace

bool SegmentingSender::enable(int descriptor) noexcept {
  const int none = 0;  // each message says what it wants
  is_enabled_ = setsockopt(descriptor, IPPROTO_UDP, UDP_SEGMENT, &none, sizeof none) == 0;
  return is_enabled_;
}

int SegmentingSender::send(int descriptor, std::span<mmsghdr> packets, int flags) noexcept {
  if (is_enabled_ && packets.size() > 1) {
    plan(packets);
    const int sent = sendmmsg(descriptor, messages_.data(), static_cast<unsigned>(run_count_), flags);
    const int error = errno;
    const int taken = take_back_unsent(packets, sent);
    errno = error;
    if (sent >= 0 || runs_[0].packets == 1 || !is_refusal(error)) return taken;
    is_enabled_ = false;
    was_refused_ = true;
  }
  return sendmmsg(descriptor, packets.data(), static_cast<unsigned>(packets.size()), flags);
}

void SegmentingSender::plan(std::span<const mmsghdr> packets) noexcept {
  run_count_ = piece_count_ = 0;
  for (std::size_t first = 0; first < packets.size();) {
    const Run run = find_run(packets, first, pieces_.size() - piece_count_);
    make_message(packets, run);
    first += run.packets;
  }
}

// Ends behind a packet that is shorter than the first, since it is the last segment then.
SegmentingSender::Run SegmentingSender::find_run(std::span<const mmsghdr> packets, std::size_t first, std::size_t room) const noexcept {
  const msghdr& head = packets[first].msg_hdr;
  Run run{.first = first, .packets = 1, .bytes = bytes_of(head)};
  if (!is_apt(head)) return run;
  std::size_t total = run.bytes;
  std::size_t pieces = head.msg_iovlen;
  for (std::size_t i = first + 1; i < packets.size() && run.packets < wire::kMaxSegments; ++i) {
    const msghdr& next = packets[i].msg_hdr;
    const std::size_t bytes = bytes_of(next);
    total += bytes;
    pieces += next.msg_iovlen;
    if (bytes > run.bytes || total > kMaxDatagramBytes || pieces > room || !is_apt(next) || !go_together(head, next)) break;
    ++run.packets;
    if (bytes < run.bytes) break;
  }
  return run;
}

void SegmentingSender::make_message(std::span<const mmsghdr> packets, const Run& run) noexcept {
  msghdr& message = messages_[run_count_].msg_hdr;
  message = packets[run.first].msg_hdr;
  runs_[run_count_] = run;
  Control& control = controls_[run_count_++];
  if (run.packets == 1) return;
  message.msg_iov = &pieces_[piece_count_];
  message.msg_iovlen = 0;
  for (const mmsghdr& packet : packets.subspan(run.first, run.packets)) {
    std::copy_n(packet.msg_hdr.msg_iov, packet.msg_hdr.msg_iovlen, &message.msg_iov[message.msg_iovlen]);
    message.msg_iovlen += packet.msg_hdr.msg_iovlen;
  }
  piece_count_ += message.msg_iovlen;
  control = {};
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* const segment = CMSG_FIRSTHDR(&message);
  segment->cmsg_level = IPPROTO_UDP;
  segment->cmsg_type = UDP_SEGMENT;
  segment->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
  const auto bytes = static_cast<std::uint16_t>(run.bytes);
  std::memcpy(CMSG_DATA(segment), &bytes, sizeof bytes);
  identify(packets, run);
}

// Turns the ICRCs for identification 0 into those for 0, 1, 2 ... and back. IPv6 has no identification.
void SegmentingSender::identify(std::span<const mmsghdr> packets, const Run& run) noexcept {
  if (!is_ipv4(packets[run.first].msg_hdr)) return;
  for (std::size_t k = 1; k < run.packets; ++k) {
    const msghdr& packet = packets[run.first + k].msg_hdr;
    const iovec& last = last_piece(packet);
    std::byte* const icrc = static_cast<std::byte*>(last.iov_base) + last.iov_len - wire::kIcrcBytes;
    const std::size_t bytes = k + 1 < run.packets ? run.bytes : bytes_of(packet);
    const std::uint32_t effect = effects_.of(static_cast<std::uint16_t>(k), bytes);
    wire::store_be(icrc, wire::load_be<std::uint32_t>(icrc) ^ wire::byte_swapped(effect));
  }
}

int SegmentingSender::take_back_unsent(std::span<const mmsghdr> packets, int sent) noexcept {
  const std::size_t gone = sent > 0 ? static_cast<std::size_t>(sent) : 0;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < run_count_; ++i) {
    if (i < gone) {
      taken += runs_[i].packets;
    } else if (runs_[i].packets > 1) {
      identify(packets, runs_[i]);
    }
  }
  return sent < 0 ? -1 : static_cast<int>(taken);
}

}  // namespace ina::net
