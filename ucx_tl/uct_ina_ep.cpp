// uct_ina_ep.cpp: endpoint operations as UCX calls them. In-order delivery of a reliable connection makes every fence a no-op.
#include <algorithm>

#include "ucx_tl/uct_ina.h"

using ina::engine::Message;
using ina::engine::MessageKind;
using ina::engine::PostStatus;
using ina::engine::QpAddress;
using ina::uct::AsyncBlock;
using ina::uct::guarded;

namespace {

uct_ina_ep_t* ep_of(uct_ep_h ep) { return reinterpret_cast<uct_ina_ep_t*>(ep); }
uct_ina_iface_t* iface_of(uct_ina_ep_t* ep) { return reinterpret_cast<uct_ina_iface_t*>(ep->super.super.iface); }
ina::engine::Engine& engine_of(uct_ina_ep_t* ep) { return iface_of(ep)->impl->engine(); }

// Whether the endpoint can take `length` bytes now. Those that wait already go first.
ucs_status_t check_resources(uct_ina_ep_t* ep, std::uint32_t length) {
  if (ep->qp->has_failed()) return ina::uct::to_status(ep->qp->error());
  if (!ep->qp->is_connected()) return UCS_ERR_NOT_CONNECTED;
  if (!ucs_queue_is_empty(&ep->pending) && !ep->is_dispatching) return UCS_ERR_NO_RESOURCE;
  return engine_of(ep).can_post(*ep->qp, length) ? UCS_OK : UCS_ERR_NO_RESOURCE;
}

// Posts a message that lies in a buffer of the engine.
ucs_status_t post_copied(uct_ina_ep_t* ep, MessageKind kind, std::byte* buffer, std::size_t length, std::uint64_t remote_address, uct_rkey_t rkey) {
  Message message;
  message.kind = kind;
  message.remote_address = remote_address;
  message.rkey = static_cast<std::uint32_t>(rkey);
  message.pieces[0] = {.address = buffer, .bytes = length};
  message.piece_count = 1;
  message.length = static_cast<std::uint32_t>(length);
  message.buffer = buffer;
  const PostStatus status = engine_of(ep).post(*ep->qp, message);
  if (status == PostStatus::kPosted) return UCS_OK;
  engine_of(ep).give_back_send_buffer(buffer);
  return status == PostStatus::kNoResource ? UCS_ERR_NO_RESOURCE : UCS_ERR_ENDPOINT_TIMEOUT;
}

ucs_status_t ep_put_short(uct_ep_h tl_ep, const void* data, unsigned length, uint64_t remote_address, uct_rkey_t rkey) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  UCT_CHECK_LENGTH(length, 0, iface_of(ep)->impl->segment_bytes(), "put_short");
  UCT_SKIP_ZERO_LENGTH(length);
  const AsyncBlock block(iface_of(ep));
  const ucs_status_t status = check_resources(ep, length);
  if (status != UCS_OK) return status;
  std::byte* const buffer = engine_of(ep).take_send_buffer();
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  std::memcpy(buffer, data, length);
  return post_copied(ep, MessageKind::kWrite, buffer, length, remote_address, rkey);
}

ssize_t ep_put_bcopy(uct_ep_h tl_ep, uct_pack_callback_t pack, void* arg, uint64_t remote_address, uct_rkey_t rkey) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const AsyncBlock block(iface_of(ep));
  ucs_status_t status = check_resources(ep, static_cast<std::uint32_t>(iface_of(ep)->impl->segment_bytes()));
  if (status != UCS_OK) return status;
  std::byte* const buffer = engine_of(ep).take_send_buffer();
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  const std::size_t length = pack(buffer, arg);
  ucs_assert(length <= iface_of(ep)->impl->segment_bytes());
  if (length == 0) {
    engine_of(ep).give_back_send_buffer(buffer);
    return 0;
  }
  status = post_copied(ep, MessageKind::kWrite, buffer, length, remote_address, rkey);
  return status == UCS_OK ? static_cast<ssize_t>(length) : static_cast<ssize_t>(status);
}

