// packet_io.hpp: how an engine sends and receives UDP payloads, in batches.
// Implemented by UdpSocket, by XdpIo, and by tests (in memory).
// Knows nothing of RoCE; never blocks.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/address.hpp"

namespace ina::engine {

inline constexpr std::size_t kBatchPackets = 64;
// Largest UDP payload that is received: that of a jumbo frame, more than the largest packet with the longest headers.
inline constexpr std::size_t kMaxUdpPayload = 9088;

// Where packets go: the address and what the system calls need of it.
struct Destination {
  explicit Destination(const wire::UdpAddress& to) noexcept : address(to), length(to.to_sockaddr(storage)) {}
  wire::UdpAddress address;
  sockaddr_storage storage{};
  socklen_t length;
};

// The last 4 bytes of the last piece are the packet's ICRC, right for IPv4 identification 0. Who sends it with another one puts that right in
// place (wire/identification.hpp).
struct OutgoingPacket {
  const Destination* to;
  const iovec* pieces;
  std::size_t piece_count;
};

// ECN bits of the IP header (RFC 3168), the low two of its type of service or traffic class.
inline constexpr std::uint8_t kEcnMask = 3;
inline constexpr std::uint8_t kEcnCapable = 2;              // ECT(0): what outgoing packets carry where marks are asked for
inline constexpr std::uint8_t kEcnCongestionExperienced = 3;

struct IncomingPacket {
  wire::UdpAddress from;
  std::span<const std::byte> bytes;
  bool has_congestion_mark = false;  // a queue on the way was long
  std::optional<std::uint16_t> identification = std::nullopt;  // of IPv4; a socket does not tell it
};

struct SendResult {
  std::size_t taken = 0;         // leading packets that are gone, refused ones included
  std::size_t refused = 0;       // of them, how many the system will never send
  std::size_t system_calls = 0;
};

class PacketIo {
 public:
  virtual ~PacketIo() = default;
  [[nodiscard]] virtual SendResult send(std::span<const OutgoingPacket>) noexcept = 0;
  // At most kBatchPackets; the spans are valid until the next call.
  [[nodiscard]] virtual std::span<const IncomingPacket> receive() noexcept = 0;
  // Becomes readable when receive() would return something; -1 if there is no such thing.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  // receive() costs no system call where nothing has come, so that asking often does no harm.
  [[nodiscard]] virtual bool is_receive_cheap() const noexcept { return false; }
};

}  // namespace ina::engine
