// uct_ina_ep_flush.cpp: flush of an endpoint and of an interface, and the order of operations.
#include <algorithm>

#include "ucx_tl/uct_ina_ep.h"

namespace ina::uct {

ucs_status_t ep_flush(uct_ep_h tl_ep, unsigned flags, uct_completion_t* comp) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const AsyncBlock block(iface_of(ep));
  const bool is_cancelling = (flags & UCT_FLUSH_FLAG_CANCEL) != 0;
  if (is_cancelling) {
    engine_of(ep).fail_qp(*ep->qp, engine::QpError::kCancelled);
  } else if (ep->qp->has_failed() && ep->qp->requester.is_idle()) {
    return to_status(ep->qp->error());
  } else if (!ucs_queue_is_empty(&ep->pending) && !ep->is_dispatching) {
    return UCS_ERR_NO_RESOURCE;
  }
  if (ep->qp->requester.is_idle()) return UCS_OK;
  if (comp == nullptr) return UCS_INPROGRESS;
  return guarded([&] {
    iface_of(ep)->impl->add_flush(ep, comp, is_cancelling);
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
    iface->impl->reserve_flushes(static_cast<std::size_t>(busy));
    // The completion counts one for this flush; every endpoint that is waited for takes one away.
    comp->count += static_cast<int>(busy) - 1;
    for (uct_ina_ep_t* ep : eps) {
      if (is_busy(ep)) iface->impl->add_flush(ep, comp, false);
    }
    return UCS_INPROGRESS;
  });
}

// A connection executes in order. Only what a READ or an atomic returns may be determined again later, where its answer is lost, so what
// is posted behind a fence is held back until these have completed.
ucs_status_t ep_fence(uct_ep_h tl_ep, unsigned) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const AsyncBlock block(iface_of(ep));
  ep->fences = iface_of(ep)->impl->fences() - 1;
  return UCS_OK;
}

ucs_status_t iface_fence(uct_iface_h tl_iface, unsigned) {
  auto* const iface = reinterpret_cast<uct_ina_iface_t*>(tl_iface);
  const AsyncBlock block(iface);
  iface->impl->add_fence();
  return UCS_OK;
}

void Interface::add_flush(uct_ina_ep_t* ep, uct_completion_t* comp, bool is_cancelling) {
  flushes_.push_back({.ep = ep, .until = ep->qp->requester.posted(), .comp = comp, .is_cancelling = is_cancelling});
}

unsigned Interface::complete_flushes() noexcept {
  unsigned completed = 0;
  for (std::size_t i = 0; i < flushes_.size();) {
    const Flush flush = flushes_[i];
    if (!flush.is_due()) {
      ++i;
      continue;
    }
    const engine::QpError error = flush.ep->qp->error();
    flushes_.erase(flushes_.begin() + static_cast<std::ptrdiff_t>(i));
    uct_invoke_completion(flush.comp, flush.is_cancelling ? UCS_OK : to_status(error));
    ++completed;
    i = 0;  // the callback may have taken others away
  }
  return completed;
}

// Operations that nobody waits for any more are done: what waits for them hears of it here, for the last time.
void Interface::remove_ep(uct_ina_ep_t* ep) noexcept {
  engine_->cancel_qp(*ep->qp, *this);
  for (std::size_t i = 0; i < flushes_.size();) {
    const Flush flush = flushes_[i];
    if (flush.ep != ep) {
      ++i;
      continue;
    }
    flushes_.erase(flushes_.begin() + static_cast<std::ptrdiff_t>(i));
    uct_invoke_completion(flush.comp, flush.is_cancelling ? UCS_OK : UCS_ERR_CANCELED);
    i = 0;
  }
  std::erase(eps_, ep);
  ucs_list_del(&ep->waiting);
  if (dispatching_ == ep) dispatching_ = nullptr;
}

}  // namespace ina::uct
