#include "ucx_tl/engine/udp_socket.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "ucx_tl/engine/error.hpp"
#include "wire/roce.hpp"

#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#define UDP_NO_CHECK6_RX 102
#endif

namespace ina::engine {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Error(Failure::kSystem, what + ": " + std::strerror(errno));
}

void set(int descriptor, int level, int option, int value, const char* name) {
  if (setsockopt(descriptor, level, option, &value, sizeof value) != 0) fail(std::string("cannot set ") + name + " on a udp socket");
}

void set_buffers(int descriptor, std::size_t bytes) {
  if (bytes == 0) return;
  const int value = static_cast<int>(bytes);
  // The forced forms need a privilege; without it the system's own limits (net.core.rmem_max, wmem_max) hold.
  if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, &value, sizeof value) != 0) set(descriptor, SOL_SOCKET, SO_RCVBUF, value, "SO_RCVBUF");
  if (setsockopt(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, &value, sizeof value) != 0) set(descriptor, SOL_SOCKET, SO_SNDBUF, value, "SO_SNDBUF");
}

bool has_congestion_mark(msghdr& header) noexcept {
  for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
    if (each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_TOS) {
      std::uint8_t type_of_service = 0;
      std::memcpy(&type_of_service, CMSG_DATA(each), sizeof type_of_service);
      return (type_of_service & kEcnMask) == kEcnCongestionExperienced;
    }
    if (each->cmsg_level == IPPROTO_IPV6 && each->cmsg_type == IPV6_TCLASS) {
      int traffic_class = 0;
      std::memcpy(&traffic_class, CMSG_DATA(each), sizeof traffic_class);
      return (traffic_class & kEcnMask) == kEcnCongestionExperienced;
    }
  }
  return false;
}

bool try_bind(int descriptor, wire::UdpAddress address, std::uint16_t port) noexcept {
  address.port = port;
  sockaddr_storage storage{};
  const socklen_t length = address.to_sockaddr(storage);
  return bind(descriptor, reinterpret_cast<const sockaddr*>(&storage), length) == 0;
}

}  // namespace

UdpSocket::UdpSocket(const UdpSocketOptions& options) : ecn_(options.ecn), buffers_(new Buffer[kBatchPackets]) {
  try {
    open(options);
  } catch (...) {
    shared_.reset();
    if (descriptor_ >= 0) close(descriptor_);
    throw;
  }
  for (std::size_t i = 0; i < kBatchPackets; ++i) {
    receive_pieces_[i] = {.iov_base = buffers_[i].bytes.data(), .iov_len = buffers_[i].bytes.size()};
    msghdr& header = receive_headers_[i].msg_hdr;
    header.msg_name = &sources_[i];
    header.msg_iov = &receive_pieces_[i];
    header.msg_iovlen = 1;
    if (ecn_) header.msg_control = controls_[i].bytes.data();
  }
}

void UdpSocket::open_unbound(const UdpSocketOptions& options) {
  const bool ipv6 = options.local.is_ipv6;
  descriptor_ = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor_ < 0) fail("cannot open a udp socket");
  if (ipv6) {
    set(descriptor_, IPPROTO_IPV6, IPV6_V6ONLY, 1, "IPV6_V6ONLY");
    set(descriptor_, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO, "IPV6_MTU_DISCOVER");
    set(descriptor_, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1, "UDP_NO_CHECK6_RX");
  } else {
    // With this and no connect() the kernel sends DF and identification 0, or counts from 0 in a large datagram, which the ICRC covers.
    set(descriptor_, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO, "IP_MTU_DISCOVER");
  }
  // The ICRC makes a checksum superfluous, but the kernel cuts no datagram without.
  if (!options.segmentation || !sender_.enable(descriptor_)) {
    if (ipv6) set(descriptor_, IPPROTO_UDP, UDP_NO_CHECK6_TX, 1, "UDP_NO_CHECK6_TX");
    if (!ipv6) set(descriptor_, SOL_SOCKET, SO_NO_CHECK, 1, "SO_NO_CHECK");
  }
  if (ecn_ && ipv6) {
    set(descriptor_, IPPROTO_IPV6, IPV6_TCLASS, kEcnCapable, "IPV6_TCLASS");
    set(descriptor_, IPPROTO_IPV6, IPV6_RECVTCLASS, 1, "IPV6_RECVTCLASS");
  } else if (ecn_) {
    set(descriptor_, IPPROTO_IP, IP_TOS, kEcnCapable, "IP_TOS");
    set(descriptor_, IPPROTO_IP, IP_RECVTOS, 1, "IP_RECVTOS");
  }
  set_buffers(descriptor_, options.buffer_bytes);
}

