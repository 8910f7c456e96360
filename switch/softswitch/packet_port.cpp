#include "switch/softswitch/packet_port.hpp"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if_arp.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>

#include "switch/softswitch/listening.hpp"
#include "switch/softswitch/send_batch.hpp"

// From linux/if_packet.h of Linux 4.20.
#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

namespace ina::softswitch {

namespace {

constexpr int kBufferBytes = 16 << 20;
constexpr std::size_t kMacBytes = 12;              // both addresses: a VLAN tag goes behind them

[[noreturn]] void fail(const std::string& device, const char* what) {
  const int error = errno;
  std::string text = std::string(what) + " on " + device + ": " + std::strerror(error);
  if (error == EPERM) text += "; it needs CAP_NET_RAW: run it as root, or setcap cap_net_raw+ep ina-softswitch";
  throw SetupError(text);
}

}  // namespace

PacketPort::PacketPort(const std::string& device, unsigned device_index)
    : socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), descriptor_(socket_.get()),
      in_bytes_(std::make_unique_for_overwrite<std::byte[]>(kBatch * kInBytes)) {
  static_assert(sizeof(OffloadHeader) == 10 && kInBytes >= kTagRoom + kMaxFrameBytes);
  if (!socket_) fail(device, "cannot open a packet socket");
  const int one = 1;
  const auto set = [&](int option, const void* value, socklen_t size, const char* what) {
    if (::setsockopt(socket_.get(), SOL_PACKET, option, value, size) != 0) fail(device, what);
  };
  // Before it is bound: nothing comes without what these say.
  set(PACKET_VNET_HDR, &one, sizeof one, "cannot take offloaded frames (PACKET_VNET_HDR)");
  set(PACKET_AUXDATA, &one, sizeof one, "cannot take VLAN tags (PACKET_AUXDATA)");
  set(PACKET_IGNORE_OUTGOING, &one, sizeof one, "cannot leave out what is sent (PACKET_IGNORE_OUTGOING, Linux 4.20)");
  for (const auto& [forced, asked] : {std::pair{SO_RCVBUFFORCE, SO_RCVBUF}, std::pair{SO_SNDBUFFORCE, SO_SNDBUF}}) {
    if (::setsockopt(socket_.get(), SOL_SOCKET, forced, &kBufferBytes, sizeof kBufferBytes) != 0) {
      (void)::setsockopt(socket_.get(), SOL_SOCKET, asked, &kBufferBytes, sizeof kBufferBytes);
    }
  }
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(device_index);
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail(device, "cannot bind a packet socket");
  socklen_t address_bytes = sizeof address;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &address_bytes) != 0 || address.sll_hatype != ARPHRD_ETHER)
    throw SetupError("port " + device + " is no Ethernet interface");
  const packet_mreq promiscuous{.mr_ifindex = static_cast<int>(device_index), .mr_type = PACKET_MR_PROMISC, .mr_alen = 0, .mr_address = {}};
  set(PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous, "cannot see frames for others (promiscuous mode)");
  for (std::size_t i = 0; i < kBatch; ++i) {
    Incoming& in = in_[i];
    in.pieces = {{{.iov_base = &in.offload, .iov_len = sizeof in.offload}, {.iov_base = &in_bytes_[i * kInBytes + kTagRoom], .iov_len = kMaxFrameBytes}}};
    in_messages_[i].msg_hdr.msg_iov = in.pieces.data();
    in_messages_[i].msg_hdr.msg_iovlen = in.pieces.size();
    in_messages_[i].msg_hdr.msg_control = in.control.data();
    out_messages_[i].msg_hdr.msg_iov = out_[i].pieces.data();
  }
}

std::span<const ArrivedFrame> PacketPort::receive() noexcept {
  for (std::size_t i = 0; i < kBatch; ++i) in_messages_[i].msg_hdr.msg_controllen = in_[i].control.size();
  arrived_count_ = 0;
  ++counters_.receive_calls;
  const int count = ::recvmmsg(socket_.get(), in_messages_.data(), kBatch, MSG_DONTWAIT | MSG_TRUNC, nullptr);
  if (count <= 0) {
    // EINVAL: a super-frame of a kind that this kernel cannot describe; it is gone. ENETDOWN says once that the interface went down.
    if (count < 0 && errno == EINVAL) ++counters_.not_received;
    ++counters_.receive_calls_empty;
    return {};
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) take(i, in_messages_[i].msg_len);
  return {arrived_.data(), arrived_count_};
}