ucs_status_t ep_put_zcopy(uct_ep_h tl_ep, const uct_iov_t* iov, size_t iovcnt, uint64_t remote_address, uct_rkey_t rkey, uct_completion_t* comp) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  UCT_CHECK_IOV_SIZE(iovcnt, ina::engine::kMaxPieces, "put_zcopy");
  Message message;
  std::size_t length = 0;
  for (std::size_t i = 0; i < iovcnt; ++i) {
    const std::size_t bytes = iov[i].length * iov[i].count;
    if (bytes == 0) continue;
    message.pieces[message.piece_count++] = {.address = static_cast<const std::byte*>(iov[i].buffer), .bytes = bytes};
    length += bytes;
  }
  UCT_CHECK_LENGTH(length, 0, ina::engine::kMaxMessageBytes, "put_zcopy");
  UCT_SKIP_ZERO_LENGTH(length);
  message.kind = MessageKind::kWrite;
  message.remote_address = remote_address;
  message.rkey = static_cast<std::uint32_t>(rkey);
  message.length = static_cast<std::uint32_t>(length);
  message.token = comp;
  const AsyncBlock block(iface_of(ep));
  const ucs_status_t status = check_resources(ep, message.length);
  if (status != UCS_OK) return status;
  return engine_of(ep).post(*ep->qp, message) == PostStatus::kPosted ? UCS_INPROGRESS : UCS_ERR_NO_RESOURCE;
}

// A buffer that begins with the header of an active message, or nullptr.
std::byte* begin_am(uct_ina_ep_t* ep, std::uint8_t id) {
  std::byte* const buffer = engine_of(ep).take_send_buffer();
  if (buffer == nullptr) return nullptr;
  std::memset(buffer, 0, ina::uct::kAmHeaderBytes);
  buffer[0] = static_cast<std::byte>(id);
  return buffer;
}

ucs_status_t ep_am_short(uct_ep_h tl_ep, uint8_t id, uint64_t header, const void* payload, unsigned length) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const std::size_t bytes = ina::uct::kAmHeaderBytes + sizeof header + length;
  UCT_CHECK_AM_ID(id);
  UCT_CHECK_LENGTH(bytes, 0, iface_of(ep)->impl->segment_bytes(), "am_short");
  const AsyncBlock block(iface_of(ep));
  const ucs_status_t status = check_resources(ep, static_cast<std::uint32_t>(bytes));
  if (status != UCS_OK) return status;
  std::byte* const buffer = begin_am(ep, id);
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  std::memcpy(buffer + ina::uct::kAmHeaderBytes, &header, sizeof header);
  if (length != 0) std::memcpy(buffer + ina::uct::kAmHeaderBytes + sizeof header, payload, length);
  return post_copied(ep, MessageKind::kSend, buffer, bytes, 0, 0);
}

ucs_status_t ep_am_short_iov(uct_ep_h tl_ep, uint8_t id, const uct_iov_t* iov, size_t iovcnt) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  std::size_t bytes = ina::uct::kAmHeaderBytes;
  for (std::size_t i = 0; i < iovcnt; ++i) bytes += iov[i].length * iov[i].count;
  UCT_CHECK_AM_ID(id);
  UCT_CHECK_LENGTH(bytes, 0, iface_of(ep)->impl->segment_bytes(), "am_short_iov");
  const AsyncBlock block(iface_of(ep));
  const ucs_status_t status = check_resources(ep, static_cast<std::uint32_t>(bytes));
  if (status != UCS_OK) return status;
  std::byte* const buffer = begin_am(ep, id);
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  std::byte* to = buffer + ina::uct::kAmHeaderBytes;
  for (std::size_t i = 0; i < iovcnt; ++i) {
    const std::size_t part = iov[i].length * iov[i].count;
    if (part != 0) std::memcpy(to, iov[i].buffer, part);
    to += part;
  }
  return post_copied(ep, MessageKind::kSend, buffer, bytes, 0, 0);
}

ssize_t ep_am_bcopy(uct_ep_h tl_ep, uint8_t id, uct_pack_callback_t pack, void* arg, unsigned) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  UCT_CHECK_AM_ID(id);
  const AsyncBlock block(iface_of(ep));
  ucs_status_t status = check_resources(ep, static_cast<std::uint32_t>(iface_of(ep)->impl->segment_bytes()));
  if (status != UCS_OK) return status;
  std::byte* const buffer = begin_am(ep, id);
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  const std::size_t length = pack(buffer + ina::uct::kAmHeaderBytes, arg);
  ucs_assert(length <= iface_of(ep)->impl->segment_bytes() - ina::uct::kAmHeaderBytes);
  status = post_copied(ep, MessageKind::kSend, buffer, ina::uct::kAmHeaderBytes + length, 0, 0);
  return status == UCS_OK ? static_cast<ssize_t>(length) : static_cast<ssize_t>(status);
}

