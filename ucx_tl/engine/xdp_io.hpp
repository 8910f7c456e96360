// xdp_io.hpp: PacketIo over AF_XDP: whole frames from and to the receive queues of a device, past the kernel's UDP and IP.
// Used by the transport where the process may and UCX_INA_IO says so; has the UDP socket that owns the port beside it.
// Does not resolve neighbours or fragment: what it cannot send itself goes by the UDP socket, and what comes there is received, too.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ucx_tl/engine/next_hop.hpp"
#include "ucx_tl/engine/packet_io.hpp"
#include "ucx_tl/engine/udp_socket.hpp"
#include "net/netdev.hpp"
#include "net/xdp_program.hpp"
#include "net/xdp_socket.hpp"

namespace ina::engine {

class XdpIo final : public PacketIo {
 public:
  // Receive queues that get a socket; packets of a device's further queues come by the UDP socket.
  static constexpr unsigned kMaxQueues = 8;
  // Largest IP packet either way.
  static constexpr std::uint32_t kMaxIpBytes = net::PacketMemory::kPacketBytes - wire::kEthernetBytes;

  // Throws Error: the process may not, the device cannot, or another process has it.
  XdpIo(const std::string& device, UdpSocket& socket);

  [[nodiscard]] SendResult send(std::span<const OutgoingPacket>) noexcept override;
  [[nodiscard]] std::span<const IncomingPacket> receive() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override;
  [[nodiscard]] bool is_receive_cheap() const noexcept override { return true; }

  [[nodiscard]] unsigned queues() const noexcept { return static_cast<unsigned>(queues_.size()); }
  [[nodiscard]] bool is_native() const noexcept { return program_->is_native(); }
  [[nodiscard]] bool is_zero_copy() const noexcept { return queues_.front().is_zero_copy(); }

 private:
  void open_queues(const std::string& device);
  enum class PutResult : std::uint8_t { kTaken, kTooLong, kNotNow };
  PutResult put(const OutgoingPacket&, const wire::MacAddress& to) noexcept;
  void recycle() noexcept;
  void give_back_received() noexcept;
  std::size_t receive_from(std::size_t queue, std::size_t count) noexcept;  // returns the new count
  [[nodiscard]] bool is_socket_due() noexcept;

  UdpSocket& socket_;
  net::EthernetDevice device_;
  RouteTable routes_;
  NextHopCache hops_{routes_};
  net::PacketMemory memory_;
  std::optional<net::XdpProgram> program_;
  std::vector<net::XdpSocket> queues_;  // the first one sends
  mutable net::Descriptor epoll_;  // once somebody wants it: every packet costs more from then on
  std::vector<std::uint64_t> free_frames_;  // to send from
  std::array<IncomingPacket, kBatchPackets> incoming_{};
  std::array<std::uint64_t, kBatchPackets> held_{};  // frames that incoming_ refers to
  std::array<std::uint8_t, kBatchPackets> held_for_{};  // whose queue they are
  std::size_t held_count_ = 0;
  std::size_t first_queue_ = 0;
  unsigned calls_until_socket_ = 0;
  unsigned socket_is_busy_ = 0;
};

}  // namespace ina::engine
