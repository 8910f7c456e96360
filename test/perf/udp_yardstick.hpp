// udp_yardstick.hpp: the packets of the yardsticks, and batched calls on a UDP socket.
// Used by udp_yardstick's relay and client. Bare on purpose: what a program has to do at least that moves the same packets.
// Does not check, seal or pace anything, and repeats a packet only when nothing has come for long.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ina::yardstick {

inline constexpr unsigned kBatch = 64;
inline constexpr std::size_t kMostPacketBytes = 9000;
inline constexpr int kSilenceMs = 100;  // after this long without a packet one of the last ones was lost

// Stands at the front of each packet, in the host's own byte order: all run on one machine. `lane_bytes` of floats follow, then padding.
struct PacketHeader {
  std::uint32_t seq = 0;
  std::uint16_t member = 0;
  std::uint16_t is_end = 0;  // the member needs nothing more
};

struct Packet {
  sockaddr_in peer{};
  std::size_t bytes = 0;
  alignas(8) std::array<std::byte, kMostPacketBytes> data;

  [[nodiscard]] PacketHeader header() const noexcept;
  void set_header(PacketHeader) noexcept;
  [[nodiscard]] float* lanes() noexcept;
};

// A socket with a queue of packets out and a batch of packets in.
class Port {
 public:
  // Of the wildcard where `local` names none.
  explicit Port(const sockaddr_in& local);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  [[nodiscard]] sockaddr_in address() const;
  // The next packet to fill. A full batch is sent first.
  [[nodiscard]] Packet& next_out();
  void flush();
  // Waits for a packet, then takes as many as are there. Empty after kSilenceMs. polls: yields instead of sleeping.
  [[nodiscard]] std::span<Packet> receive(bool polls);

 private:
  int fd_;
  std::vector<Packet> in_, out_;
  std::vector<mmsghdr> in_headers_, out_headers_;
  std::vector<iovec> in_vectors_, out_vectors_;
  unsigned queued_ = 0;
};

[[nodiscard]] sockaddr_in parse_address(const char* text);  // A.B.C.D:PORT; ends the program when it is none

}  // namespace ina::yardstick
