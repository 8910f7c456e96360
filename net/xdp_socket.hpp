// xdp_socket.hpp: an AF_XDP socket on one receive queue of a device, its rings, and the packet memory that several of them share.
// Used by XdpIo.
// Knows frames of packet memory only, nothing of what is in them.
#pragma once

#include <linux/if_xdp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "net/descriptor.hpp"

namespace ina::net {

// Memory that both sides see; unmapped at the end.
class Mapping {
 public:
  Mapping() noexcept = default;
  Mapping(std::byte* address, std::size_t bytes) noexcept : address_(address), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept : address_(std::exchange(other.address_, nullptr)), bytes_(other.bytes_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();
  [[nodiscard]] std::byte* data() const noexcept { return address_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }

 private:
  std::byte* address_ = nullptr;
  std::size_t bytes_ = 0;
};

// Frames of 4096 bytes, the largest that every kernel from 5.10 on takes.
class PacketMemory {
 public:
  static constexpr std::uint32_t kFrameBytes = 4096;
  // What the kernel puts in front of a received packet stays free: so much is left for a packet, from the destination MAC on.
  static constexpr std::uint32_t kPacketBytes = kFrameBytes - 256;
  explicit PacketMemory(std::uint32_t frames);  // throws Error
  [[nodiscard]] std::uint32_t frames() const noexcept { return static_cast<std::uint32_t>(memory_.size() / kFrameBytes); }
  [[nodiscard]] std::span<std::byte> all() const noexcept { return {memory_.data(), memory_.size()}; }
  [[nodiscard]] std::byte* at(std::uint64_t address) const noexcept { return memory_.data() + address; }

 private:
  Mapping memory_;
};

// One side of a ring that the kernel has the other side of. The indexes count up for ever.
template <typename Entry>
class XdpRing {
 public:
  XdpRing() noexcept = default;
  XdpRing(Mapping memory, const xdp_ring_offset& at, std::uint32_t size) noexcept
      : memory_(std::move(memory)),
        producer_(reinterpret_cast<std::uint32_t*>(memory_.data() + at.producer)),
        consumer_(reinterpret_cast<std::uint32_t*>(memory_.data() + at.consumer)),
        flags_(reinterpret_cast<std::uint32_t*>(memory_.data() + at.flags)),
        entries_(reinterpret_cast<Entry*>(memory_.data() + at.desc)),
        size_(size) {}

  // For a ring that we fill.
  [[nodiscard]] std::uint32_t free() const noexcept { return size_ - (next_ - load(consumer_)); }
  void put(const Entry& entry) noexcept { entries_[next_++ & (size_ - 1)] = entry; }
  void publish() noexcept { std::atomic_ref(*producer_).store(next_, std::memory_order_release); }
  [[nodiscard]] bool is_drained() const noexcept { return load(consumer_) == next_; }
  [[nodiscard]] bool needs_wakeup() const noexcept { return (std::atomic_ref(*flags_).load(std::memory_order_relaxed) & XDP_RING_NEED_WAKEUP) != 0; }
  // For a ring that the kernel fills.
  [[nodiscard]] std::uint32_t available() const noexcept { return load(producer_) - next_; }
  [[nodiscard]] Entry take() noexcept { return entries_[next_++ & (size_ - 1)]; }
  void release() noexcept { std::atomic_ref(*consumer_).store(next_, std::memory_order_release); }

 private:
  static std::uint32_t load(std::uint32_t* index) noexcept { return std::atomic_ref(*index).load(std::memory_order_acquire); }
  Mapping memory_;
  std::uint32_t* producer_ = nullptr;
  std::uint32_t* consumer_ = nullptr;
  std::uint32_t* flags_ = nullptr;
  Entry* entries_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t next_ = 0;
};

struct XdpSocketOptions {
  unsigned device_index = 0;
  unsigned queue = 0;
  bool may_be_zero_copy = false;
  std::uint32_t receive_frames = 0;   // a power of two; 0: does not receive
  std::uint32_t transmit_frames = 0;  // a power of two; 0: does not send
  int shared_with = -1;               // the socket that has registered the memory; -1: this one does
};

class XdpSocket {
 public:
  XdpSocket(const XdpSocketOptions&, const PacketMemory&);  // throws Error
  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  [[nodiscard]] bool is_zero_copy() const noexcept;
  // Makes the kernel send what is in the ring; returns the number of system calls.
  unsigned kick() noexcept;
  void wake_receiver() noexcept;

  XdpRing<xdp_desc> received;
  XdpRing<xdp_desc> transmit;
  XdpRing<std::uint64_t> fill;        // frames that packets may be received into
  XdpRing<std::uint64_t> completion;  // frames that were sent

 private:
  void set_up_rings(const XdpSocketOptions&);
  Descriptor socket_;
};

}  // namespace ina::net
