// xdp_port.hpp: a port over AF_XDP: RoCE packets of an interface, past the kernel's bridge, which forwards everything else.
// Used by the program in xdp mode, one for each interface; all of them share one packet memory.
// Does not put the interface into a bridge (kernel_bridge.hpp), and does not look into frames.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "net/xdp_program.hpp"
#include "net/xdp_socket.hpp"
#include "switch/softswitch/frame_port.hpp"
#include "switch/softswitch/side_entry.hpp"
#include "switch/softswitch/xdp_frames.hpp"

namespace ina::softswitch {

class XdpPort final : public FramePort {
 public:
  // Of packet memory: half of it to receive into, the rest for what is being sent or looked at. Twice as many cost a sixth of the packets
  // a second, since frames that the kernel fills in turn would not stay in a cache.
  static constexpr std::uint32_t kFramesPerPort = 1024;
  // The largest frame either way. What is larger the kernel forwards, so that groups get chunks that fit.
  static constexpr std::size_t kMaxFrameBytes = net::PacketMemory::kPacketBytes;

  XdpPort(const std::string& device, std::shared_ptr<XdpFrames>);  // throws net::Error
  ~XdpPort() override;
  XdpPort(const XdpPort&) = delete;

  [[nodiscard]] std::span<const ArrivedFrame> receive() noexcept override;
  void send(const FramePieces&) noexcept override;
  void flush() noexcept override;
  void before_change(std::span<const std::byte>) noexcept override {}  // what was not received by AF_XDP is copied when it is sent
  [[nodiscard]] std::span<const int> descriptors() const noexcept override { return descriptors_; }
  [[nodiscard]] bool takes_all_frames() const noexcept override { return false; }
  [[nodiscard]] FramePortCounters counters() const noexcept override;

  [[nodiscard]] std::size_t queues() const noexcept { return sockets_.size(); }
  // How packets reach the sockets, for the log: "the driver's XDP, without copying", ...
  [[nodiscard]] std::string way() const;

 private:
  using Frame = XdpFrames::Index;
  void open_beside(const std::string& device, unsigned index);
  void open_directly(const std::string& device, unsigned index);
  void attach(const std::string& device, unsigned index, unsigned queues);
  void open_receiver(unsigned device_index, unsigned queue, std::uint32_t transmit_frames);
  void close() noexcept;
  void fill(std::size_t queue) noexcept;
  void receive_from(std::size_t queue) noexcept;
  [[nodiscard]] std::optional<std::uint64_t> to_packet_memory(const FramePieces&) noexcept;  // where the whole frame lies, held
  void recycle() noexcept;
  void use(Frame frame) noexcept { ++uses_[frame]; }
  void release(Frame frame) noexcept {
    --uses_[frame];
    frames_->release(frame);
  }

  std::shared_ptr<XdpFrames> frames_;
  std::unique_ptr<SideEntry> side_entry_;
  std::unique_ptr<net::XdpProgram> program_;
  std::vector<net::XdpSocket> sockets_;  // one for each receive queue
  std::unique_ptr<net::XdpSocket> apart_;  // sends where packets do not come in by the interface itself
  net::XdpSocket* sender_ = nullptr;       // that one, or the first of the others
  std::vector<int> descriptors_;
  std::vector<std::uint32_t> filled_;    // of each queue: frames that the kernel may receive into, or has
  std::uint32_t fill_target_ = 0;
  std::vector<std::uint8_t> uses_;       // of each frame: how often this port holds it, in a ring or handed out
  std::array<ArrivedFrame, kBatch> arrived_{};
  std::array<Frame, kBatch> handed_out_{};
  std::size_t arrived_count_ = 0;
  std::size_t first_queue_ = 0;
  FramePortCounters counters_;
};

}  // namespace ina::softswitch
