// side_operations.cpp: the part of Side that draws, posts and checks operations.
#include <algorithm>

#include "test/traffic/random_bytes.hpp"
#include "test/traffic/side.hpp"

namespace traffic {
namespace {

constexpr std::size_t kPart = 512 << 10;
constexpr std::uint8_t kMessageId = 5;

bool is_get(Kind kind) { return kind == Kind::kGetBcopy || kind == Kind::kGetZcopy; }
bool is_message(Kind kind) { return kind == Kind::kAmShort || kind == Kind::kAmShortIov || kind == Kind::kAmBcopy || kind == Kind::kAmZcopy; }
bool is_atomic(Kind kind) { return kind == Kind::kFetchAdd || kind == Kind::kAdd || kind == Kind::kCompareSwap; }
bool is_put(Kind kind) { return kind == Kind::kPutShort || kind == Kind::kPutBcopy || kind == Kind::kPutZcopy; }

}  // namespace

// Mostly short, and each limit now and then.
void Side::draw_length(Operation& operation, std::size_t least, std::size_t most) {
  most = std::min(most, options_.largest);
  switch (random_() % 8) {
    case 0: operation.length = least; break;
    case 1: operation.length = most; break;
    case 2: operation.length = least + random_() % (most - least + 1); break;
    default: operation.length = least + random_() % (std::min<std::size_t>(most, least + 4096) - least + 1);
  }
}

// Zero copy takes what is sent, or where to read to, in pieces.
void Side::cut(Operation& operation, std::byte* from, std::size_t length, std::size_t most_pieces) {
  const std::size_t pieces = 1 + random_() % std::max<std::size_t>(most_pieces, 1);
  for (std::size_t left = length, i = 0; i < pieces; ++i) {
    const std::size_t part = i + 1 == pieces ? left : random_() % (left + 1);
    operation.pieces.push_back({.buffer = from, .length = part, .memh = arena_handle_, .stride = 0, .count = 1});
    from += part;
    left -= part;
  }
}

std::unique_ptr<Operation> Side::draw(Stream& stream) {
  const auto& cap = port_.attr().cap;
  auto operation = std::make_unique<Operation>();
  operation->side = this;
  operation->endpoint = stream.index;
  // Flushes are rare, so that much is under way.
  operation->kind = random_() % 64 == 0 ? Kind::kFlush : kinds_[random_() % (kinds_.size() - 1)];
  operation->completion = {.func = &Side::on_complete, .count = 1, .status = UCS_OK};
  // Within a kind the transport keeps the order of an endpoint; between kinds a fence asks for it.
  operation->needs_fence = stream.last && *stream.last != operation->kind;
  operation->memory = free_slices_.back();
  free_slices_.pop_back();
  std::size_t most_pieces = 1;
  switch (operation->kind) {
    case Kind::kPutShort: draw_length(*operation, 1, cap.put.max_short); break;
    case Kind::kPutBcopy: draw_length(*operation, 1, cap.put.max_bcopy); break;
    case Kind::kPutZcopy: draw_length(*operation, std::max<std::size_t>(cap.put.min_zcopy, 1), cap.put.max_zcopy), most_pieces = cap.put.max_iov; break;
    case Kind::kGetBcopy: draw_length(*operation, 1, cap.get.max_bcopy); break;
    case Kind::kGetZcopy: draw_length(*operation, std::max<std::size_t>(cap.get.min_zcopy, 1), cap.get.max_zcopy), most_pieces = cap.get.max_iov; break;
    case Kind::kAmShort: draw_length(*operation, 8, cap.am.max_short); break;
    case Kind::kAmShortIov: draw_length(*operation, 8, cap.am.max_short), most_pieces = cap.am.max_iov; break;
    case Kind::kAmBcopy: draw_length(*operation, 8, cap.am.max_bcopy); break;
    case Kind::kAmZcopy: draw_length(*operation, 8, cap.am.max_zcopy), most_pieces = cap.am.max_iov; break;
    case Kind::kFetchAdd:
    case Kind::kAdd:
    case Kind::kCompareSwap: operation->length = 8; break;
    case Kind::kFlush: break;
  }
  if (is_message(operation->kind)) {
    operation->header = std::uint64_t{stream.index} << 56 | std::uint64_t{operation->length} << 32 | stream.messages_sent++;
    std::memcpy(operation->memory, &operation->header, 8);
    fill({operation->memory + 8, operation->length - 8}, operation->header);
    const std::size_t header = operation->kind == Kind::kAmZcopy ? 8 : 0;
    cut(*operation, operation->memory + header, operation->length - header, most_pieces);
    return operation;
  }
  operation->offset = stream.index * kPart + random_() % (kPart - operation->length);
  if (is_atomic(operation->kind)) operation->offset &= ~std::size_t{7};
  operation->operand = random_();
  if (is_put(operation->kind)) fill({operation->memory, operation->length}, operation->operand);
  cut(*operation, operation->memory, operation->length, most_pieces);
  return operation;
}

// Tries what waits on a stream; half of what the transport has no room for is left to its pending queue.
bool Side::post(Stream& stream) {
  const ucs_status_t status = attempt(*stream.waiting);
  if (status != UCS_ERR_NO_RESOURCE) {
    taken(stream, status);
    return true;
  }
  if (random_() % 2 == 0) {
    const ucs_status_t added = uct_ep_pending_add(port_.ep(stream.index), &stream.request, 0);
    if (added != UCS_ERR_BUSY) check(added, "uct_ep_pending_add");
    stream.is_pending = added == UCS_OK;
  }
  return false;
}

ucs_status_t Side::on_pending(uct_pending_req_t* request) {
  Stream& stream = *reinterpret_cast<Stream*>(request);
  const ucs_status_t status = stream.side->attempt(*stream.waiting);
  if (status == UCS_ERR_NO_RESOURCE) return status;
  stream.is_pending = false;
  stream.side->taken(stream, status);
  return UCS_OK;
}

ucs_status_t Side::attempt(Operation& operation) {
  Stream& stream = streams_[operation.endpoint];
  const uct_ep_h ep = port_.ep(operation.endpoint);
  const std::uint64_t remote = port_.peer_region() + operation.offset;
  const uct_rkey_t rkey = port_.rkey();
  if (operation.needs_fence) {
    const ucs_status_t status = uct_ep_fence(ep, 0);
    if (status != UCS_OK) return status;
    operation.needs_fence = false;
  }
  // Its completion may come before the call returns.
  operation.number = stream.posted;
  ssize_t packed = 0;
  switch (operation.kind) {
    case Kind::kPutShort: return uct_ep_put_short(ep, operation.memory, static_cast<unsigned>(operation.length), remote, rkey);
    case Kind::kPutBcopy: packed = uct_ep_put_bcopy(ep, &Side::pack, &operation, remote, rkey); return packed < 0 ? static_cast<ucs_status_t>(packed) : UCS_OK;
    case Kind::kPutZcopy: return uct_ep_put_zcopy(ep, operation.pieces.data(), operation.pieces.size(), remote, rkey, &operation.completion);
    case Kind::kGetBcopy: return uct_ep_get_bcopy(ep, &Side::unpack, &operation, operation.length, remote, rkey, &operation.completion);
    case Kind::kGetZcopy: return uct_ep_get_zcopy(ep, operation.pieces.data(), operation.pieces.size(), remote, rkey, &operation.completion);
    case Kind::kFlush: return uct_ep_flush(ep, 0, &operation.completion);
    default: return is_atomic(operation.kind) ? attempt_atomic(operation, ep) : attempt_message(operation, ep);
  }
}

ucs_status_t Side::attempt_message(Operation& operation, uct_ep_h ep) {
  switch (operation.kind) {
    case Kind::kAmShort: return uct_ep_am_short(ep, kMessageId, operation.header, operation.memory + 8, static_cast<unsigned>(operation.length - 8));
    case Kind::kAmShortIov: return uct_ep_am_short_iov(ep, kMessageId, operation.pieces.data(), operation.pieces.size());
    case Kind::kAmBcopy: {
      const ssize_t packed = uct_ep_am_bcopy(ep, kMessageId, &Side::pack, &operation, 0);
      return packed < 0 ? static_cast<ucs_status_t>(packed) : UCS_OK;
    }
    default:
      return uct_ep_am_zcopy(ep, kMessageId, &operation.header, 8, operation.pieces.data(), operation.pieces.size(), 0, &operation.completion);
  }
}

ucs_status_t Side::attempt_atomic(Operation& operation, uct_ep_h ep) {
  const std::uint64_t remote = port_.peer_region() + operation.offset;
  switch (operation.kind) {
    case Kind::kFetchAdd:
      return uct_ep_atomic64_fetch(ep, UCT_ATOMIC_OP_ADD, operation.operand, &operation.result, remote, port_.rkey(), &operation.completion);
    case Kind::kAdd: return uct_ep_atomic64_post(ep, UCT_ATOMIC_OP_ADD, operation.operand, remote, port_.rkey());
    default: {
      // Every second one finds what it compares with.
      std::memcpy(&operation.compared, &model_[operation.offset], 8);
      if (operation.operand % 2 == 0) ++operation.compared;
      return uct_ep_atomic_cswap64(ep, operation.compared, operation.operand, remote, port_.rkey(), &operation.result, &operation.completion);
    }
  }
}

// The transport has taken the operation that waits on the stream.
void Side::taken(Stream& stream, ucs_status_t status) {
  check(status == UCS_OK || status == UCS_INPROGRESS, "operation " + std::to_string(static_cast<int>(stream.waiting->kind)) + " of " +
                                                          std::to_string(stream.waiting->length) + " bytes: " + ucs_status_string(status));
  Operation* const operation = stream.waiting.release();
  stream.last = operation->kind;
  ++stream.posted;
  apply_to_model(*operation);
  if (status == UCS_OK) {
    verify(*operation);
    free_slices_.push_back(operation->memory);
    delete operation;
    return;
  }
  stream.outstanding.insert(operation->number);
}

// The order of an endpoint makes it known what the other side's memory holds when an operation gets there.
void Side::apply_to_model(Operation& operation) {
  std::byte* const place = model_.data() + operation.offset;
  if (is_put(operation.kind)) std::memcpy(place, operation.memory, operation.length);
  if (is_get(operation.kind)) operation.expected.assign(place, place + operation.length);
  if (!is_atomic(operation.kind)) return;
  std::memcpy(&operation.before, place, 8);
  const bool is_swap = operation.kind == Kind::kCompareSwap;
  std::uint64_t after = is_swap ? operation.operand : operation.before + operation.operand;
  if (is_swap && operation.before != operation.compared) after = operation.before;
  std::memcpy(place, &after, 8);
}

void Side::on_complete(uct_completion_t* completion) {
  auto* const operation = reinterpret_cast<Operation*>(reinterpret_cast<char*>(completion) - offsetof(Operation, completion));
  operation->side->complete(operation);
}

void Side::complete(Operation* operation) {
  const std::unique_ptr<Operation> owned(operation);
  check(operation->completion.status, "an operation's completion");
  Stream& stream = streams_[operation->endpoint];
  check(stream.outstanding.erase(operation->number) == 1, "a completion came twice, or before the operation was taken");
  if (operation->kind == Kind::kFlush) {
    check(stream.outstanding.empty() || *stream.outstanding.begin() > operation->number, "a flush completed before what it waits for");
  }
  verify(*operation);
  free_slices_.push_back(operation->memory);
}

void Side::verify(Operation& operation) {
  if (is_get(operation.kind)) {
    check(std::equal(operation.expected.begin(), operation.expected.end(), operation.memory), "a GET of " + std::to_string(operation.length) + " bytes read other bytes");
  }
  if (operation.kind == Kind::kFetchAdd || operation.kind == Kind::kCompareSwap) check(operation.result == operation.before, "an atomic read another value");
}

size_t Side::pack(void* to, void* arg) {
  const Operation& operation = *static_cast<const Operation*>(arg);
  std::memcpy(to, operation.memory, operation.length);
  return operation.length;
}

void Side::unpack(void* arg, const void* from, size_t length) {
  const Operation& operation = *static_cast<const Operation*>(arg);
  check(length == operation.length, "a GET of another length");
  std::memcpy(operation.memory, from, length);
}

}  // namespace traffic
