// uct_ina_ep_am.cpp: active messages: the id comes before what UCX hands over.
#include "ucx_tl/uct_ina_ep.h"

namespace ina::uct {

using engine::Message;
using engine::MessageKind;

namespace {

ucs_status_t post_am(uct_ina_ep_t* ep, std::byte* buffer, std::size_t bytes) {
  Message message;
  message.kind = MessageKind::kSend;
  return post_copied(ep, message, buffer, bytes);
}

// A buffer that begins with the header of an active message, or nullptr.
std::byte* begin_am(uct_ina_ep_t* ep, std::uint8_t id) {
  std::byte* const buffer = engine_of(ep).take_send_buffer();
  if (buffer == nullptr) return nullptr;
  std::memset(buffer, 0, kAmHeaderBytes);
  buffer[0] = static_cast<std::byte>(id);
  return buffer;
}

}  // namespace

ucs_status_t ep_am_short(uct_ep_h tl_ep, uint8_t id, uint64_t header, const void* payload, unsigned length) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const std::size_t bytes = kAmHeaderBytes + sizeof header + length;
  UCT_CHECK_AM_ID(id);
  UCT_CHECK_LENGTH(bytes, 0, segment_bytes_of(ep), "am_short");
  const AsyncBlock block(iface_of(ep));
  const ucs_status_t status = check_resources(ep, static_cast<std::uint32_t>(bytes));
  if (status != UCS_OK) return status;
  std::byte* const buffer = begin_am(ep, id);
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  std::memcpy(buffer + kAmHeaderBytes, &header, sizeof header);
  if (length != 0) std::memcpy(buffer + kAmHeaderBytes + sizeof header, payload, length);
  return post_am(ep, buffer, bytes);
}

ucs_status_t ep_am_short_iov(uct_ep_h tl_ep, uint8_t id, const uct_iov_t* iov, size_t iovcnt) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  const std::size_t bytes = kAmHeaderBytes + uct_iov_total_length(iov, iovcnt);
  UCT_CHECK_AM_ID(id);
  UCT_CHECK_LENGTH(bytes, 0, segment_bytes_of(ep), "am_short_iov");
  const AsyncBlock block(iface_of(ep));
  const ucs_status_t status = check_resources(ep, static_cast<std::uint32_t>(bytes));
  if (status != UCS_OK) return status;
  std::byte* const buffer = begin_am(ep, id);
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  std::byte* to = buffer + kAmHeaderBytes;
  for (std::size_t i = 0; i < iovcnt; ++i) {
    const std::size_t part = iov[i].length * iov[i].count;
    if (part != 0) std::memcpy(to, iov[i].buffer, part);
    to += part;
  }
  return post_am(ep, buffer, bytes);
}

ssize_t ep_am_bcopy(uct_ep_h tl_ep, uint8_t id, uct_pack_callback_t pack, void* arg, unsigned) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  UCT_CHECK_AM_ID(id);
  const AsyncBlock block(iface_of(ep));
  ucs_status_t status = check_resources(ep, static_cast<std::uint32_t>(segment_bytes_of(ep)));
  if (status != UCS_OK) return status;
  std::byte* const buffer = begin_am(ep, id);
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  const std::size_t length = pack(buffer + kAmHeaderBytes, arg);
  ucs_assert(length <= segment_bytes_of(ep) - kAmHeaderBytes);
  status = post_am(ep, buffer, kAmHeaderBytes + length);
  return status == UCS_OK ? static_cast<ssize_t>(length) : static_cast<ssize_t>(status);
}

// The header is copied behind the id, the payload stays where it is.
ucs_status_t ep_am_zcopy(uct_ep_h tl_ep, uint8_t id, const void* header, unsigned header_length, const uct_iov_t* iov, size_t iovcnt, unsigned,
                         uct_completion_t* comp) {
  uct_ina_ep_t* const ep = ep_of(tl_ep);
  UCT_CHECK_AM_ID(id);
  UCT_CHECK_IOV_SIZE(iovcnt, kAmMaxIov, "am_zcopy");
  const std::size_t length = kAmHeaderBytes + header_length + uct_iov_total_length(iov, iovcnt);
  UCT_CHECK_LENGTH(length, 0, segment_bytes_of(ep), "am_zcopy");
  const AsyncBlock block(iface_of(ep));
  ucs_status_t status = check_resources(ep, static_cast<std::uint32_t>(length));
  if (status != UCS_OK) return status;
  std::byte* const buffer = begin_am(ep, id);
  if (buffer == nullptr) return UCS_ERR_NO_RESOURCE;
  if (header_length != 0) std::memcpy(buffer + kAmHeaderBytes, header, header_length);
  Message message;
  message.kind = MessageKind::kSend;
  message.pieces[message.piece_count++] = {.address = buffer, .bytes = kAmHeaderBytes + header_length};
  status = append_pieces(message, iov, iovcnt);
  if (status != UCS_OK) {  // UCX may be built without the check above
    engine_of(ep).give_back_send_buffer(buffer);
    return status;
  }
  message.length = static_cast<std::uint32_t>(length);
  message.buffer = buffer;
  message.token = comp;
  status = post(ep, message);
  return status == UCS_OK ? UCS_INPROGRESS : status;
}

}  // namespace ina::uct
