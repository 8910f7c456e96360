// frame.hpp: Ethernet (with at most one VLAN tag), IPv4 or IPv6, and UDP headers around a RoCE packet, decode and encode.
// Used by switches that sit in the wire, by raw-socket back ends and by tests on captures.
// Does not look into the UDP payload, and follows neither IPv4 options and fragments nor IPv6 extension headers: those are refused.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "wire/address.hpp"
#include "wire/bytes.hpp"

namespace ina::wire {

inline constexpr std::size_t kEthernetBytes = 14;
inline constexpr std::size_t kVlanTagBytes = 4;
inline constexpr std::size_t kIpv4HeaderBytes = 20;
inline constexpr std::size_t kIpv6HeaderBytes = 40;
inline constexpr std::size_t kUdpHeaderBytes = 8;
inline constexpr std::size_t kMaxFrameHeaderBytes = kEthernetBytes + kVlanTagBytes + kIpv6HeaderBytes + kUdpHeaderBytes;

using MacAddress = std::array<std::uint8_t, 6>;

struct IpHeader {
  UdpAddress source;       // with UDP's source port
  UdpAddress destination;  // of the same family
  std::uint8_t traffic_class = 0;  // IPv4: type of service
  std::uint8_t hop_limit = 64;     // IPv4: time to live
  std::uint16_t identification = 0;  // IPv4 only
  bool dont_fragment = true;         // IPv4 only
  std::uint32_t flow_label = 0;      // IPv6 only, 20 bits
  std::uint16_t udp_checksum = 0;    // as on the wire; 0: none
  bool operator==(const IpHeader&) const = default;
};

struct Frame {
  MacAddress destination_mac{};
  MacAddress source_mac{};
  std::optional<std::uint16_t> vlan;  // the tag control information of an 802.1Q tag
  IpHeader ip;
  std::span<const std::byte> l3;           // from the IP header to the end of the UDP payload
  std::span<const std::byte> udp_payload;  // a RoCE packet: BTH .. ICRC
};

enum class FrameError : std::uint8_t { kTooShort, kNotIp, kBadIpHeader, kOptions, kFragment, kNotUdp, kBadLength, kBadChecksum };
[[nodiscard]] const char* name(FrameError) noexcept;

// frame: from the destination MAC on, without the frame check sequence. Bytes behind the IP packet (Ethernet's padding) are
// ignored. IPv4's header checksum is verified, UDP's is not (is_udp_checksum_valid).
[[nodiscard]] Result<Frame, FrameError> decode_frame(std::span<const std::byte> frame) noexcept;
// The same from the IP header on; the MAC addresses stay zero.
[[nodiscard]] Result<Frame, FrameError> decode_ip(std::span<const std::byte> packet) noexcept;

// Bytes that encode_frame or encode_ip write in front of the UDP payload.
[[nodiscard]] std::size_t frame_header_bytes(const Frame&) noexcept;
[[nodiscard]] std::size_t ip_header_bytes(const IpHeader&) noexcept;  // IP and UDP
// Write the headers for a UDP payload of that size and return their size; 0 if they do not fit `to` or the sizes do not fit IP.
// frame.l3 and frame.udp_payload are not read. IPv4's header checksum is computed, UDP's is taken as given.
std::size_t encode_frame(const Frame& frame, std::size_t udp_payload_bytes, std::span<std::byte> to) noexcept;
std::size_t encode_ip(const IpHeader& ip, std::size_t udp_payload_bytes, std::span<std::byte> to) noexcept;

// UDP's checksum over pseudo header, UDP header and payload, never 0.
[[nodiscard]] std::uint16_t udp_checksum(const IpHeader& ip, std::span<const std::byte> udp_payload) noexcept;
// Right, or absent (0), which PROTOCOL.md allows for both families.
[[nodiscard]] bool is_udp_checksum_valid(const Frame& frame) noexcept;

}  // namespace ina::wire
