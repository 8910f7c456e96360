// segmenting_sender.hpp: sendmmsg() for RoCE packets that hands runs of equal packets to the kernel as one large datagram (UDP GSO).
// Used by whoever sends RoCE packets through a UDP socket that is not connected and has DF set: the kernel then counts IPv4 identifications
// from 0 in each large datagram. Does not decide whether that is wise on a device, see netdev_features.hpp.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/identification.hpp"

namespace ina::net {

// The kernel walks its stack once for a large datagram and cuts it behind. All segments have one size but for the last, which may be shorter.
class SegmentingSender {
 public:
  static constexpr std::size_t kMaxPackets = 64;

  // From now on runs go out as large datagrams. False: this kernel knows none. The socket must compute checksums (no SO_NO_CHECK).
  [[nodiscard]] bool enable(int descriptor) noexcept;
  [[nodiscard]] bool is_enabled() const noexcept { return is_enabled_; }
  // The kernel has refused a large datagram, and packets go out one by one since then.
  [[nodiscard]] bool was_refused() const noexcept { return was_refused_; }

  // As sendmmsg() with flags: returns how many of the leading packets the system took, or -1 with errno of the first one. At most kMaxPackets,
  // without control messages. The ICRC, the last 4 bytes of a packet's last piece, is right for identification 0 before and after the call;
  // of packets that were taken it is undefined afterwards.
  [[nodiscard]] int send(int descriptor, std::span<mmsghdr> packets, int flags) noexcept;

 private:
  struct Run {
    std::size_t first;    // packet
    std::size_t packets;
    std::size_t bytes;    // of each packet but perhaps the last
  };
  struct alignas(cmsghdr) Control {
    std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
  };
  [[nodiscard]] Run find_run(std::span<const mmsghdr> packets, std::size_t first, std::size_t room) const noexcept;
  void make_message(std::span<const mmsghdr> packets, const Run&) noexcept;
  void identify(std::span<const mmsghdr> packets, const Run&) noexcept;
  void plan(std::span<const mmsghdr> packets) noexcept;
  [[nodiscard]] int take_back_unsent(std::span<const mmsghdr> packets, int sent) noexcept;

  bool is_enabled_ = false;
  bool was_refused_ = false;
  wire::IdentificationEffects effects_;
  std::size_t run_count_ = 0;
  std::size_t piece_count_ = 0;
  std::array<Run, kMaxPackets> runs_;
  std::array<mmsghdr, kMaxPackets> messages_;
  std::array<Control, kMaxPackets> controls_;
  std::array<iovec, 1024> pieces_;  // as many as one message may have
};

}  // namespace ina::net
