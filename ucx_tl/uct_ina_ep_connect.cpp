// uct_ina_ep_connect.cpp: endpoint addresses, and connecting to one.
#include "ucx_tl/uct_ina_ep.h"

namespace ina::uct {

using engine::QpAddress;

ucs_status_t ep_get_address(uct_ep_h tl_ep, uct_ep_addr_t* address) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  auto* const to = reinterpret_cast<std::byte*>(address);
  const QpAddress own = engine_of(ep).address(*ep->qp);
  wire::store_be(to, (std::uint64_t{own.qpn} << 40) | (std::uint64_t{own.first_psn} << 16) | own.mtu);
  return UCS_OK;
}

ucs_status_t ep_connect_to_ep(uct_ep_h tl_ep, const uct_device_addr_t* device_address, const uct_ep_addr_t* ep_address) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  PeerAddress peer;
  if (!Interface::unpack_address(reinterpret_cast<const std::byte*>(device_address), peer)) {
    ucs_error("ina: a device address is malformed or of another version");
    return UCS_ERR_INVALID_ADDR;
  }
  if (!iface_of(ep)->impl->is_reachable(peer)) {
    ucs_error("ina: %s is not reachable from device %s: another network, or another relay", peer.udp.text().c_str(), iface_of(ep)->impl->device().c_str());
    return UCS_ERR_UNREACHABLE;
  }
  const auto packed = wire::load_be<std::uint64_t>(reinterpret_cast<const std::byte*>(ep_address));
  const QpAddress address{.qpn = static_cast<std::uint32_t>(packed >> 40),
                          .first_psn = static_cast<std::uint32_t>(packed >> 16) & wire::kPsnMask,
                          .mtu = static_cast<std::uint32_t>(packed & 0xffff)};
  const AsyncBlock block(iface_of(ep));
  if (engine_of(ep).connect(*ep->qp, peer.udp, address)) return UCS_OK;
  ucs_error("ina: an endpoint address is malformed, or the endpoint is connected already");
  return UCS_ERR_INVALID_ADDR;
}

}  // namespace ina::uct
