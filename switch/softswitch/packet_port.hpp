// packet_port.hpp: a network interface through an AF_PACKET socket: every frame of it, with what the sender's stack has left undone.
// Used by WirePath.
// Does not watch the interface: when it is deleted, the port is dead, and whoever owns it opens another one.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <memory>
#include <string>

#include "net/descriptor.hpp"
#include "switch/softswitch/frame_port.hpp"

namespace ina::softswitch {

class PacketPort final : public FramePort {
 public:
  // device_index: of an interface that exists. Throws SetupError.
  PacketPort(const std::string& device, unsigned device_index);

  [[nodiscard]] std::span<const ArrivedFrame> receive() noexcept override;
  void send(const FramePieces&) noexcept override;
  void flush() noexcept override;
  void before_change(std::span<const std::byte> body) noexcept override;
  [[nodiscard]] std::span<const int> descriptors() const noexcept override { return {&descriptor_, 1}; }
  [[nodiscard]] bool takes_all_frames() const noexcept override { return true; }
  [[nodiscard]] FramePortCounters counters() const noexcept override;

 private:
  // struct virtio_net_hdr, as the kernel puts it in front of every frame here.
  struct OffloadHeader {
    std::uint8_t flags, gso_type;
    std::uint16_t header_bytes, segment_bytes, checksum_start, checksum_offset;
  };
  static constexpr std::size_t kMaxFrameBytes = 18 + 65535;  // a super-frame of a host's stack
  static constexpr std::size_t kTagRoom = 4;  // for a VLAN tag that the kernel has taken out
  static constexpr std::size_t kInBytes = 65664;  // both, in cache lines
  struct Incoming {
    OffloadHeader offload;
    std::array<iovec, 2> pieces;
    alignas(cmsghdr) std::array<std::byte, 64> control;
  };
  struct Outgoing {
    OffloadHeader offload;
    std::array<iovec, 4> pieces;
    std::array<std::byte, FramePieces::kMaxHeadBytes> head;
    std::array<std::byte, FramePieces::kMaxTailBytes> tail;
  };

  void take(std::size_t index, std::size_t bytes) noexcept;

  net::Descriptor socket_;
  int descriptor_;
  FramePortCounters counters_;
  mutable std::uint64_t kernel_drops_ = 0;
  std::unique_ptr<std::byte[]> in_bytes_;
  std::array<Incoming, kBatch> in_{};
  std::array<mmsghdr, kBatch> in_messages_{};
  std::array<ArrivedFrame, kBatch> arrived_{};
  std::size_t arrived_count_ = 0;
  std::array<Outgoing, kBatch> out_{};
  std::array<mmsghdr, kBatch> out_messages_{};
  std::array<const std::byte*, kBatch> out_bodies_{};
  std::size_t out_count_ = 0;
};

}  // namespace ina::softswitch
