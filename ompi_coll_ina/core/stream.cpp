#include "ompi_coll_ina/core/stream.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <vector>

#include "ompi_coll_ina/core/error.hpp"
#include "ompi_coll_ina/core/mailbox.hpp"
#include "ompi_coll_ina/core/source_buffers.hpp"
#include "wire/limits.hpp"

namespace ina::core {
namespace {

constexpr std::size_t padded(std::size_t lane_bytes) noexcept {
  return (lane_bytes + wire::kLengthMultiple - 1) / wire::kLengthMultiple * wire::kLengthMultiple;
}

// Lanes of a full chunk. All chunks of an operation but the last are full.
std::size_t lanes_per_chunk(std::size_t payload, wire::LaneType type) noexcept {
  const std::size_t room = (payload - wire::kFramingBytes) / wire::kLengthMultiple * wire::kLengthMultiple;
  return room / wire::lane_bytes(type);
}

void check(const StreamSpec& spec, Ring& ring) {
  const bool is_sound = wire::is_power_of_two(spec.window) && spec.window >= wire::kMinWindow && spec.window <= wire::kMaxWindow &&
                        spec.payload >= wire::kMinPayload && spec.payload <= wire::kMaxPayload && spec.first_seq % (2 * spec.window) == 0 &&
                        spec.members >= wire::kMinMembers && spec.member < spec.members && spec.left.value_or(0) < spec.members;
  if (!is_sound) throw Error(Status::kUnsupported, "a group with impossible numbers, stream");
  const RingSpec needed = Stream::ring_spec(spec.window, spec.payload);
  const std::size_t bytes = std::size_t{needed.places} * needed.place_bytes;
  if (ring.mailbox().size() != bytes || ring.source_buffers().size() < std::size_t{needed.source_buffers} * needed.place_bytes)
    throw Error(Status::kInternal, "a ring of another geometry than its group's, stream");
}

}  // namespace

StreamOperation::StreamOperation(wire::Op op, Lanes& lanes) noexcept : op_(op), lanes_(&lanes) {}

bool StreamOperation::is_done() const noexcept { return progress_.covered_lanes == lanes_->lane_count(); }

std::size_t StreamOperation::covered_lanes() const noexcept { return progress_.covered_lanes; }

std::uint32_t StreamOperation::first_seq() const noexcept { return progress_.first_seq; }

std::uint64_t StreamOperation::chunk_count() const noexcept { return progress_.chunks; }

// Invariant: first_seq <= result_end <= contributed_end <= result_end + W (serial). Operations stand in a list in posting order; `taking`
// is the oldest that lacks results, `sending` the oldest that has lanes left to send (at or behind `taking`).
struct Stream::State {
  State(const StreamSpec& with, Ring& over)
      : spec(with), ring(over), mailbox(over.mailbox(), std::bit_ceil(static_cast<std::uint32_t>(with.payload))),
        sources(over.source_buffers().first(over.mailbox().size()), std::bit_ceil(with.payload)), lengths(2 * with.window),
        contributed_end(with.first_seq), result_end(with.first_seq), posted_end(with.first_seq) {}

  bool post_bind(wire::Direction) noexcept;
  void fill(std::uint32_t seq, std::size_t lanes) noexcept;
  bool send_chunk() noexcept;
  bool take_result() noexcept;
  void accept(std::span<const std::byte> lanes, std::size_t count) noexcept;
  std::size_t next_lanes(const StreamOperation& operation, std::size_t from) const noexcept {
    return std::min(lanes_per_chunk(spec.payload, operation.lanes_->lane_type()), operation.lanes_->lane_count() - from);
  }
  // Before the first chunk only binds are lent to the transport.
  bool are_binds_acknowledged() const noexcept { return is_forward_bound && is_backward_bound && sources.lent() == 0 && !sources.has_failed(); }
  bool has_fault() const noexcept { return fault != nullptr || sources.has_failed() || ring.has_failed(); }

