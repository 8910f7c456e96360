// frame_port.hpp: a network interface as the switch in the wire uses it: Ethernet frames in batches, in and out.
// Implemented by PacketPort (AF_PACKET) and by what else can move frames; used by the program's loop and by WireSwitch, which alone decides.
// Does not look into frames; one that the kernel does not take at once is dropped and counted, as a full switch queue would.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ina::softswitch {

// What a sending stack has left to its hardware, in the numbers of struct virtio_net_hdr; all zero: nothing, the frame is as on a wire.
struct Offload {
  static constexpr std::uint8_t kChecksumIsUnfinished = 1;  // a flag: VIRTIO_NET_HDR_F_NEEDS_CSUM
  static constexpr std::uint8_t kUdpSegments = 5;           // a gso_type: VIRTIO_NET_HDR_GSO_UDP_L4, newer than some systems' headers
  std::uint8_t flags = 0;            // VIRTIO_NET_HDR_F_*
  std::uint8_t gso_type = 0;         // VIRTIO_NET_HDR_GSO_*
  std::uint16_t header_bytes = 0;    // of a super-frame, up to the payload
  std::uint16_t segment_bytes = 0;   // payload of each frame that it stands for
  std::uint16_t checksum_start = 0;  // where the unfinished checksum begins
  std::uint16_t checksum_offset = 0;  // where it is stored, from there
  [[nodiscard]] bool is_none() const noexcept { return flags == 0 && gso_type == 0; }
};

// A frame from the destination MAC on, a VLAN tag in its place, without frame check sequence. The bytes stay until the port's next
// receive() and may be changed.
struct ArrivedFrame {
  std::span<std::byte> bytes;
  Offload offload;
};

// A frame to send, in three pieces. head and tail are copied; body must stay as it is until flush() or before_change() of it returns.
struct FramePieces {
  static constexpr std::size_t kMaxHeadBytes = 160;  // all headers down to the INA header's
  static constexpr std::size_t kMaxTailBytes = 8;
  std::span<const std::byte> head;
  std::span<const std::byte> body;
  std::span<const std::byte> tail;
  Offload offload;
};

struct FramePortCounters {
  std::uint64_t frames_in = 0, frames_out = 0, bytes_in = 0, bytes_out = 0;
  std::uint64_t receive_calls = 0, receive_calls_empty = 0, send_calls = 0;
  std::uint64_t not_sent = 0;     // the kernel refused it
  std::uint64_t not_received = 0; // the kernel had no room for it
  std::uint64_t truncated = 0;    // longer than the port can take
};

class FramePort {
 public:
  static constexpr std::size_t kBatch = 64;

  virtual ~FramePort() = default;
  // What is there, at most kBatch, without waiting.
  [[nodiscard]] virtual std::span<const ArrivedFrame> receive() noexcept = 0;
  virtual void send(const FramePieces&) noexcept = 0;
  virtual void flush() noexcept = 0;
  // These bytes are about to be overwritten: a frame whose body begins there is sent first.
  virtual void before_change(std::span<const std::byte> body) noexcept = 0;
  // Readable when receive() has something. The same ones for the life of the port.
  [[nodiscard]] virtual std::span<const int> descriptors() const noexcept = 0;
  // Every frame of the interface comes here; if not, only what can be a RoCE packet does, and the kernel forwards the rest.
  [[nodiscard]] virtual bool takes_all_frames() const noexcept = 0;
  [[nodiscard]] virtual FramePortCounters counters() const noexcept = 0;
};

}  // namespace ina::softswitch
