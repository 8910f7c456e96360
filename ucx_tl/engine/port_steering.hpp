// port_steering.hpp: which of the sockets that share a UDP port gets a packet: a program of the kernel that looks at the destination QP.
// Used by SharedPort.
// Does not know who owns which QPs; the caller tells the exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/address.hpp"

namespace ina::engine {

// A datagram with this first byte, which is no opcode of RoCE, goes to the socket whose place in the group the second byte tells.
inline constexpr std::byte kSteeringProbe{0xff};

// QPs with this top byte are those of the socket in that place, instead of the place of the same number.
struct SteeringException {
  std::uint8_t top_byte;
  std::uint8_t place;
};

// Replaces the program of the whole group that this socket is in. False: the system does not want it.
[[nodiscard]] bool steer_by_qp(int udp_descriptor, std::span<const SteeringException> exceptions) noexcept;

// How many UDP sockets of this network namespace are bound to exactly this address and not connected; nullopt: the system does not tell.
[[nodiscard]] std::optional<std::size_t> count_bound_sockets(const wire::UdpAddress&) noexcept;

}  // namespace ina::engine
