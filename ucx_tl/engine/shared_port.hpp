// shared_port.hpp: one UDP port for many processes: a socket's membership in the group that shares it.
// Used by UdpSocket, which hands over what is another member's and receives what others hand over.
// Needs no privilege and no daemon; all that it leaves behind dies with the process. Never blocks but in join().
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "ucx_tl/engine/clock.hpp"
#include "net/descriptor.hpp"
#include "ucx_tl/engine/packet_io.hpp"

namespace ina::engine {

// The kernel keeps the sockets that share a port in places 0, 1, 2 ... in the order of their joining, and its program chooses one by the
// top byte of a packet's destination QP. A member claims a top byte by binding an abstract UNIX socket whose name contains it: the kernel
// lets one process have it and takes it back when that process dies. Usually that is the number of its place, and nothing else is needed.
//
// Places are not for ever: when a member closes, the kernel moves the last one into the hole. Packets for the moved member then arrive at
// another one, which hands them over through the UNIX socket of the claim, so that they are late and not lost; and it asks every place who
// is there (a probe) and gives the kernel a program with the exceptions.
class SharedPort {
 public:
  // Binds the UDP socket, which is not bound yet, to the address and joins. nullptr: not possible here (no room, another user's port, a
  // kernel without it); the socket may be bound then and is of no use.
  [[nodiscard]] static std::unique_ptr<SharedPort> join(int udp_descriptor, const wire::UdpAddress& at);

  // Destination QPs with this top byte are ours.
  [[nodiscard]] std::uint8_t top_byte() const noexcept { return top_byte_; }
  // Becomes readable when a packet has come either way.
  [[nodiscard]] int descriptor() const noexcept { return epoll_.get(); }

  // Takes out of what the UDP socket received what is not for us, handing it over; returns how many packets are left, in front. Messages to
  // QPs that nobody has are left as well.
  [[nodiscard]] std::size_t keep_own(std::span<IncomingPacket> received) noexcept;
  // Usually nothing is handed over, so that it is looked for now and then only: to be asked before each receive of the UDP socket.
  [[nodiscard]] bool is_look_due() noexcept { return ++receives_ >= period_; }
  // What others have handed over; valid until the next call.
  [[nodiscard]] std::span<const IncomingPacket> receive() noexcept;

  // Packets that other members got for us or we for them, in all.
  [[nodiscard]] std::uint64_t misled() const noexcept { return misled_; }

 private:
  static constexpr std::size_t kBatch = 16;
  static constexpr std::size_t kHeaderBytes = 32;
  // Receives of the UDP socket for each look.
  static constexpr unsigned kBusyPeriod = 2;
  static constexpr unsigned kIdlePeriod = 32;
  struct Buffer {
    std::array<std::byte, kHeaderBytes> header;
    alignas(64) std::array<std::byte, kMaxUdpPayload> payload;
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(ucred))> control;
    std::array<iovec, 2> pieces;
  };
  // What one member's claim socket gets from another's. Only messages of our own user count.
  enum class Kind : std::uint8_t {
    kPacket = 1,  // a packet that came to the wrong member
    kAsk = 2,     // are you there?
    kHere = 3,
  };
  struct Header {
    Kind kind;
    std::uint8_t from;  // top byte of the sender
    bool has_congestion_mark = false;
    wire::UdpAddress source;  // of the packet
  };

  SharedPort(int udp_descriptor, const wire::UdpAddress& at) noexcept : udp_descriptor_(udp_descriptor), at_(at) { top_byte_at_.fill(kNobody); }
  [[nodiscard]] bool bind_and_claim();
  [[nodiscard]] bool claim(std::uint8_t top_byte) noexcept;
  void name_claim(std::uint8_t top_byte, sockaddr_un&) const noexcept;
  [[nodiscard]] bool watch() noexcept;
  bool send(std::uint8_t to, const Header&, std::span<const std::byte> payload) noexcept;
  bool hand_over(const IncomingPacket&, std::uint8_t to) noexcept;
  [[nodiscard]] static std::optional<Header> decode(std::span<const std::byte>) noexcept;
  // True: it is a packet for us.
  [[nodiscard]] bool take(const Header&) noexcept;

  // False: it is no probe.
  [[nodiscard]] bool answer_probe(const IncomingPacket&) noexcept;
  void look_for_places() noexcept;
  void ask_places(Nanoseconds now) noexcept;
  void read_answers() noexcept;
  void steer() noexcept;

  int udp_descriptor_;
  wire::UdpAddress at_;
  sockaddr_un claim_address_{};  // with any top byte
  socklen_t claim_address_length_ = 0;
  std::uint8_t top_byte_ = 0;
  net::Descriptor claim_;
  net::Descriptor epoll_;
  std::unique_ptr<std::array<Buffer, kBatch>> buffers_ = std::make_unique<std::array<Buffer, kBatch>>();
  std::array<mmsghdr, kBatch> headers_{};
  std::array<IncomingPacket, kBatch> incoming_{};
  std::bitset<256> known_;  // members that have told us that they are there
  std::uint64_t misled_ = 0;
  unsigned receives_ = 0;   // of the UDP socket, since the last look
  unsigned period_ = kBusyPeriod;

  // Who is in which place.
  static constexpr std::int16_t kNobody = -1;
  SteadyClock clock_;
  bool wants_places_ = false;
  net::Descriptor probes_;  // open while we wait for answers
  std::uint64_t nonce_ = 0;
  Nanoseconds asked_at_ = 0;
  Nanoseconds next_asking_ = 0;
  std::size_t places_ = 0;
  std::bitset<256> answered_;
  std::array<std::int16_t, 256> top_byte_at_;  // by place
};

}  // namespace ina::engine
