// uct_ina_ep.cpp: the endpoint as an object of UCX, and its table of operations.
#include "ucx_tl/uct_ina_ep.h"

using ina::uct::AsyncBlock;
using ina::uct::guarded;

namespace ina::uct {

ucs_status_t check_resources(uct_ina_ep_t* ep, std::uint32_t length) noexcept {
  if (ep->qp->has_failed()) return to_status(ep->qp->error());
  if (iface_of(ep)->impl->is_inherited()) [[unlikely]] return UCS_ERR_UNREACHABLE;
  if (!ep->qp->is_connected()) return ep->qp->is_connecting() ? UCS_ERR_NO_RESOURCE : UCS_ERR_NOT_CONNECTED;
  if (!ucs_queue_is_empty(&ep->pending) && !ep->is_dispatching) return UCS_ERR_NO_RESOURCE;
  return engine_of(ep).can_post(*ep->qp, length) ? UCS_OK : UCS_ERR_NO_RESOURCE;
}

ucs_status_t append_pieces(engine::Message& message, const uct_iov_t* iov, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t bytes = iov[i].length * iov[i].count;
    if (bytes == 0) continue;
    if (message.piece_count == engine::kMaxPieces) return UCS_ERR_INVALID_PARAM;
    message.pieces[message.piece_count++] = {.address = static_cast<const std::byte*>(iov[i].buffer), .bytes = bytes};
  }
  return UCS_OK;
}

engine::Message remote_message(engine::MessageKind kind, std::uint64_t remote_address, uct_rkey_t rkey) noexcept {
  engine::Message message;
  message.kind = kind;
  message.remote_address = remote_address;
  message.rkey = static_cast<std::uint32_t>(rkey);
  return message;
}

ucs_status_t post(uct_ina_ep_t* ep, engine::Message& message) noexcept {
  const std::uint32_t fences = iface_of(ep)->impl->fences();
  message.fence = ep->fences != fences;
  const engine::PostStatus status = engine_of(ep).post(*ep->qp, message);
  if (status == engine::PostStatus::kPosted) {
    ep->fences = fences;
    return UCS_OK;
  }
  engine_of(ep).give_back_send_buffer(message.buffer);
  // There is room: only memory can be short, which no waiting request would be told of.
  return status == engine::PostStatus::kNoResource ? UCS_ERR_NO_MEMORY : to_status(ep->qp->error());
}

ucs_status_t post_copied(uct_ina_ep_t* ep, engine::Message& message, std::byte* buffer, std::size_t length) noexcept {
  message.pieces[0] = {.address = buffer, .bytes = length};
  message.piece_count = 1;
  message.length = static_cast<std::uint32_t>(length);
  message.buffer = buffer;
  return post(ep, message);
}

ucs_status_t post_zcopy(uct_ina_ep_t* ep, engine::MessageKind kind, const char* name, const uct_iov_t* iov, std::size_t iovcnt, std::uint64_t remote_address,
                        uct_rkey_t rkey, uct_completion_t* comp) {
  UCT_CHECK_IOV_SIZE(iovcnt, engine::kMaxPieces, name);
  const std::size_t length = uct_iov_total_length(iov, iovcnt);
  UCT_CHECK_LENGTH(length, 0, engine::kMaxMessageBytes, name);
  UCT_SKIP_ZERO_LENGTH(length);
  engine::Message message = remote_message(kind, remote_address, rkey);
  ucs_status_t status = append_pieces(message, iov, iovcnt);  // UCX may be built without the check above
  if (status != UCS_OK) return status;
  message.length = static_cast<std::uint32_t>(length);
  message.token = comp;
  const AsyncBlock block(iface_of(ep));
  status = check_resources(ep, message.length);
  if (status == UCS_OK) status = post(ep, message);
  return status == UCS_OK ? UCS_INPROGRESS : status;
}

namespace {

// For what the transport does not offer.
template <typename... Arguments>
ucs_status_t unsupported(Arguments...) {
  return UCS_ERR_UNSUPPORTED;
}

}  // namespace

}  // namespace ina::uct