ucs_status_t ep_pending_add(uct_ep_h tl_ep, uct_pending_req_t* request, unsigned) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const AsyncBlock block(iface_of(ep));
  const bool has_resources = check_resources(ep, static_cast<std::uint32_t>(iface_of(ep)->impl->segment_bytes())) != UCS_ERR_NO_RESOURCE;
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

ucs_status_t ep_flush(uct_ep_h tl_ep, unsigned flags, uct_completion_t* comp) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const AsyncBlock block(iface_of(ep));
  if ((flags & UCT_FLUSH_FLAG_CANCEL) != 0) {
    engine_of(ep).fail_qp(*ep->qp, ina::engine::QpError::kCancelled);
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

ucs_status_t ep_get_address(uct_ep_h tl_ep, uct_ep_addr_t* address) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  auto* const to = reinterpret_cast<std::byte*>(address);
  const QpAddress own = engine_of(ep).address(*ep->qp);
  ina::wire::store_be(to, (std::uint64_t{own.qpn} << 40) | (std::uint64_t{own.first_psn} << 16) | own.mtu);
  return UCS_OK;
}

ucs_status_t ep_connect_to_ep(uct_ep_h tl_ep, const uct_device_addr_t* device_address, const uct_ep_addr_t* ep_address) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  ina::uct::PeerAddress peer;
  if (!ina::uct::Interface::unpack_address(reinterpret_cast<const std::byte*>(device_address), peer)) {
    ucs_error("ina: a device address is malformed or of another version");
    return UCS_ERR_INVALID_ADDR;
  }
  if (!iface_of(ep)->impl->is_reachable(peer)) {
    ucs_error("ina: %s is not reachable from device %s: another network, or another relay", peer.udp.text().c_str(), iface_of(ep)->impl->device().c_str());
    return UCS_ERR_UNREACHABLE;
  }
  const auto packed = ina::wire::load_be<std::uint64_t>(reinterpret_cast<const std::byte*>(ep_address));
  const QpAddress address{.qpn = static_cast<std::uint32_t>(packed >> 40),
                          .first_psn = static_cast<std::uint32_t>(packed >> 16) & ina::wire::kPsnMask,
                          .mtu = static_cast<std::uint32_t>(packed & 0xffff)};
  const AsyncBlock block(iface_of(ep));
  if (engine_of(ep).connect(*ep->qp, peer.udp, address)) return UCS_OK;
  ucs_error("ina: an endpoint address is malformed, or the endpoint is connected already");
  return UCS_ERR_INVALID_ADDR;
}

}  // namespace

ucs_status_t uct_ina_iface_flush(uct_iface_h tl_iface, unsigned, uct_completion_t* comp) {
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

static UCS_CLASS_INIT_FUNC(uct_ina_ep_t, const uct_ep_params_t* params) {
  auto* const iface = reinterpret_cast<uct_ina_iface_t*>(params->iface);
  if ((params->field_mask & (UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR)) != 0) {
    ucs_error("ina: endpoints are connected by uct_ep_connect_to_ep");
    return UCS_ERR_UNSUPPORTED;
  }
  UCS_CLASS_CALL_SUPER_INIT(uct_base_ep_t, &iface->super);
  ucs_queue_head_init(&self->pending);
  self->is_dispatching = false;
  const AsyncBlock block(iface);
  return guarded([&] {
    self->qp = iface->impl->engine().create_qp();
    if (self->qp == nullptr) throw ina::engine::Error(ina::engine::Failure::kSystem, "all QP numbers of the interface are in use");
    self->qp->user = self;
    iface->impl->add_ep(self);
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
  ops->ep_put_short = ep_put_short;
  ops->ep_put_bcopy = ep_put_bcopy;
  ops->ep_put_zcopy = ep_put_zcopy;
  ops->ep_am_short = ep_am_short;
  ops->ep_am_short_iov = ep_am_short_iov;
  ops->ep_am_bcopy = ep_am_bcopy;
  ops->ep_pending_add = ep_pending_add;
  ops->ep_pending_purge = ep_pending_purge;
  ops->ep_flush = ep_flush;
  ops->ep_fence = uct_base_ep_fence;
  ops->ep_create = UCS_CLASS_NEW_FUNC_NAME(uct_ina_ep_t);
  ops->ep_destroy = UCS_CLASS_DELETE_FUNC_NAME(uct_ina_ep_t);
  ops->ep_get_address = ep_get_address;
  ops->ep_connect_to_ep = ep_connect_to_ep;
}
