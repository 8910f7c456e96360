// uct_ina_ep_get.cpp: GET: copied and zero copy.
#include <new>

#include "ucx_tl/uct_ina_ep.h"

namespace ina::uct {

using engine::Message;
using engine::MessageKind;

namespace {

// Who gets the data; it follows in the buffer.
struct CopiedGet {
  uct_unpack_callback_t unpack;
  void* arg;
  std::size_t length;
  uct_completion_t* comp;
};
static_assert(sizeof(CopiedGet) <= kGetHeaderBytes && kGetHeaderBytes % alignof(CopiedGet) == 0);

}  // namespace

ucs_status_t ep_get_bcopy(uct_ep_h tl_ep, uct_unpack_callback_t unpack, void* arg, size_t length, uint64_t remote_address, uct_rkey_t rkey,
                          uct_completion_t* comp) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  UCT_CHECK_LENGTH(length, 0, segment_bytes_of(ep) - kGetHeaderBytes, "get_bcopy");
  UCT_SKIP_ZERO_LENGTH(length);
  const AsyncBlock block(iface_of(ep));
  ucs_status_t status = check_resources(ep, static_cast<std::uint32_t>(length));
  if (status != UCS_OK) return status;
  std::byte* const buffer = engine_of(ep).take_send_buffer();
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  const auto* const get = new (buffer) CopiedGet{.unpack = unpack, .arg = arg, .length = length, .comp = comp};
  Message message = remote_message(MessageKind::kRead, remote_address, rkey);
  message.pieces[message.piece_count++] = {.address = buffer + kGetHeaderBytes, .bytes = length};
  message.length = static_cast<std::uint32_t>(length);
  message.buffer = buffer;
  message.token = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(get) | kCopiedGetBit);
  status = post(ep, message);
  return status == UCS_OK ? UCS_INPROGRESS : status;
}

void complete_copied_get(void* token, ucs_status_t status) noexcept {
  const auto* const get = reinterpret_cast<const CopiedGet*>(reinterpret_cast<std::uintptr_t>(token) & ~kCopiedGetBit);
  if (status == UCS_OK) get->unpack(get->arg, reinterpret_cast<const std::byte*>(get) + kGetHeaderBytes, get->length);
  if (get->comp != nullptr) uct_invoke_completion(get->comp, status);
}

ucs_status_t ep_get_zcopy(uct_ep_h tl_ep, const uct_iov_t* iov, size_t iovcnt, uint64_t remote_address, uct_rkey_t rkey, uct_completion_t* comp) {
  return post_zcopy(ep_of(tl_ep), MessageKind::kRead, "get_zcopy", iov, iovcnt, remote_address, rkey, comp);
}

}  // namespace ina::uct