// The frame is where it was received, but for the addresses, which make room for a tag that the kernel has taken out.
void PacketPort::take(std::size_t index, std::size_t bytes) noexcept {
  Incoming& in = in_[index];
  ++counters_.frames_in;
  counters_.bytes_in += bytes - std::min(bytes, sizeof in.offload);
  if (bytes < sizeof in.offload + kMacBytes + 2 || bytes - sizeof in.offload > kMaxFrameBytes) {
    ++counters_.truncated;
    return;
  }
  std::byte* frame = &in_bytes_[index * kInBytes + kTagRoom];
  std::size_t frame_bytes = bytes - sizeof in.offload;
  Offload offload{.flags = static_cast<std::uint8_t>(in.offload.flags & Offload::kChecksumIsUnfinished), .gso_type = in.offload.gso_type};
  if (!offload.is_none()) {
    offload.header_bytes = in.offload.header_bytes;
    offload.segment_bytes = in.offload.segment_bytes;
    offload.checksum_start = in.offload.checksum_start;
    offload.checksum_offset = in.offload.checksum_offset;
  }
  msghdr& header = in_messages_[index].msg_hdr;
  for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
    if (each->cmsg_level != SOL_PACKET || each->cmsg_type != PACKET_AUXDATA) continue;
    tpacket_auxdata auxiliary;
    std::memcpy(&auxiliary, CMSG_DATA(each), sizeof auxiliary);
    if ((auxiliary.tp_status & TP_STATUS_VLAN_VALID) == 0) continue;
    const std::uint16_t type = (auxiliary.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0 ? auxiliary.tp_vlan_tpid : ETH_P_8021Q;
    std::memmove(frame - kTagRoom, frame, kMacBytes);
    frame -= kTagRoom;
    frame_bytes += kTagRoom;
    const std::array<std::uint16_t, 2> tag{htons(type), htons(auxiliary.tp_vlan_tci)};
    std::memcpy(frame + kMacBytes, tag.data(), sizeof tag);
    if (!offload.is_none()) {
      offload.header_bytes = static_cast<std::uint16_t>(offload.header_bytes + kTagRoom);
      offload.checksum_start = static_cast<std::uint16_t>(offload.checksum_start + kTagRoom);
    }
  }
  arrived_[arrived_count_++] = {.bytes = {frame, frame_bytes}, .offload = offload};
}

void PacketPort::send(const FramePieces& pieces) noexcept {
  if (out_count_ == kBatch) flush();
  Outgoing& out = out_[out_count_];
  assert(pieces.head.size() <= out.head.size() && pieces.tail.size() <= out.tail.size());
  out.offload = {.flags = pieces.offload.flags, .gso_type = pieces.offload.gso_type, .header_bytes = pieces.offload.header_bytes,
                 .segment_bytes = pieces.offload.segment_bytes, .checksum_start = pieces.offload.checksum_start, .checksum_offset = pieces.offload.checksum_offset};
  msghdr& header = out_messages_[out_count_].msg_hdr;
  header.msg_iovlen = 0;
  const auto add = [&](const void* bytes, std::size_t count) {
    if (count != 0) out.pieces[header.msg_iovlen++] = {.iov_base = const_cast<void*>(bytes), .iov_len = count};
  };
  add(&out.offload, sizeof out.offload);
  std::copy(pieces.head.begin(), pieces.head.end(), out.head.begin());
  add(out.head.data(), pieces.head.size());
  add(pieces.body.data(), pieces.body.size());
  std::copy(pieces.tail.begin(), pieces.tail.end(), out.tail.begin());
  add(out.tail.data(), pieces.tail.size());
  out_bodies_[out_count_] = pieces.body.data();
  counters_.bytes_out += pieces.head.size() + pieces.body.size() + pieces.tail.size();
  ++out_count_;
}

void PacketPort::before_change(std::span<const std::byte> body) noexcept {
  const auto end = out_bodies_.begin() + static_cast<std::ptrdiff_t>(out_count_);
  if (!body.empty() && std::find(out_bodies_.begin(), end, body.data()) != end) flush();
}

void PacketPort::flush() noexcept {
  send_batch(socket_.get(), std::span(out_messages_).first(out_count_), {.calls = counters_.send_calls, .sent = counters_.frames_out, .not_sent = counters_.not_sent});
  out_count_ = 0;
}

// What the kernel has dropped is counted by the kernel, and its count begins anew whenever it is read.
FramePortCounters PacketPort::counters() const noexcept {
  tpacket_stats statistics{};
  socklen_t size = sizeof statistics;
  if (::getsockopt(socket_.get(), SOL_PACKET, PACKET_STATISTICS, &statistics, &size) == 0) kernel_drops_ += statistics.tp_drops;
  FramePortCounters all = counters_;
  all.not_received += kernel_drops_;
  return all;
}

}  // namespace ina::softswitch