  StreamSpec spec;
  Ring& ring;
  Mailbox mailbox;
  SourceBuffers sources;
  std::vector<std::uint16_t> lengths;  // per place: bytes of lanes of the last result that was taken from it
  std::uint32_t contributed_end;
  std::uint32_t result_end;
  std::uint32_t posted_end;
  StreamOperation* taking = nullptr;
  StreamOperation* sending = nullptr;
  StreamOperation* last = nullptr;
  bool is_filled = false;  // the chunk contributed_end stands in its source buffer, the transport had no room for it
  bool is_forward_bound = false, is_backward_bound = false;  // posted
  bool is_bound = false;   // both were acknowledged
  bool is_frozen = false;
  std::uint32_t frozen_end = 0;  // result_end when the stream was frozen
  const char* fault = nullptr;
};

// Binds leave from source buffers 0 and 1, which the first chunks use again after the binds are acknowledged.
bool Stream::State::post_bind(wire::Direction direction) noexcept {
  const bool is_forward = direction == wire::Direction::kForward;
  const std::uint16_t left = spec.left.value_or(static_cast<std::uint16_t>(spec.member == 0 ? spec.members - 1 : spec.member - 1));
  const auto payload = wire::encode_bind({.group = spec.group, .epoch = spec.epoch, .connection = is_forward ? spec.member : left,
                                          .direction = direction, .members = spec.members, .window = spec.window, .first_seq = spec.first_seq,
                                          .place_bytes = std::bit_ceil(static_cast<std::uint32_t>(spec.payload)),
                                          .mailbox = is_forward ? ring.right_mailbox() : 0});
  const std::uint32_t buffer = is_forward ? 0 : 1;
  if (!sources.is_free(buffer)) return false;
  std::byte* source = sources.bytes(buffer).data();
  std::memcpy(source, payload.data(), payload.size());
  PutCompletion* completion = sources.lend(buffer);
  const PutStatus status = is_forward ? ring.put_right(source, payload.size(), mailbox.offset(spec.first_seq, payload.size()), completion)
                                      : ring.put_left(source, payload.size(), completion);
  return sources.settle(buffer, status);
}

void Stream::State::fill(std::uint32_t seq, std::size_t lanes) noexcept {
  const Lanes& input = *sending->lanes_;
  const std::size_t bytes = lanes * wire::lane_bytes(input.lane_type());
  const std::size_t length = padded(bytes);
  const std::span<std::byte> to = sources.bytes(mailbox.place(seq));
  wire::encode_header({.kind = wire::Kind::kData, .op = sending->op_, .lane_type = input.lane_type(), .contributions = 1, .group = spec.group,
                       .epoch = spec.epoch, .seq = seq, .member = spec.member, .length = static_cast<std::uint16_t>(length)},
                      to.first<wire::kHeaderBytes>());
  std::byte* at = to.data() + wire::kHeaderBytes;
  input.gather(sending->progress_.sent_lanes, lanes, at);
  std::memset(at + bytes, 0, length - bytes);
  wire::encode_trailer(seq, std::span<std::byte, wire::kTrailerBytes>(at + length, wire::kTrailerBytes));
}

bool Stream::State::send_chunk() noexcept {
  if (wire::seq_distance(contributed_end, result_end) >= static_cast<std::int32_t>(spec.window)) return false;
  const std::uint32_t buffer = mailbox.place(contributed_end);
  if (!sources.is_free(buffer)) return false;
  const std::size_t lanes = next_lanes(*sending, sending->progress_.sent_lanes);
  const std::size_t payload = wire::kFramingBytes + padded(lanes * wire::lane_bytes(sending->lanes_->lane_type()));
  if (!is_filled) fill(contributed_end, lanes);
  is_filled = true;
  PutCompletion* completion = sources.lend(buffer);
  const PutStatus status = ring.put_right(sources.bytes(buffer).data(), payload, mailbox.offset(contributed_end, payload), completion);
  if (!sources.settle(buffer, status)) return false;
  is_filled = false;
  ++contributed_end;
  sending->progress_.sent_lanes += lanes;
  if (sending->progress_.sent_lanes == sending->lanes_->lane_count()) sending = sending->next_;
  return true;
}

bool Stream::State::take_result() noexcept {
  if (result_end == contributed_end) return false;  // a result needs this member's contribution too
  const wire::LaneType type = taking->lanes_->lane_type();
  const std::size_t lanes = next_lanes(*taking, taking->progress_.covered_lanes);
  const std::size_t length = padded(lanes * wire::lane_bytes(type));
  const Arrival arrival = mailbox.look({.group = spec.group, .epoch = spec.epoch, .seq = result_end, .members = spec.members,
                                        .length = static_cast<std::uint16_t>(length), .op = taking->op_, .lane_type = type});
  if (arrival == Arrival::kBypassed) fault = "bypassed";
  if (arrival == Arrival::kMismatch) fault = "mismatch";
  if (arrival != Arrival::kResult) return false;
  lengths[mailbox.place(result_end)] = static_cast<std::uint16_t>(length);
  accept(mailbox.lanes(result_end, length), lanes);
  return true;
}

// An operation that is done may be freed by its owner: nothing of it is touched after this.
void Stream::State::accept(std::span<const std::byte> lanes, std::size_t count) noexcept {
  StreamOperation& operation = *taking;
  operation.lanes_->scatter(operation.progress_.covered_lanes, count, lanes.data());
  operation.progress_.covered_lanes += count;
  ++result_end;
  if (!operation.is_done()) return;
  taking = operation.next_;
  if (taking == nullptr) last = nullptr;
}

Stream::Stream(const StreamSpec& spec, Ring& ring) {
  check(spec, ring);
  state_ = std::make_unique<State>(spec, ring);
  state_->mailbox.poison(spec.first_seq);
}

// Completions point into this object: PUTs that are still outstanding must not complete any more.
Stream::~Stream() {
  if (state_->sources.lent() != 0) state_->ring.destroy_endpoints();
}

RingSpec Stream::ring_spec(std::uint32_t window, std::size_t payload) noexcept {
  return {.places = 2 * window, .place_bytes = std::bit_ceil(static_cast<std::uint32_t>(payload)), .source_buffers = 2 * window};
}

void Stream::bind() noexcept {
  if (state_->is_frozen || state_->has_fault()) return;
  if (!state_->is_forward_bound) state_->is_forward_bound = state_->post_bind(wire::Direction::kForward);
  if (!state_->is_backward_bound) state_->is_backward_bound = state_->post_bind(wire::Direction::kBackward);
}

bool Stream::is_bound() const noexcept { return state_->is_bound || state_->are_binds_acknowledged(); }

void Stream::post(StreamOperation& operation) noexcept {
  State& s = *state_;
  const std::size_t lanes = operation.lanes_->lane_count();
  assert(lanes != 0 && operation.progress_.chunks == 0);
  const std::size_t per_chunk = lanes_per_chunk(s.spec.payload, operation.lanes_->lane_type());
  operation.progress_ = {.sent_lanes = 0, .covered_lanes = 0, .first_seq = s.posted_end, .chunks = (lanes + per_chunk - 1) / per_chunk};
  operation.next_ = nullptr;
  s.posted_end += static_cast<std::uint32_t>(operation.progress_.chunks);
  if (s.last != nullptr) s.last->next_ = &operation;
  if (s.taking == nullptr) s.taking = &operation;
  if (s.sending == nullptr) s.sending = &operation;
  s.last = &operation;
}

// Sends before it looks, since a small operation's first progress call has something to send and nothing to take, and after, since each result opens the window.
unsigned Stream::progress() noexcept {
  State& s = *state_;
  if (s.taking == nullptr || s.is_frozen || s.has_fault()) return 0;
  if (!s.is_bound) s.is_bound = s.are_binds_acknowledged();
  if (!s.is_bound) return 0;
  unsigned events = 0;
  while (s.sending != nullptr && s.send_chunk()) ++events;
  const unsigned sent = events;
  while (s.taking != nullptr && s.take_result()) ++events;
  if (events == sent) return events;
  while (s.sending != nullptr && s.send_chunk()) ++events;
  return events;
}

std::uint32_t Stream::contributed_end() const noexcept { return state_->contributed_end; }

std::uint32_t Stream::result_end() const noexcept { return state_->result_end; }

std::uint32_t Stream::posted_end() const noexcept { return state_->posted_end; }

bool Stream::is_idle() const noexcept { return state_->taking == nullptr; }

bool Stream::has_fault() const noexcept { return state_->has_fault(); }

const char* Stream::fault_reason() const noexcept {
  if (state_->fault != nullptr) return state_->fault;
  return has_fault() ? "connection" : nullptr;
}

void Stream::freeze() noexcept {
  State& s = *state_;
  if (s.is_frozen) return;
  s.is_frozen = true;
  s.frozen_end = s.result_end;
}

// Only what was taken from the mailbox before the freeze is vouched for: what arrives later was never looked at. Of that the last W
// still stand: result seq + 2W exists only if this member has sent seq + 2W, thus has taken seq + W.
std::optional<std::span<const std::byte>> Stream::result_lanes(std::uint32_t seq) const noexcept {
  const State& s = *state_;
  const std::int32_t age = wire::seq_distance(s.frozen_end, seq);
  if (!s.is_frozen || age < 1 || age > static_cast<std::int32_t>(s.spec.window)) return std::nullopt;
  const std::uint16_t length = s.lengths[s.mailbox.place(seq)];
  if (length == 0) return std::nullopt;  // before first_seq
  return s.mailbox.lanes(seq, length);
}

bool Stream::hand_over(std::uint32_t seq, std::span<const std::byte> lanes) noexcept {
  State& s = *state_;
  if (!s.is_frozen || s.taking == nullptr || seq != s.result_end || s.result_end == s.contributed_end) return false;
  const std::size_t count = s.next_lanes(*s.taking, s.taking->progress_.covered_lanes);
  const std::size_t bytes = count * wire::lane_bytes(s.taking->lanes_->lane_type());
  if (lanes.size() != bytes && lanes.size() != padded(bytes)) return false;
  s.accept(lanes, count);
  return true;
}

}  // namespace ina::core
