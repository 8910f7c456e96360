#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "test/perf/udp_yardstick.hpp"

namespace ina::yardstick {
namespace {

constexpr int kSocketBufferBytes = 16 << 20;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

}  // namespace

PacketHeader Packet::header() const noexcept {
  PacketHeader header;
  std::memcpy(&header, data.data(), sizeof(header));
  return header;
}

void Packet::set_header(PacketHeader header) noexcept { std::memcpy(data.data(), &header, sizeof(header)); }

float* Packet::lanes() noexcept { return reinterpret_cast<float*>(data.data() + sizeof(PacketHeader)); }

Port::Port(const sockaddr_in& local)
    : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)), in_(kBatch), out_(kBatch), in_headers_(kBatch), out_headers_(kBatch),
      in_vectors_(kBatch), out_vectors_(kBatch) {
  if (fd_ < 0) fail("socket");
  for (const int direction : {SO_RCVBUFFORCE, SO_SNDBUFFORCE, SO_RCVBUF, SO_SNDBUF}) {
    if (::setsockopt(fd_, SOL_SOCKET, direction, &kSocketBufferBytes, sizeof(kSocketBufferBytes)) != 0 && errno != EPERM) fail("socket buffer");
  }
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&local), sizeof(local)) != 0) fail("bind");
  for (unsigned i = 0; i < kBatch; ++i) {
    in_vectors_[i] = {.iov_base = in_[i].data.data(), .iov_len = kMostPacketBytes};
    out_vectors_[i] = {.iov_base = out_[i].data.data(), .iov_len = 0};
    in_headers_[i].msg_hdr = {.msg_name = &in_[i].peer, .msg_namelen = sizeof(sockaddr_in), .msg_iov = &in_vectors_[i], .msg_iovlen = 1,
                              .msg_control = nullptr, .msg_controllen = 0, .msg_flags = 0};
    out_headers_[i].msg_hdr = {.msg_name = &out_[i].peer, .msg_namelen = sizeof(sockaddr_in), .msg_iov = &out_vectors_[i], .msg_iovlen = 1,
                               .msg_control = nullptr, .msg_controllen = 0, .msg_flags = 0};
  }
}

Port::~Port() { ::close(fd_); }

sockaddr_in Port::address() const {
  sockaddr_in own{};
  socklen_t bytes = sizeof(own);
  if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &bytes) != 0) fail("getsockname");
  return own;
}

Packet& Port::next_out() {
  if (queued_ == kBatch) flush();
  return out_[queued_++];
}

void Port::flush() {
  for (unsigned i = 0; i < queued_; ++i) out_vectors_[i].iov_len = out_[i].bytes;
  for (unsigned sent = 0; sent < queued_;) {
    const int count = ::sendmmsg(fd_, &out_headers_[sent], queued_ - sent, 0);
    if (count > 0) sent += static_cast<unsigned>(count);
    else if (errno == ECONNREFUSED || errno == ENOBUFS) ++sent;  // lost: silence has it repeated
    else if (errno != EINTR) fail("sendmmsg");
  }
  queued_ = 0;
}

std::span<Packet> Port::receive(bool polls) {
  flush();
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    const int count = ::recvmmsg(fd_, in_headers_.data(), kBatch, MSG_DONTWAIT, nullptr);
    if (count > 0) {
      for (int i = 0; i < count; ++i) in_[static_cast<unsigned>(i)].bytes = in_headers_[static_cast<unsigned>(i)].msg_len;
      return std::span(in_).first(static_cast<std::size_t>(count));
    }
    if (count < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNREFUSED) fail("recvmmsg");
    if (polls) {
      if (std::chrono::steady_clock::now() - start > std::chrono::milliseconds(kSilenceMs)) return {};
      ::sched_yield();
      continue;
    }
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, kSilenceMs) == 0) return {};
  }
}

sockaddr_in parse_address(const char* text) {
  const std::string all = text;
  const std::size_t colon = all.rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  char* end = nullptr;
  const unsigned long port = colon == std::string::npos ? 65536 : std::strtoul(all.c_str() + colon + 1, &end, 10);
  if (port > 65535 || *end != '\0' || ::inet_pton(AF_INET, all.substr(0, colon).c_str(), &address.sin_addr) != 1) {
    std::fprintf(stderr, "udp_yardstick: %s is no A.B.C.D:PORT\n", text);
    std::exit(2);
  }
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

}  // namespace ina::yardstick
