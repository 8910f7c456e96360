// uct_ina_ep_put.cpp: PUT: short, copied and zero copy.
#include "ucx_tl/uct_ina_ep.h"

namespace ina::uct {

using engine::Message;
using engine::MessageKind;

ucs_status_t ep_put_short(uct_ep_h tl_ep, const void* data, unsigned length, uint64_t remote_address, uct_rkey_t rkey) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  UCT_CHECK_LENGTH(length, 0, segment_bytes_of(ep), "put_short");
  UCT_SKIP_ZERO_LENGTH(length);
  const AsyncBlock block(iface_of(ep));
  const ucs_status_t status = check_resources(ep, length);
  if (status != UCS_OK) return status;
  std::byte* const buffer = engine_of(ep).take_send_buffer();
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  std::memcpy(buffer, data, length);
  Message message = remote_message(MessageKind::kWrite, remote_address, rkey);
  return post_copied(ep, message, buffer, length);
}

ssize_t ep_put_bcopy(uct_ep_h tl_ep, uct_pack_callback_t pack, void* arg, uint64_t remote_address, uct_rkey_t rkey) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const AsyncBlock block(iface_of(ep));
  ucs_status_t status = check_resources(ep, static_cast<std::uint32_t>(segment_bytes_of(ep)));
  if (status != UCS_OK) return status;
  std::byte* const buffer = engine_of(ep).take_send_buffer();
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  const std::size_t length = pack(buffer, arg);
  ucs_assert(length <= segment_bytes_of(ep));
  if (length == 0) {
    engine_of(ep).give_back_send_buffer(buffer);
    return 0;
  }
  Message message = remote_message(MessageKind::kWrite, remote_address, rkey);
  status = post_copied(ep, message, buffer, length);
  return status == UCS_OK ? static_cast<ssize_t>(length) : static_cast<ssize_t>(status);
}

ucs_status_t ep_put_zcopy(uct_ep_h tl_ep, const uct_iov_t* iov, size_t iovcnt, uint64_t remote_address, uct_rkey_t rkey, uct_completion_t* comp) {
  return post_zcopy(ep_of(tl_ep), MessageKind::kWrite, "put_zcopy", iov, iovcnt, remote_address, rkey, comp);
}

}  // namespace ina::uct
