// icrc.hpp: the invariant CRC of RoCEv2 (InfiniBand Architecture Specification, annex A17.3.3), over scattered pieces of a packet.
// Used by the engine of the transport and by every switch.
// Does not parse packets: the caller says which addresses and bytes it covers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/address.hpp"
#include "wire/identification.hpp"

namespace ina::wire {

// The invariant part of one direction between two UDP addresses: seed once, then cheap for every packet.
// IPv4 packets are taken to have identification 0 unless one is told, DF set and no options; IPv6 packets no extension headers.
class IcrcFlow {
 public:
  IcrcFlow(const UdpAddress& source, const UdpAddress& destination) noexcept;
  // pieces: consecutive parts of BTH .. pad (without the ICRC); the first has the whole BTH at least. Returns the value to be
  // stored least significant byte first.
  [[nodiscard]] std::uint32_t compute(std::span<const std::span<const std::byte>> pieces) const noexcept;
  [[nodiscard]] std::uint32_t compute(std::span<const std::byte> bth_to_pad) const noexcept;
  // bytes: BTH .. ICRC inclusive (a UDP payload), at least 16 bytes.
  [[nodiscard]] bool is_valid(std::span<const std::byte> udp_payload) const noexcept;
  // The same for a packet with this IPv4 identification; nullopt: a socket has it and does not tell, and any below kMaxSegments will do.
  [[nodiscard]] bool is_valid(std::span<const std::byte> udp_payload, std::optional<std::uint16_t> identification, IdentificationEffects&) const noexcept;
  // Computes and stores the ICRC in the last 4 bytes.
  void seal(std::span<std::byte> udp_payload) const noexcept;

 private:
  // What the stored ICRC differs by from the right one; the payload has at least 16 bytes.
  [[nodiscard]] std::uint32_t difference(std::span<const std::byte> udp_payload) const noexcept;

  std::array<std::byte, 56> masked_;  // 8 bytes of ones (LRH), IP, UDP with everything variant masked and the lengths left open
  std::size_t masked_bytes_;
  bool is_ipv6_;
};

// The ICRC of a captured packet: l3: from the IP header (or a RoCEv1 GRH with is_grh) to the end of the pad. For tests and switches in the wire.
[[nodiscard]] std::uint32_t icrc_of_l3_packet(std::span<const std::byte> l3_without_icrc, bool is_grh = false) noexcept;

// CRC-32 (IEEE 802.3, reflected): continues from `crc` (0 at the start), as zlib's crc32 does.
[[nodiscard]] std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) noexcept;

inline void store_icrc(std::byte* to, std::uint32_t icrc) noexcept {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<std::byte>(icrc >> (8 * i));
}

}  // namespace ina::wire
