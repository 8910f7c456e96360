// uct_ina_address.cpp: the address of a device, and who can be reached from it.
//
//   byte  0  version
//         1  flags: IPv6, behind a relay
//         2  UDP port
//         4  IP address
//        20  relay: its instance; loopback: the host and its network namespace; else 0
//        28  longest active message (24 bits)
//
// Numbers are big endian.
#include "ucx_tl/uct_ina.h"

namespace ina::uct {
namespace {

constexpr std::uint8_t kAddressVersion = 2;
constexpr std::uint8_t kFlagIpv6 = 1;
constexpr std::uint8_t kFlagRelay = 2;

// Every host has the same loopback addresses, and every network namespace on it.
std::uint64_t loopback_instance() noexcept {
  const std::uint64_t network = ucs_sys_get_ns(UCS_SYS_NS_TYPE_NET);
  return ucs_machine_guid() ^ (network * 0x9e3779b97f4a7c15u);
}

bool is_loopback_address(const wire::UdpAddress& address) noexcept {
  constexpr std::array<std::uint8_t, 16> kIpv6Loopback = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address.is_ipv6 ? address.ip == kIpv6Loopback : address.ip[0] == 127;
}

}  // namespace

void Interface::pack_address(std::byte* to) const noexcept {
  const engine::EngineOptions& options = engine_->options();
  std::memset(to, 0, kDeviceAddressBytes);
  wire::store_be<std::uint8_t>(to, kAddressVersion);
  wire::store_be<std::uint8_t>(to + 1, static_cast<std::uint8_t>((options.local.is_ipv6 ? kFlagIpv6 : 0) | (options.relay ? kFlagRelay : 0)));
  wire::store_be(to + 2, options.local.port);
  std::memcpy(to + 4, options.local.ip.data(), options.local.ip.size());
  if (options.relay) {
    wire::store_be(to + 20, engine_->relay()->instance());
  } else if (is_loopback_address(options.local)) {
    wire::store_be(to + 20, loopback_instance());
  }
  static_assert(kMaxSegmentBytes < 1u << 24);
  wire::store_be(to + 28, static_cast<std::uint16_t>(options.segment_bytes >> 8));
  wire::store_be(to + 30, static_cast<std::uint8_t>(options.segment_bytes & 0xff));
}

bool Interface::unpack_address(const std::byte* from, PeerAddress& to) noexcept {
  const auto flags = wire::load_be<std::uint8_t>(from + 1);
  if (wire::load_be<std::uint8_t>(from) != kAddressVersion || (flags & ~(kFlagIpv6 | kFlagRelay)) != 0) return false;
  to.udp.is_ipv6 = (flags & kFlagIpv6) != 0;
  to.udp.port = wire::load_be<std::uint16_t>(from + 2);
  std::memcpy(to.udp.ip.data(), from + 4, to.udp.ip.size());
  to.is_behind_relay = (flags & kFlagRelay) != 0;
  to.instance = wire::load_be<std::uint64_t>(from + 20);
  to.segment_bytes = std::uint32_t{wire::load_be<std::uint16_t>(from + 28)} << 8 | wire::load_be<std::uint8_t>(from + 30);
  return to.udp.port != 0 && to.segment_bytes != 0;
}

bool Interface::is_reachable(const PeerAddress& peer) const noexcept {
  const engine::EngineOptions& options = engine_->options();
  if (peer.is_behind_relay != options.relay.has_value()) return false;
  if (options.relay) return peer.instance == engine_->relay()->instance();
  if (peer.udp.is_ipv6 != options.local.is_ipv6 || is_loopback_address(peer.udp) != is_loopback_address(options.local)) return false;
  return !is_loopback_address(peer.udp) || peer.instance == loopback_instance();
}

}  // namespace ina::uct
