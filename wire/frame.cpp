// frame.cpp: the headers below RoCEv2, at the offsets of IEEE 802.3, RFC 791, RFC 8200 and RFC 768.
#include "wire/frame.hpp"

#include <cstring>

namespace ina::wire {
namespace {

constexpr std::uint16_t kTypeVlan = 0x8100;
constexpr std::uint16_t kTypeIpv4 = 0x0800;
constexpr std::uint16_t kTypeIpv6 = 0x86dd;
constexpr std::uint8_t kProtocolUdp = 17;
constexpr std::uint16_t kReservedFlag = 0x8000;
constexpr std::uint16_t kDontFragment = 0x4000;
constexpr std::uint16_t kFragmentBits = 0x3fff;  // more fragments, fragment offset
constexpr std::size_t kMaxIpLength = 65535;

std::uint64_t sum16(std::span<const std::byte> bytes) noexcept {
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (; at + 2 <= bytes.size(); at += 2) sum += load_be<std::uint16_t>(&bytes[at]);
  if (at < bytes.size()) sum += load_be<std::uint8_t>(&bytes[at]) * 256U;
  return sum;
}

std::uint16_t folded(std::uint64_t sum) noexcept {
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

void load_ip(UdpAddress& to, const std::byte* from, std::size_t bytes) noexcept { std::memcpy(to.ip.data(), from, bytes); }

// What both families share behind the IP header. packet: the IP packet, cut to the length that its header tells.
Result<Frame, FrameError> decode_udp(Frame frame, std::span<const std::byte> packet, std::size_t ip_bytes) noexcept {
  if (packet.size() < ip_bytes + kUdpHeaderBytes) return FrameError::kBadLength;
  const std::byte* udp = &packet[ip_bytes];
  if (load_be<std::uint16_t>(udp + 4) != packet.size() - ip_bytes) return FrameError::kBadLength;
  frame.ip.source.port = load_be<std::uint16_t>(udp);
  frame.ip.destination.port = load_be<std::uint16_t>(udp + 2);
  frame.ip.udp_checksum = load_be<std::uint16_t>(udp + 6);
  frame.l3 = packet;
  frame.udp_payload = packet.subspan(ip_bytes + kUdpHeaderBytes);
  return frame;
}

Result<Frame, FrameError> decode_ipv4(Frame frame, std::span<const std::byte> packet) noexcept {
  if (packet.size() < kIpv4HeaderBytes) return FrameError::kTooShort;
  const std::byte* ip = packet.data();
  const auto first = load_be<std::uint8_t>(ip);
  if ((first & 0x0f) < 5) return FrameError::kBadIpHeader;
  if ((first & 0x0f) > 5) return FrameError::kOptions;
  if (folded(sum16(packet.first(kIpv4HeaderBytes))) != 0) return FrameError::kBadChecksum;
  const auto flags = load_be<std::uint16_t>(ip + 6);
  if ((flags & kReservedFlag) != 0) return FrameError::kBadIpHeader;
  if ((flags & kFragmentBits) != 0) return FrameError::kFragment;
  if (load_be<std::uint8_t>(ip + 9) != kProtocolUdp) return FrameError::kNotUdp;
  const std::size_t length = load_be<std::uint16_t>(ip + 2);
  if (length > packet.size()) return FrameError::kTooShort;
  frame.ip.traffic_class = load_be<std::uint8_t>(ip + 1);
  frame.ip.identification = load_be<std::uint16_t>(ip + 4);
  frame.ip.dont_fragment = (flags & kDontFragment) != 0;
  frame.ip.hop_limit = load_be<std::uint8_t>(ip + 8);
  load_ip(frame.ip.source, ip + 12, 4);
  load_ip(frame.ip.destination, ip + 16, 4);
  return decode_udp(frame, packet.first(length), kIpv4HeaderBytes);
}

Result<Frame, FrameError> decode_ipv6(Frame frame, std::span<const std::byte> packet) noexcept {
  if (packet.size() < kIpv6HeaderBytes) return FrameError::kTooShort;
  const std::byte* ip = packet.data();
  const auto first = load_be<std::uint32_t>(ip);
  if (load_be<std::uint8_t>(ip + 6) != kProtocolUdp) return FrameError::kNotUdp;
  const std::size_t length = kIpv6HeaderBytes + load_be<std::uint16_t>(ip + 4);
  if (length > packet.size()) return FrameError::kTooShort;
  frame.ip.traffic_class = static_cast<std::uint8_t>(first >> 20);
  frame.ip.flow_label = first & 0xfffff;
  frame.ip.hop_limit = load_be<std::uint8_t>(ip + 7);
  frame.ip.source.is_ipv6 = frame.ip.destination.is_ipv6 = true;
  load_ip(frame.ip.source, ip + 8, 16);
  load_ip(frame.ip.destination, ip + 24, 16);
  return decode_udp(frame, packet.first(length), kIpv6HeaderBytes);
}

Result<Frame, FrameError> decode_l3(Frame frame, std::span<const std::byte> packet) noexcept {
  if (packet.empty()) return FrameError::kTooShort;
  switch (load_be<std::uint8_t>(packet.data()) >> 4) {
    case 4: return decode_ipv4(frame, packet);
    case 6: return decode_ipv6(frame, packet);
    default: return FrameError::kBadIpHeader;
  }
}

std::uint64_t pseudo_header_sum(const IpHeader& ip, std::size_t udp_bytes) noexcept {
  const std::size_t ip_bytes = ip.source.is_ipv6 ? 16 : 4;
  return sum16(std::as_bytes(std::span(ip.source.ip).first(ip_bytes))) + sum16(std::as_bytes(std::span(ip.destination.ip).first(ip_bytes))) +
         kProtocolUdp + udp_bytes;
}

}  // namespace

const char* name(FrameError error) noexcept {
  switch (error) {
    case FrameError::kTooShort: return "too short";
    case FrameError::kNotIp: return "not ip";
    case FrameError::kBadIpHeader: return "bad ip header";
    case FrameError::kOptions: return "ip options";
    case FrameError::kFragment: return "ip fragment";
    case FrameError::kNotUdp: return "not udp";
    case FrameError::kBadLength: return "bad length";
    case FrameError::kBadChecksum: return "bad ip checksum";
  }
  return "unknown";
}

Result<Frame, FrameError> decode_frame(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < kEthernetBytes) return FrameError::kTooShort;
  Frame frame;
  std::memcpy(frame.destination_mac.data(), bytes.data(), 6);
  std::memcpy(frame.source_mac.data(), &bytes[6], 6);
  auto type = load_be<std::uint16_t>(&bytes[12]);
  std::size_t l3 = kEthernetBytes;
  if (type == kTypeVlan) {
    if (bytes.size() < kEthernetBytes + kVlanTagBytes) return FrameError::kTooShort;
    frame.vlan = load_be<std::uint16_t>(&bytes[14]);
    type = load_be<std::uint16_t>(&bytes[16]);
    l3 += kVlanTagBytes;
  }
  if (type != kTypeIpv4 && type != kTypeIpv6) return FrameError::kNotIp;
  const auto decoded = decode_l3(frame, bytes.subspan(l3));
  if (decoded && decoded->ip.source.is_ipv6 != (type == kTypeIpv6)) return FrameError::kBadIpHeader;
  return decoded;
}

Result<Frame, FrameError> decode_ip(std::span<const std::byte> packet) noexcept { return decode_l3({}, packet); }

std::size_t ip_header_bytes(const IpHeader& ip) noexcept { return kUdpHeaderBytes + (ip.source.is_ipv6 ? kIpv6HeaderBytes : kIpv4HeaderBytes); }

std::size_t frame_header_bytes(const Frame& frame) noexcept {
  return kEthernetBytes + (frame.vlan ? kVlanTagBytes : 0) + ip_header_bytes(frame.ip);
}

std::size_t encode_ip(const IpHeader& ip, std::size_t udp_payload_bytes, std::span<std::byte> to) noexcept {
  const std::size_t headers = ip_header_bytes(ip);
  if (to.size() < headers || headers + udp_payload_bytes > kMaxIpLength) return 0;
  const std::size_t ip_bytes = headers - kUdpHeaderBytes;
  const auto udp_bytes = static_cast<std::uint16_t>(kUdpHeaderBytes + udp_payload_bytes);
  std::byte* at = to.data();
  if (ip.source.is_ipv6) {
    store_be(at, 0x60000000U | std::uint32_t{ip.traffic_class} << 20 | (ip.flow_label & 0xfffff));
    store_be(at + 4, udp_bytes);
    store_be(at + 6, kProtocolUdp);
    store_be(at + 7, ip.hop_limit);
    std::memcpy(at + 8, ip.source.ip.data(), 16);
    std::memcpy(at + 24, ip.destination.ip.data(), 16);
  } else {
    store_be<std::uint8_t>(at, 0x45);
    store_be(at + 1, ip.traffic_class);
    store_be(at + 2, static_cast<std::uint16_t>(ip_bytes + udp_bytes));
    store_be(at + 4, ip.identification);
    store_be<std::uint16_t>(at + 6, ip.dont_fragment ? kDontFragment : 0);
    store_be(at + 8, ip.hop_limit);
    store_be(at + 9, kProtocolUdp);
    store_be<std::uint16_t>(at + 10, 0);
    std::memcpy(at + 12, ip.source.ip.data(), 4);
    std::memcpy(at + 16, ip.destination.ip.data(), 4);
    store_be(at + 10, folded(sum16(to.first(kIpv4HeaderBytes))));
  }
  at += ip_bytes;
  store_be(at, ip.source.port);
  store_be(at + 2, ip.destination.port);
  store_be(at + 4, udp_bytes);
  store_be(at + 6, ip.udp_checksum);
  return headers;
}

std::size_t encode_frame(const Frame& frame, std::size_t udp_payload_bytes, std::span<std::byte> to) noexcept {
  const std::size_t headers = frame_header_bytes(frame);
  if (to.size() < headers) return 0;
  std::byte* at = to.data();
  std::memcpy(at, frame.destination_mac.data(), 6);
  std::memcpy(at + 6, frame.source_mac.data(), 6);
  at += 12;
  if (frame.vlan) {
    store_be(at, kTypeVlan);
    store_be(at + 2, *frame.vlan);
    at += kVlanTagBytes;
  }
  store_be(at, frame.ip.source.is_ipv6 ? kTypeIpv6 : kTypeIpv4);
  return encode_ip(frame.ip, udp_payload_bytes, to.last(to.size() - (headers - ip_header_bytes(frame.ip)))) != 0 ? headers : 0;
}

std::uint16_t udp_checksum(const IpHeader& ip, std::span<const std::byte> udp_payload) noexcept {
  const std::size_t udp_bytes = kUdpHeaderBytes + udp_payload.size();
  const std::uint16_t checksum =
      folded(pseudo_header_sum(ip, udp_bytes) + ip.source.port + ip.destination.port + udp_bytes + sum16(udp_payload));
  return checksum == 0 ? 0xffff : checksum;
}

bool is_udp_checksum_valid(const Frame& frame) noexcept {
  return frame.ip.udp_checksum == 0 || frame.ip.udp_checksum == udp_checksum(frame.ip, frame.udp_payload);
}

}  // namespace ina::wire