// A socket that has tried to join in vain may be bound and is of no use.
bool UdpSocket::join_shared(const UdpSocketOptions& options, std::uint16_t port) {
  wire::UdpAddress address = options.local;
  address.port = port;
  shared_ = SharedPort::join(descriptor_, address);
  if (shared_) return true;
  close(std::exchange(descriptor_, -1));
  open_unbound(options);
  return false;
}

void UdpSocket::open(const UdpSocketOptions& options) {
  open_unbound(options);
  const std::uint16_t preferred = options.local.port == 0 && options.prefer_roce_port ? wire::kRocePort : options.local.port;
  const bool is_bound = preferred != 0 && (options.share_port ? join_shared(options, preferred) : try_bind(descriptor_, options.local, preferred));
  if (!is_bound && !try_bind(descriptor_, options.local, options.local.port)) fail("cannot bind udp address " + options.local.text());
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&storage), &length) != 0) fail("cannot read the address of a udp socket");
  const auto local = wire::UdpAddress::from_sockaddr(storage);
  if (!local) throw Error(Failure::kSystem, "a udp socket has no IP address");
  local_ = *local;
}

UdpSocket::~UdpSocket() {
  // Before the claim, so that nobody claims its number while the socket still has its place.
  if (descriptor_ >= 0) close(descriptor_);
}

SendResult UdpSocket::send(std::span<const OutgoingPacket> packets) noexcept {
  SendResult result;
  const std::size_t count = packets.size() < kBatchPackets ? packets.size() : kBatchPackets;
  for (std::size_t i = 0; i < count; ++i) {
    msghdr& header = send_headers_[i].msg_hdr;
    header = {};
    header.msg_name = const_cast<sockaddr_storage*>(&packets[i].to->storage);
    header.msg_namelen = packets[i].to->length;
    header.msg_iov = const_cast<iovec*>(packets[i].pieces);
    header.msg_iovlen = packets[i].piece_count;
  }
  while (result.taken < count) {
    const int sent = sender_.send(descriptor_, std::span(send_headers_).subspan(result.taken, count - result.taken), 0);
    ++result.system_calls;
    if (sent > 0) {
      result.taken += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) {
      break;
    } else if (errno != EINTR) {
      ++result.refused;  // this one packet is lost, as on a wire: the timer deals with it
      ++result.taken;
    }
  }
  return result;
}

std::span<const IncomingPacket> UdpSocket::receive() noexcept {
  if (!shared_) return receive_datagrams();
  if (shared_->is_look_due()) {  // what lies there makes descriptor() readable
    const auto handed_over = shared_->receive();
    if (!handed_over.empty()) return handed_over;
  }
  const auto received = receive_datagrams();
  return received.first(shared_->keep_own(received));
}

std::span<IncomingPacket> UdpSocket::receive_datagrams() noexcept {
  for (std::size_t i = 0; i < kBatchPackets; ++i) {
    receive_headers_[i].msg_hdr.msg_namelen = sizeof(sockaddr_storage);
    receive_headers_[i].msg_hdr.msg_controllen = ecn_ ? sizeof(Control::bytes) : 0;
  }
  const int count = recvmmsg(descriptor_, receive_headers_.data(), kBatchPackets, MSG_DONTWAIT, nullptr);
  if (count <= 0) return {};
  for (int i = 0; i < count; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    const bool truncated = (receive_headers_[slot].msg_hdr.msg_flags & MSG_TRUNC) != 0;
    incoming_[slot].from = wire::UdpAddress::from_sockaddr(sources_[slot]).value_or(wire::UdpAddress{});
    // A packet longer than any of ours is handed on empty, which is counted as one that does not decode.
    incoming_[slot].bytes = {buffers_[slot].bytes.data(), truncated ? 0u : receive_headers_[slot].msg_len};
    incoming_[slot].has_congestion_mark = ecn_ && has_congestion_mark(receive_headers_[slot].msg_hdr);
  }
  return {incoming_.data(), static_cast<std::size_t>(count)};
}

}  // namespace ina::engine
