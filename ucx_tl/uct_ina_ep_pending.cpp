// uct_ina_ep_pending.cpp: requests that wait for room on an endpoint. Endpoints take turns, one request a turn.
#include "ucx_tl/uct_ina_ep.h"

namespace ina::uct {
namespace {

// Requests that one call of progress() calls at most: one that adds another each time must not keep it for ever.
constexpr unsigned kMaxDispatched = 1024;

}  // namespace

// UCX tries an operation again, without progress in between, when it is told that it need not wait: only if any operation would succeed.
ucs_status_t ep_pending_add(uct_ep_h tl_ep, uct_pending_req_t* request, unsigned) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  Interface& impl = *iface_of(ep)->impl;
  const AsyncBlock block(iface_of(ep));
  if (ucs_queue_is_empty(&ep->pending) && impl.has_room(ep)) return UCS_ERR_BUSY;
  uct_pending_req_queue_push(&ep->pending, request);
  impl.add_waiting(ep);
  return UCS_OK;
}

void ep_pending_purge(uct_ep_h tl_ep, uct_pending_purge_callback_t callback, void* arg) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const AsyncBlock block(iface_of(ep));
  uct_pending_req_priv_queue_t* priv;
  uct_pending_queue_purge(priv, &ep->pending, priv != nullptr, callback, arg);
}

bool Interface::has_room(const uct_ina_ep_t* ep) const noexcept {
  if (ep->qp->has_failed()) return true;
  return engine_->has_send_buffer() && engine_->can_post(*ep->qp, engine::kMaxMessageBytes);
}

void Interface::add_waiting(uct_ina_ep_t* ep) noexcept {
  if (ucs_list_is_empty(&ep->waiting)) ucs_list_add_tail(&waiting_, &ep->waiting);
}

bool Interface::can_dispatch() noexcept {
  const uct_ina_ep_t* ep;
  ucs_list_for_each(ep, &waiting_, waiting) {
    if (!ucs_queue_is_empty(&ep->pending) && has_room(ep)) return true;
  }
  return false;
}

// Calls the first request of the endpoint.
Interface::Turn Interface::dispatch_one(uct_ina_ep_t* ep) noexcept {
  auto* const elem = ucs_queue_pull_elem_non_empty(&ep->pending, uct_pending_req_priv_queue_t, queue_elem);
  auto* const request = ucs_container_of(elem, uct_pending_req_t, priv);
  dispatching_ = ep;
  ep->is_dispatching = true;
  const ucs_status_t status = request->func(request);
  if (dispatching_ == nullptr) return Turn::kGone;
  dispatching_ = nullptr;
  ep->is_dispatching = false;
  if (status == UCS_OK) return Turn::kMore;
  ucs_queue_push_head(&ep->pending, &elem->queue_elem);
  return status == UCS_INPROGRESS ? Turn::kMore : Turn::kStuck;
}

unsigned Interface::dispatch_pending() noexcept {
  if (is_dispatching_) return 0;  // progress within a request
  is_dispatching_ = true;
  unsigned called = 0;
  ucs_list_link_t stuck;  // endpoints that cannot send more for now
  ucs_list_head_init(&stuck);
  while (!ucs_list_is_empty(&waiting_) && called < kMaxDispatched) {
    auto* const ep = ucs_list_extract_head(&waiting_, uct_ina_ep_t, waiting);
    ucs_list_head_init(&ep->waiting);
    if (ucs_queue_is_empty(&ep->pending)) continue;
    Turn turn = Turn::kStuck;
    if (has_room(ep)) {
      ++called;
      turn = dispatch_one(ep);
    }
    if (turn == Turn::kGone) continue;
    ucs_list_del(&ep->waiting);  // the request may have added another one
    ucs_list_add_tail(turn == Turn::kMore ? &waiting_ : &stuck, &ep->waiting);
  }
  ucs_list_splice_tail(&waiting_, &stuck);
  is_dispatching_ = false;
  return called;
}

}  // namespace ina::uct
