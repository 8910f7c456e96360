#include "net/xdp_socket.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "net/error.hpp"

#ifndef SOL_XDP
#define SOL_XDP 283
#endif

namespace ina::net {
namespace {

constexpr unsigned kMaxKicks = 8;           // a call takes 32 packets where packets are copied
constexpr int kSendBufferBytes = 4 << 20;   // what the kernel may have copied and not yet handed to the device

[[noreturn]] void fail(const std::string& what) {
  const int error = errno;
  const char* const hint = error == EPERM || error == EACCES ? " (AF_XDP needs CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW)"
                           : error == ENOBUFS                ? " (RLIMIT_MEMLOCK, ulimit -l, is less than the packet memory)"
                           : error == EBUSY                  ? " (another process has this receive queue)"
                                                             : "";
  throw Error(Failure::kSystem, what + ": " + std::strerror(error) + hint);
}

void set(int socket, int option, const void* value, socklen_t bytes, const char* name) {
  if (setsockopt(socket, SOL_XDP, option, value, bytes) != 0) fail(std::string("cannot set ") + name + " of an AF_XDP socket");
}

template <typename Entry>
XdpRing<Entry> map_ring(int socket, const xdp_ring_offset& at, std::uint32_t size, off_t which) {
  const std::size_t bytes = at.desc + size * sizeof(Entry);
  void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket, which);
  if (address == MAP_FAILED) fail("cannot map a ring of an AF_XDP socket");
  return {Mapping(static_cast<std::byte*>(address), bytes), at, size};
}

// The kernel gives back the receive queue of a socket that was closed some time after the close, in a work queue of its own, and tells nobody when.
bool bind_when_free(int socket, const sockaddr_xdp& address) noexcept {
  constexpr int kMostMilliseconds = 500;
  for (int waited = 0;; ++waited) {
    if (bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
    if (errno != EBUSY || waited == kMostMilliseconds) return false;
    (void)poll(nullptr, 0, 1);
  }
}

}  // namespace

Mapping::~Mapping() {
  if (address_ != nullptr) munmap(address_, bytes_);
}

PacketMemory::PacketMemory(std::uint32_t frames) {
  const std::size_t bytes = std::size_t{frames} * kFrameBytes;
  void* const address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (address == MAP_FAILED) fail("no packet memory for AF_XDP");
  memory_ = Mapping(static_cast<std::byte*>(address), bytes);
}

XdpSocket::XdpSocket(const XdpSocketOptions& options, const PacketMemory& memory) : socket_(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)) {
  if (!socket_) fail("cannot open an AF_XDP socket");
  if (options.shared_with < 0) {
    xdp_umem_reg registration{};
    registration.addr = reinterpret_cast<std::uintptr_t>(memory.all().data());
    registration.len = memory.all().size();
    registration.chunk_size = PacketMemory::kFrameBytes;
    set(socket_.get(), XDP_UMEM_REG, &registration, sizeof registration, "the packet memory");
  }
  set_up_rings(options);
  if (setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kSendBufferBytes, sizeof kSendBufferBytes) != 0) {
    (void)setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof kSendBufferBytes);
  }
  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_ifindex = options.device_index;
  address.sxdp_queue_id = options.queue;
  if (options.shared_with >= 0) {
    address.sxdp_flags = XDP_SHARED_UMEM;  // and the rest as that socket has it
    address.sxdp_shared_umem_fd = static_cast<std::uint32_t>(options.shared_with);
  } else {
    address.sxdp_flags = static_cast<std::uint16_t>(XDP_USE_NEED_WAKEUP | (options.may_be_zero_copy ? 0 : XDP_COPY));
  }
  if (!bind_when_free(socket_.get(), address)) {
    fail("cannot bind an AF_XDP socket to receive queue " + std::to_string(options.queue));
  }
}

void XdpSocket::set_up_rings(const XdpSocketOptions& options) {
  const int socket = socket_.get();
  // Every socket has a fill ring and a completion ring, also one that does not receive or send: the kernel insists.
  const std::uint32_t completions = std::max(options.transmit_frames, 2u);
  const std::uint32_t fills = std::max(options.receive_frames, 2u);
  set(socket, XDP_UMEM_FILL_RING, &fills, sizeof fills, "the fill ring");
  set(socket, XDP_UMEM_COMPLETION_RING, &completions, sizeof completions, "the completion ring");
  if (options.receive_frames != 0) set(socket, XDP_RX_RING, &options.receive_frames, sizeof options.receive_frames, "the receive ring");
  if (options.transmit_frames != 0) set(socket, XDP_TX_RING, &options.transmit_frames, sizeof options.transmit_frames, "the transmit ring");
  xdp_mmap_offsets at{};
  socklen_t bytes = sizeof at;
  if (getsockopt(socket, SOL_XDP, XDP_MMAP_OFFSETS, &at, &bytes) != 0 || bytes != sizeof at) fail("cannot find the rings of an AF_XDP socket");
  fill = map_ring<std::uint64_t>(socket, at.fr, fills, static_cast<off_t>(XDP_UMEM_PGOFF_FILL_RING));
  completion = map_ring<std::uint64_t>(socket, at.cr, completions, static_cast<off_t>(XDP_UMEM_PGOFF_COMPLETION_RING));
  if (options.receive_frames != 0) received = map_ring<xdp_desc>(socket, at.rx, options.receive_frames, XDP_PGOFF_RX_RING);
  if (options.transmit_frames != 0) transmit = map_ring<xdp_desc>(socket, at.tx, options.transmit_frames, XDP_PGOFF_TX_RING);
}

bool XdpSocket::is_zero_copy() const noexcept {
  xdp_options options{};
  socklen_t bytes = sizeof options;
  return getsockopt(socket_.get(), SOL_XDP, XDP_OPTIONS, &options, &bytes) == 0 && (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

unsigned XdpSocket::kick() noexcept {
  unsigned calls = 0;
  while (calls < kMaxKicks && transmit.needs_wakeup() && !transmit.is_drained()) {
    ++calls;
    const auto status = sendto(socket_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
    if (status >= 0 || (errno != EAGAIN && errno != EINTR)) break;  // an error: the next call tries again
  }
  return calls;
}

void XdpSocket::wake_receiver() noexcept {
  if (fill.needs_wakeup()) (void)recvfrom(socket_.get(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

}  // namespace ina::net
