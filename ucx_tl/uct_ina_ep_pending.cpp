// uct_ina_ep_pending.cpp: requests that wait for room on an endpoint.
#include "ucx_tl/uct_ina_ep.h"

namespace ina::uct {

ucs_status_t ep_pending_add(uct_ep_h tl_ep, uct_pending_req_t* request, unsigned) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const AsyncBlock block(iface_of(ep));
  const bool has_resources = check_resources(ep, static_cast<std::uint32_t>(segment_bytes_of(ep))) != UCS_ERR_NO_RESOURCE;
  if (has_resources && engine_of(ep).has_send_buffer()) return UCS_ERR_BUSY;
  uct_pending_req_queue_push(&ep->pending, request);
  iface_of(ep)->impl->note_pending();
  return UCS_OK;
}

void ep_pending_purge(uct_ep_h tl_ep, uct_pending_purge_callback_t callback, void* arg) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const AsyncBlock block(iface_of(ep));
  uct_pending_req_priv_queue_t* priv;
  uct_pending_queue_purge(priv, &ep->pending, priv != nullptr, callback, arg);
}

}  // namespace ina::uct
