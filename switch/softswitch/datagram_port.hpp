// datagram_port.hpp: the relay's UDP socket, read and written in batches.
// Used by the program's loop and as the relay's outbox.
// Does not look into datagrams; a datagram that the kernel does not take at once is dropped and counted, as a full switch queue would.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>

#include "net/descriptor.hpp"
#include "switch/softswitch/outbox.hpp"

namespace ina::softswitch {

struct PortCounters {
  std::uint64_t datagrams_in = 0, datagrams_out = 0, bytes_in = 0, bytes_out = 0;
  std::uint64_t receive_calls = 0, receive_calls_empty = 0, send_calls = 0;
  std::uint64_t not_sent = 0;    // the kernel refused it
  std::uint64_t truncated = 0;   // longer than any packet of the protocol
};

class DatagramPort final : public Outbox {
 public:
  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kMaxDatagramBytes = 9216;  // a jumbo frame

  explicit DatagramPort(net::Descriptor socket);

  [[nodiscard]] int fd() const noexcept { return socket_.get(); }
  [[nodiscard]] const PortCounters& counters() const noexcept { return counters_; }

  // Reads what is there, at most a batch, without waiting. Calls take(from, bytes) for each; the bytes may be changed and stay until the next call.
  template <typename Take>
  std::size_t receive(Take take) noexcept {
    const std::size_t count = read_batch();
    for (std::size_t i = 0; i < count; ++i) {
      if ((in_messages_[i].msg_hdr.msg_flags & MSG_TRUNC) != 0) {
        ++counters_.truncated;
        continue;
      }
      const auto from = wire::UdpAddress::from_sockaddr(in_addresses_[i]);
      if (from) take(*from, std::span<std::byte>(&in_bytes_[i * kMaxDatagramBytes], in_messages_[i].msg_len));
    }
    return count;
  }

  void send(const wire::UdpAddress& to, const Pieces&) noexcept override;
  void flush() noexcept override;
  void before_change(std::span<const std::byte> body) noexcept override;

 private:
  struct Small {
    std::array<std::byte, 64> head;
    std::array<std::byte, 8> tail;
  };
  std::size_t read_batch() noexcept;

  net::Descriptor socket_;
  PortCounters counters_;
  std::unique_ptr<std::byte[]> in_bytes_;
  std::array<mmsghdr, kBatch> in_messages_{};
  std::array<iovec, kBatch> in_vectors_{};
  std::array<sockaddr_storage, kBatch> in_addresses_{};
  std::array<mmsghdr, kBatch> out_messages_{};
  std::array<std::array<iovec, 3>, kBatch> out_vectors_{};
  std::array<sockaddr_storage, kBatch> out_addresses_{};
  std::array<Small, kBatch> out_small_{};
  std::size_t out_count_ = 0;
};

}  // namespace ina::softswitch
