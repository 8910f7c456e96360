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

namespace {

QpAddress unpack_ep_address(const uct_ep_addr_t* from) noexcept {
  const auto packed = wire::load_be<std::uint64_t>(reinterpret_cast<const std::byte*>(from));
  return {.qpn = static_cast<std::uint32_t>(packed >> 40),
          .first_psn = static_cast<std::uint32_t>(packed >> 16) & wire::kPsnMask,
          .mtu = static_cast<std::uint32_t>(packed & 0xffff)};
}

engine::ServiceAddress unpack_iface_address(const uct_iface_addr_t* from) noexcept {
  const auto packed = wire::load_be<std::uint64_t>(reinterpret_cast<const std::byte*>(from));
  return {.qpn = static_cast<std::uint32_t>(packed >> 40), .instance = packed & engine::ServiceAddress::kInstanceMask};
}

ucs_status_t find_peer(const Interface& iface, const uct_device_addr_t* device_address, PeerAddress& peer) {
  if (!Interface::unpack_address(reinterpret_cast<const std::byte*>(device_address), peer)) {
    ucs_error("ina: a device address is malformed or of another version");
    return UCS_ERR_INVALID_ADDR;
  }
  if (!iface.is_reachable(peer)) {
    ucs_error("ina: %s is not reachable from device %s: another network, or another relay", peer.udp.text().c_str(), iface.device().c_str());
    return UCS_ERR_UNREACHABLE;
  }
  if (peer.segment_bytes < iface.segment_bytes()) {
    ucs_error("ina: %s takes active messages of up to %u bytes, device %s sends up to %zu: UCX_INA_SEG_SIZE differs between them", peer.udp.text().c_str(),
              peer.segment_bytes, iface.device().c_str(), iface.segment_bytes());
    return UCS_ERR_INVALID_ADDR;
  }
  return UCS_OK;
}

}  // namespace

ucs_status_t ep_connect_to_ep(uct_ep_h tl_ep, const uct_device_addr_t* device_address, const uct_ep_addr_t* ep_address) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  PeerAddress peer;
  const ucs_status_t status = find_peer(*iface_of(ep)->impl, device_address, peer);
  if (status != UCS_OK) return status;
  const QpAddress address = unpack_ep_address(ep_address);
  const AsyncBlock block(iface_of(ep));
  if (!ep->qp->is_connecting() && engine_of(ep).connect(*ep->qp, peer.udp, address)) return UCS_OK;
  ucs_error("ina: an endpoint address is malformed, or the endpoint is connected already");
  return UCS_ERR_INVALID_ADDR;
}

ucs_status_t iface_get_address(uct_iface_h tl_iface, uct_iface_addr_t* address) {
  const engine::ServiceAddress own = reinterpret_cast<uct_ina_iface_t*>(tl_iface)->impl->engine().service_address();
  wire::store_be(reinterpret_cast<std::byte*>(address), (std::uint64_t{own.qpn} << 40) | own.instance);
  return UCS_OK;
}

// The endpoint is connected some time later; until then it has no room.
ucs_status_t ep_connect_to_iface(uct_ina_ep_t* ep, const uct_device_addr_t* device_address, const uct_iface_addr_t* iface_address) {
  PeerAddress peer;
  const ucs_status_t status = find_peer(*iface_of(ep)->impl, device_address, peer);
  if (status != UCS_OK) return status;
  const engine::ServiceAddress service = unpack_iface_address(iface_address);
  if (engine_of(ep).connect_to_service(*ep->qp, peer.udp, service)) return UCS_OK;
  ucs_error("ina: an interface address is malformed");
  return UCS_ERR_INVALID_ADDR;
}

// What is in flight asks as well as a message of its own would.
ucs_status_t ep_check(uct_ep_h tl_ep, unsigned flags, uct_completion_t* comp) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  UCT_CHECK_PARAM(flags == 0, "ep_check has no flags");
  const AsyncBlock block(iface_of(ep));
  if (ep->qp->has_failed()) return to_status(ep->qp->error());
  if (iface_of(ep)->impl->is_inherited()) return UCS_ERR_UNREACHABLE;
  if (!ep->qp->is_connected() && !ep->qp->is_connecting()) return UCS_ERR_NOT_CONNECTED;
  const bool is_asked = ep->qp->is_connecting() || !ep->qp->requester.is_idle();
  if (!is_asked && engine_of(ep).probe(*ep->qp, comp) != engine::PostStatus::kPosted) return UCS_ERR_NO_RESOURCE;
  if (comp == nullptr) return UCS_OK;
  if (!is_asked) return UCS_INPROGRESS;
  return guarded([&] {
    iface_of(ep)->impl->add_flush(ep, comp, false);
    return UCS_INPROGRESS;
  });
}

namespace {

bool is_peer(uct_ina_ep_t* ep, const uct_device_addr_t* device_address, const uct_iface_addr_t* iface_address, const uct_ep_addr_t* ep_address) noexcept {
  const engine::Qp& qp = *ep->qp;
  if (!qp.is_connected() && !qp.is_connecting()) return false;
  PeerAddress peer;
  if (device_address != nullptr) {
    if (!Interface::unpack_address(reinterpret_cast<const std::byte*>(device_address), peer) || !iface_of(ep)->impl->is_reachable(peer)) return false;
    // Behind a relay everybody has the relay's address; there QP numbers tell peers apart.
    const wire::UdpAddress& known = qp.link != nullptr ? qp.link->peer : qp.peer->destination.address;
    if (!peer.is_behind_relay && known != peer.udp) return false;
  }
  if (ep_address != nullptr) return qp.is_connected() && qp.peer->qpn == unpack_ep_address(ep_address).qpn;
  if (iface_address == nullptr || qp.link == nullptr) return device_address != nullptr;
  const engine::ServiceAddress service = unpack_iface_address(iface_address);
  return qp.link->peer_service == service.qpn && qp.link->instance == service.instance;
}

}  // namespace

}  // namespace ina::uct

int uct_ina_ep_is_connected_to(uct_ep_h tl_ep, const uct_device_addr_t* device_address, const uct_iface_addr_t* iface_address,
                               const uct_ep_addr_t* ep_address) {
  uct_ina_ep_t* const ep = ina::uct::ep_of(tl_ep);
  const ina::uct::AsyncBlock block(ina::uct::iface_of(ep));
  return ina::uct::is_peer(ep, device_address, iface_address, ep_address);
}
