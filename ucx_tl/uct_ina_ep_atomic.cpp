// uct_ina_ep_atomic.cpp: the atomic operations that InfiniBand has: fetch and add, compare and swap, of 64 bits.
#include "ucx_tl/uct_ina_ep.h"

namespace ina::uct {

using engine::Message;
using engine::MessageKind;

namespace {

constexpr std::size_t kAtomicBytes = sizeof(std::uint64_t);

ucs_status_t post_atomic(uct_ina_ep_t* ep, Message& message, uint64_t* result, uct_completion_t* comp) {
  if (message.remote_address % kAtomicBytes != 0) {
    ucs_error("ina: address 0x%" PRIx64 " of an atomic operation is not a multiple of 8", message.remote_address);
    return UCS_ERR_INVALID_PARAM;
  }
  if (result != nullptr) message.pieces[message.piece_count++] = {.address = reinterpret_cast<std::byte*>(result), .bytes = kAtomicBytes};
  message.length = kAtomicBytes;
  message.token = comp;
  const AsyncBlock block(iface_of(ep));
  const ucs_status_t status = check_resources(ep, message.length);
  return status == UCS_OK ? post(ep, message) : status;
}

}  // namespace

ucs_status_t ep_atomic64_post(uct_ep_h tl_ep, unsigned op, uint64_t value, uint64_t remote_address, uct_rkey_t rkey) {
  if (op != UCT_ATOMIC_OP_ADD) return UCS_ERR_UNSUPPORTED;
  Message message = remote_message(MessageKind::kFetchAdd, remote_address, rkey);
  message.operand = value;
  return post_atomic(ep_of(tl_ep), message, nullptr, nullptr);
}

ucs_status_t ep_atomic64_fetch(uct_ep_h tl_ep, unsigned op, uint64_t value, uint64_t* result, uint64_t remote_address, uct_rkey_t rkey,
                               uct_completion_t* comp) {
  if (op != UCT_ATOMIC_OP_ADD) return UCS_ERR_UNSUPPORTED;
  Message message = remote_message(MessageKind::kFetchAdd, remote_address, rkey);
  message.operand = value;
  const ucs_status_t status = post_atomic(ep_of(tl_ep), message, result, comp);
  return status == UCS_OK ? UCS_INPROGRESS : status;
}

ucs_status_t ep_atomic_cswap64(uct_ep_h tl_ep, uint64_t compare, uint64_t swap, uint64_t remote_address, uct_rkey_t rkey, uint64_t* result,
                               uct_completion_t* comp) {
  Message message = remote_message(MessageKind::kCompareSwap, remote_address, rkey);
  message.operand = swap;
  message.compare = compare;
  const ucs_status_t status = post_atomic(ep_of(tl_ep), message, result, comp);
  return status == UCS_OK ? UCS_INPROGRESS : status;
}

}  // namespace ina::uct
