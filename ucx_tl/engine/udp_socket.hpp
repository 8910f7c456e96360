// udp_socket.hpp: PacketIo over a UDP socket of the kernel, with sendmmsg and recvmmsg.
// Used by the transport; the socket's packets have DF and IPv4 identifications that are known before, so that an ICRC can be computed for them.
// Does not connect: a connected socket would count identifications.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "net/segmenting_sender.hpp"
#include "ucx_tl/engine/packet_io.hpp"
#include "ucx_tl/engine/shared_port.hpp"

namespace ina::engine {

struct UdpSocketOptions {
  wire::UdpAddress local;      // one specific address; port 0: any
  bool prefer_roce_port = false;  // with port 0: 4791 if it can be had, alone or shared
  bool share_port = false;        // 4791, or the port that is given, with other processes of this user
  std::size_t buffer_bytes = 0;   // wanted for each direction; the system may give less
  bool ecn = false;               // outgoing packets may be marked by queues; marks of incoming packets are told
  bool segmentation = false;      // runs of packets are given to the kernel as one large datagram, if it knows that
};

class UdpSocket final : public PacketIo {
 public:
  explicit UdpSocket(const UdpSocketOptions&);  // throws Error
  ~UdpSocket() override;
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  [[nodiscard]] SendResult send(std::span<const OutgoingPacket>) noexcept override;
  [[nodiscard]] std::span<const IncomingPacket> receive() noexcept override;
  [[nodiscard]] int descriptor() const noexcept override { return shared_ ? shared_->descriptor() : descriptor_; }
  [[nodiscard]] const wire::UdpAddress& local() const noexcept { return local_; }
  // With a shared port: the top byte that the QP numbers of this socket's user must have.
  [[nodiscard]] std::optional<std::uint8_t> qpn_top_byte() const noexcept { return shared_ ? std::optional(shared_->top_byte()) : std::nullopt; }
  [[nodiscard]] std::uint64_t misled() const noexcept { return shared_ ? shared_->misled() : 0; }
  [[nodiscard]] bool uses_ecn() const noexcept { return ecn_; }
  [[nodiscard]] const net::SegmentingSender& sender() const noexcept { return sender_; }

 private:
  void open(const UdpSocketOptions&);
  void open_unbound(const UdpSocketOptions&);
  [[nodiscard]] bool join_shared(const UdpSocketOptions&, std::uint16_t port);
  [[nodiscard]] std::span<IncomingPacket> receive_datagrams() noexcept;

  struct Buffer {
    alignas(64) std::array<std::byte, kMaxUdpPayload> bytes;
  };
  // Room for one control message with an int: the type of service, if it is asked for.
  struct Control {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes;
  };
  int descriptor_ = -1;
  std::unique_ptr<SharedPort> shared_;
  bool ecn_ = false;
  net::SegmentingSender sender_;
  wire::UdpAddress local_;
  std::unique_ptr<Buffer[]> buffers_;
  std::array<mmsghdr, kBatchPackets> receive_headers_{};
  std::array<iovec, kBatchPackets> receive_pieces_{};
  std::array<sockaddr_storage, kBatchPackets> sources_{};
  std::array<Control, kBatchPackets> controls_{};
  std::array<mmsghdr, kBatchPackets> send_headers_{};
  std::array<IncomingPacket, kBatchPackets> incoming_{};
};

}  // namespace ina::engine
