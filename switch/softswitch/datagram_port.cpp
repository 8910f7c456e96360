#include "switch/softswitch/datagram_port.hpp"

#include <cassert>
#include <cerrno>
#include <cstring>

#include "switch/softswitch/send_batch.hpp"

namespace ina::softswitch {

DatagramPort::DatagramPort(net::Descriptor socket)
    : socket_(std::move(socket)), in_bytes_(std::make_unique_for_overwrite<std::byte[]>(kBatch * kMaxDatagramBytes)) {
  for (std::size_t i = 0; i < kBatch; ++i) {
    in_vectors_[i] = {.iov_base = &in_bytes_[i * kMaxDatagramBytes], .iov_len = kMaxDatagramBytes};
    in_messages_[i].msg_hdr = {.msg_name = &in_addresses_[i], .msg_namelen = 0, .msg_iov = &in_vectors_[i], .msg_iovlen = 1,
                               .msg_control = nullptr, .msg_controllen = 0, .msg_flags = 0};
    out_messages_[i].msg_hdr = {.msg_name = &out_addresses_[i], .msg_namelen = 0, .msg_iov = out_vectors_[i].data(), .msg_iovlen = 0,
                                .msg_control = nullptr, .msg_controllen = 0, .msg_flags = 0};
  }
}

std::size_t DatagramPort::read_batch() noexcept {
  for (auto& message : in_messages_) message.msg_hdr.msg_namelen = sizeof(sockaddr_storage);
  int count;
  do {
    ++counters_.receive_calls;
    count = ::recvmmsg(socket_.get(), in_messages_.data(), kBatch, MSG_DONTWAIT, nullptr);
    // ECONNREFUSED and the like report the fate of an earlier datagram; the next call reads on.
  } while (count < 0 && errno != EAGAIN && errno != EBADF && errno != ENOTSOCK && errno != EINVAL && errno != EFAULT && errno != ENOMEM);
  if (count <= 0) {
    ++counters_.receive_calls_empty;
    return 0;
  }
  counters_.datagrams_in += static_cast<std::uint64_t>(count);
  for (int i = 0; i < count; ++i) counters_.bytes_in += in_messages_[static_cast<std::size_t>(i)].msg_len;
  return static_cast<std::size_t>(count);
}

void DatagramPort::send(const wire::UdpAddress& to, const Pieces& pieces) noexcept {
  if (out_count_ == kBatch) flush();
  Small& small = out_small_[out_count_];
  assert(pieces.head.size() <= small.head.size() && pieces.tail.size() <= small.tail.size());
  auto& vectors = out_vectors_[out_count_];
  msghdr& header = out_messages_[out_count_].msg_hdr;
  header.msg_namelen = to.to_sockaddr(out_addresses_[out_count_]);
  header.msg_iovlen = 0;
  const auto add = [&](const std::byte* bytes, std::size_t count) {
    vectors[header.msg_iovlen++] = {.iov_base = const_cast<std::byte*>(bytes), .iov_len = count};
    counters_.bytes_out += count;
  };
  if (!pieces.head.empty()) {
    std::memcpy(small.head.data(), pieces.head.data(), pieces.head.size());
    add(small.head.data(), pieces.head.size());
  }
  if (!pieces.body.empty()) add(pieces.body.data(), pieces.body.size());
  if (!pieces.tail.empty()) {
    std::memcpy(small.tail.data(), pieces.tail.data(), pieces.tail.size());
    add(small.tail.data(), pieces.tail.size());
  }
  ++out_count_;
}

void DatagramPort::before_change(std::span<const std::byte> body) noexcept {
  if (body.empty()) return;
  for (std::size_t i = 0; i < out_count_; ++i) {
    for (std::size_t piece = 0; piece < out_messages_[i].msg_hdr.msg_iovlen; ++piece) {
      if (out_vectors_[i][piece].iov_base == body.data()) return flush();
    }
  }
}

void DatagramPort::flush() noexcept {
  send_batch(socket_.get(), std::span(out_messages_).first(out_count_), {.calls = counters_.send_calls, .sent = counters_.datagrams_out, .not_sent = counters_.not_sent});
  out_count_ = 0;
}

}  // namespace ina::softswitch
