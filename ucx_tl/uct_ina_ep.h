// uct_ina_ep.h: what the sources of the endpoint operations share: the operations by name, and the way from UCX's handles to the engine.
// Used by the uct_ina_ep* sources only.
// Holds no state of its own.
#pragma once

#include "ucx_tl/uct_ina.h"

namespace ina::uct {

inline uct_ina_ep_t* ep_of(uct_ep_h ep) noexcept { return reinterpret_cast<uct_ina_ep_t*>(ep); }
inline uct_ina_iface_t* iface_of(uct_ina_ep_t* ep) noexcept { return reinterpret_cast<uct_ina_iface_t*>(ep->super.super.iface); }
inline engine::Engine& engine_of(uct_ina_ep_t* ep) noexcept { return iface_of(ep)->impl->engine(); }
inline std::size_t segment_bytes_of(uct_ina_ep_t* ep) noexcept { return iface_of(ep)->impl->segment_bytes(); }

// Whether the endpoint can take a message of `length` bytes now. Those that wait already go first.
[[nodiscard]] ucs_status_t check_resources(uct_ina_ep_t* ep, std::uint32_t length) noexcept;
// Appends what the user's iov describes. False: more pieces than a message has.
[[nodiscard]] ucs_status_t append_pieces(engine::Message&, const uct_iov_t*, std::size_t count) noexcept;
// A message about the peer's memory.
[[nodiscard]] engine::Message remote_message(engine::MessageKind, std::uint64_t remote_address, uct_rkey_t) noexcept;
// Posts the message after check_resources(). Its buffer, if it has one, goes back to the engine where it cannot be posted.
[[nodiscard]] ucs_status_t post(uct_ina_ep_t* ep, engine::Message&) noexcept;
// Makes a buffer of the engine the payload of a message, and posts it.
[[nodiscard]] ucs_status_t post_copied(uct_ina_ep_t* ep, engine::Message&, std::byte* buffer, std::size_t length) noexcept;

// Posts a message about the peer's memory whose payload, or for GETs whose destination, stays the user's. `name` of the operation, for errors.
[[nodiscard]] ucs_status_t post_zcopy(uct_ina_ep_t* ep, engine::MessageKind, const char* name, const uct_iov_t*, std::size_t iovcnt, std::uint64_t remote_address,
                                      uct_rkey_t, uct_completion_t*);

// A token of on_completed() is a uct_completion_t, or with this bit set the CopiedGet at the begin of the message's buffer.
inline constexpr std::uintptr_t kCopiedGetBit = 1;
void complete_copied_get(void* token, ucs_status_t) noexcept;

// uct_ina_ep_put.cpp
ucs_status_t ep_put_short(uct_ep_h, const void* data, unsigned length, uint64_t remote_address, uct_rkey_t);
ssize_t ep_put_bcopy(uct_ep_h, uct_pack_callback_t, void* arg, uint64_t remote_address, uct_rkey_t);
ucs_status_t ep_put_zcopy(uct_ep_h, const uct_iov_t*, size_t iovcnt, uint64_t remote_address, uct_rkey_t, uct_completion_t*);
// uct_ina_ep_get.cpp
ucs_status_t ep_get_bcopy(uct_ep_h, uct_unpack_callback_t, void* arg, size_t length, uint64_t remote_address, uct_rkey_t, uct_completion_t*);
ucs_status_t ep_get_zcopy(uct_ep_h, const uct_iov_t*, size_t iovcnt, uint64_t remote_address, uct_rkey_t, uct_completion_t*);
// uct_ina_ep_atomic.cpp
ucs_status_t ep_atomic64_post(uct_ep_h, unsigned op, uint64_t value, uint64_t remote_address, uct_rkey_t);
ucs_status_t ep_atomic64_fetch(uct_ep_h, unsigned op, uint64_t value, uint64_t* result, uint64_t remote_address, uct_rkey_t, uct_completion_t*);
ucs_status_t ep_atomic_cswap64(uct_ep_h, uint64_t compare, uint64_t swap, uint64_t remote_address, uct_rkey_t, uint64_t* result, uct_completion_t*);
// uct_ina_ep_am.cpp
ucs_status_t ep_am_short(uct_ep_h, uint8_t id, uint64_t header, const void* payload, unsigned length);
ucs_status_t ep_am_short_iov(uct_ep_h, uint8_t id, const uct_iov_t*, size_t iovcnt);
ssize_t ep_am_bcopy(uct_ep_h, uint8_t id, uct_pack_callback_t, void* arg, unsigned flags);
ucs_status_t ep_am_zcopy(uct_ep_h, uint8_t id, const void* header, unsigned header_length, const uct_iov_t*, size_t iovcnt, unsigned flags, uct_completion_t*);
// uct_ina_ep_pending.cpp
ucs_status_t ep_pending_add(uct_ep_h, uct_pending_req_t*, unsigned flags);
void ep_pending_purge(uct_ep_h, uct_pending_purge_callback_t, void* arg);
// uct_ina_ep_flush.cpp
ucs_status_t ep_flush(uct_ep_h, unsigned flags, uct_completion_t*);
ucs_status_t iface_flush(uct_iface_h, unsigned flags, uct_completion_t*);
ucs_status_t ep_fence(uct_ep_h, unsigned flags);
ucs_status_t iface_fence(uct_iface_h, unsigned flags);
// uct_ina_ep_connect.cpp
ucs_status_t iface_get_address(uct_iface_h, uct_iface_addr_t*);
ucs_status_t ep_connect_to_iface(uct_ina_ep_t*, const uct_device_addr_t*, const uct_iface_addr_t*);
ucs_status_t ep_check(uct_ep_h, unsigned flags, uct_completion_t*);
ucs_status_t ep_get_address(uct_ep_h, uct_ep_addr_t*);
ucs_status_t ep_connect_to_ep(uct_ep_h, const uct_device_addr_t*, const uct_ep_addr_t*);

}  // namespace ina::uct
