// uct_ina_ep_flush.cpp: flush of an endpoint and of an interface.
#include <algorithm>

#include "ucx_tl/uct_ina_ep.h"

namespace ina::uct {

ucs_status_t ep_flush(uct_ep_h tl_ep, unsigned flags, uct_completion_t* comp) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const AsyncBlock block(iface_of(ep));
  if ((flags & UCT_FLUSH_FLAG_CANCEL) != 0) {
    engine_of(ep).fail_qp(*ep->qp, engine::QpError::kCancelled);
  } else if (!ucs_queue_is_empty(&ep->pending) && !ep->is_dispatching) {
    return UCS_ERR_NO_RESOURCE;
  }
  if (ep->qp->requester.is_idle()) return UCS_OK;
  if (comp == nullptr) return UCS_INPROGRESS;
  return guarded([&] {
    iface_of(ep)->impl->add_flush(ep, comp);
    return UCS_INPROGRESS;
  });
}

ucs_status_t iface_flush(uct_iface_h tl_iface, unsigned, uct_completion_t* comp) {
  auto* const iface = reinterpret_cast<uct_ina_iface_t*>(tl_iface);
  const AsyncBlock block(iface);
  std::vector<uct_ina_ep_t*> const& eps = iface->impl->eps();
  const auto is_busy = [](const uct_ina_ep_t* ep) { return !ep->qp->requester.is_idle(); };
  const auto busy = std::count_if(eps.begin(), eps.end(), is_busy);
  if (busy == 0) return UCS_OK;
  if (comp == nullptr) return UCS_INPROGRESS;
  return guarded([&] {
    // The completion counts one for this flush; every endpoint that is waited for takes one away.
    comp->count += static_cast<int>(busy) - 1;
    for (uct_ina_ep_t* ep : eps) {
      if (is_busy(ep)) iface->impl->add_flush(ep, comp);
    }
    return UCS_INPROGRESS;
  });
}

}  // namespace ina::uct