static UCS_CLASS_INIT_FUNC(uct_ina_ep_t, const uct_ep_params_t* params) {
  auto* const iface = reinterpret_cast<uct_ina_iface_t*>(params->iface);
  constexpr std::uint64_t kBothAddresses = UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
  const std::uint64_t addresses = params->field_mask & kBothAddresses;
  if (addresses != 0 && addresses != kBothAddresses) {
    ucs_error("ina: an endpoint is created with a device address and an interface address, or with none");
    return UCS_ERR_INVALID_PARAM;
  }
  UCS_CLASS_CALL_SUPER_INIT(uct_base_ep_t, &iface->super);
  ucs_queue_head_init(&self->pending);
  ucs_list_head_init(&self->waiting);
  self->is_dispatching = false;
  self->fences = iface->impl->fences();
  const AsyncBlock block(iface);
  return guarded([&] {
    if (iface->impl->is_inherited()) {
      throw ina::engine::Error(ina::engine::Failure::kUnreachable, "an interface cannot be used in a child of the process that opened it");
    }
    ina::engine::Engine& engine = iface->impl->engine();
    const auto destroy = [&engine](ina::engine::Qp* qp) { engine.destroy_qp(qp); };
    std::unique_ptr<ina::engine::Qp, decltype(destroy)> qp(engine.create_qp(), destroy);
    if (qp == nullptr) throw ina::engine::Error(ina::engine::Failure::kSystem, "all QP numbers of the interface are in use");
    self->qp = qp.get();
    self->qp->user = self;
    const ucs_status_t status = addresses == 0 ? UCS_OK : ina::uct::ep_connect_to_iface(self, params->dev_addr, params->iface_addr);
    if (status != UCS_OK) return status;
    iface->impl->add_ep(self);
    (void)qp.release();
    return UCS_OK;
  });
}

static UCS_CLASS_CLEANUP_FUNC(uct_ina_ep_t) {
  auto* const iface = reinterpret_cast<uct_ina_iface_t*>(self->super.super.iface);
  const AsyncBlock block(iface);
  if (!ucs_queue_is_empty(&self->pending)) ucs_warn("ina: an endpoint with pending requests is destroyed");
  iface->impl->remove_ep(self);
  iface->impl->engine().destroy_qp(self->qp);
}

UCS_CLASS_DEFINE(uct_ina_ep_t, uct_base_ep_t);
static UCS_CLASS_DEFINE_NEW_FUNC(uct_ina_ep_t, uct_ep_t, const uct_ep_params_t*);
static UCS_CLASS_DEFINE_DELETE_FUNC(uct_ina_ep_t, uct_ep_t);

void uct_ina_ep_fill_ops(uct_iface_ops_t* ops) {
  using namespace ina::uct;
  ops->ep_put_short = ep_put_short;
  ops->ep_put_bcopy = ep_put_bcopy;
  ops->ep_put_zcopy = ep_put_zcopy;
  ops->ep_get_short = unsupported;
  ops->ep_get_bcopy = ep_get_bcopy;
  ops->ep_get_zcopy = ep_get_zcopy;
  ops->ep_atomic64_post = ep_atomic64_post;
  ops->ep_atomic64_fetch = ep_atomic64_fetch;
  ops->ep_atomic_cswap64 = ep_atomic_cswap64;
  ops->ep_atomic32_post = unsupported;
  ops->ep_atomic32_fetch = unsupported;
  ops->ep_atomic_cswap32 = unsupported;
  ops->ep_am_short = ep_am_short;
  ops->ep_am_short_iov = ep_am_short_iov;
  ops->ep_am_bcopy = ep_am_bcopy;
  ops->ep_am_zcopy = ep_am_zcopy;
  ops->ep_pending_add = ep_pending_add;
  ops->ep_pending_purge = ep_pending_purge;
  ops->ep_flush = ep_flush;
  ops->ep_fence = ep_fence;
  ops->iface_fence = iface_fence;
  ops->iface_flush = iface_flush;
  ops->ep_create = UCS_CLASS_NEW_FUNC_NAME(uct_ina_ep_t);
  ops->ep_destroy = UCS_CLASS_DELETE_FUNC_NAME(uct_ina_ep_t);
  ops->ep_get_address = ep_get_address;
  ops->ep_check = ep_check;
  ops->iface_get_address = iface_get_address;
  ops->ep_connect_to_ep = ep_connect_to_ep;
}
