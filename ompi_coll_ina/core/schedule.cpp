#include "ompi_coll_ina/core/schedule.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace ina::core {
namespace {

// Two buffers of at most this size: large enough that a message's start-up costs little against its bytes, small enough that dozens of schedules may run at once.
constexpr std::size_t kSegmentBytes = std::size_t{1} << 20;
// Up to here log2(n) exchanges of everything beat twice as many of half the bytes.
constexpr std::size_t kSmallBytes = 16384;

}  // namespace

Schedule::Schedule(const ScheduleSpec& spec, Lanes& lanes, wire::Op op, std::size_t first, std::size_t end, Messenger& messenger)
    : spec_(spec), lanes_(lanes), messenger_(messenger), combine_(wire::combine_into(op, lanes.lane_type())), lane_bytes_(wire::lane_bytes(lanes.lane_type())),
      segment_lanes_(std::min(end - first, kSegmentBytes / lane_bytes_)), end_(end), next_(first),
      power_(static_cast<int>(std::bit_floor(static_cast<unsigned>(spec.size)))), folded_(spec.size - power_),
      position_(spec.rank < 2 * folded_ ? spec.rank / 2 : spec.rank - folded_), phase_(first == end ? Phase::kDone : Phase::kSegment) {
  assert(combine_ != nullptr && first <= end && end <= lanes.lane_count());
  assert(spec.size >= 1 && spec.rank >= 0 && spec.rank < spec.size);
  accumulator_ = std::make_unique_for_overwrite<std::byte[]>(segment_lanes_ * lane_bytes_);
  received_ = std::make_unique_for_overwrite<std::byte[]>(segment_lanes_ * lane_bytes_);
}

Schedule::~Schedule() {
  if (receive_ != nullptr) messenger_.cancel(&receive_);
  if (send_ != nullptr) static_cast<void>(accumulator_.release());
}

int Schedule::progress() noexcept {
  int steps = 0;
  while (phase_ != Phase::kDone && phase_ != Phase::kFailed && are_messages_done()) {
    step();
    ++steps;
  }
  return steps;
}

// True if no message is outstanding; a failure changes the phase, and the rest of the messages is awaited in it.
bool Schedule::are_messages_done() noexcept {
  std::size_t bytes = 0;
  if (receive_ != nullptr) {
    const int status = messenger_.test(&receive_, &bytes);
    if (status != 0) receive_ = nullptr;
    if (status < 0 || (status > 0 && bytes != expected_bytes_)) fail();
  }
  if (send_ != nullptr) {
    const int status = messenger_.test(&send_, &bytes);
    if (status != 0) send_ = nullptr;
    if (status < 0) fail();
  }
  return receive_ == nullptr && send_ == nullptr;
}

void Schedule::fail() noexcept {
  phase_ = Phase::kFailing;
  if (receive_ != nullptr) messenger_.cancel(&receive_);
  receive_ = nullptr;
}

// The messages of the current phase are done: what follows from them, up to the posting of the next ones.
void Schedule::step() noexcept {
  switch (phase_) {
    case Phase::kSegment: begin_segment(); break;
    case Phase::kFold: after_fold(); break;
    case Phase::kDoubling: after_doubling(); break;
    case Phase::kHalving: after_halving(); break;
    case Phase::kGathering: after_gathering(); break;
    case Phase::kUnfold: store_segment(); break;
    case Phase::kFailing: phase_ = Phase::kFailed; break;
    case Phase::kDone:
    case Phase::kFailed: break;
  }
}

void Schedule::begin_segment() noexcept {
  segment_ = std::min(segment_lanes_, end_ - next_);
  lanes_.gather(next_, segment_, accumulator_.get());
  block_ = {0, segment_};
  depth_ = 0;
  phase_ = Phase::kFold;
  if (is_lent()) send(spec_.rank + 1, block_);
  if (is_borrower()) receive(spec_.rank - 1, received_.get(), segment_);
}

void Schedule::after_fold() noexcept {
  if (is_lent()) return start_unfold();
  if (is_borrower()) combine_received(spec_.rank - 1, block_);
  if (is_small()) {
    mask_ = 1;
    start_doubling();
  } else {
    mask_ = power_ / 2;
    start_halving();
  }
}

// Rank of the one whose position differs from ours in the bit of mask_.
int Schedule::partner() const noexcept {
  const int position = position_ ^ mask_;
  return position < folded_ ? 2 * position + 1 : position + folded_;
}

bool Schedule::is_small() const noexcept { return segment_ * lane_bytes_ <= kSmallBytes || segment_ < static_cast<std::size_t>(power_); }

void Schedule::start_doubling() noexcept {
  if (mask_ >= power_) return start_unfold();
  phase_ = Phase::kDoubling;
  receive(partner(), received_.get(), segment_);
  send(partner(), block_);
}

void Schedule::after_doubling() noexcept {
  combine_received(partner(), block_);
  mask_ *= 2;
  start_doubling();
}

void Schedule::start_halving() noexcept {
  if (mask_ == 0) {
    mask_ = 1;
    return start_gathering();
  }
  phase_ = Phase::kHalving;
  const std::size_t middle = block_.begin + block_.size() / 2;
  const Block lower{block_.begin, middle};
  const Block upper{middle, block_.end};
  const bool keeps_lower = (position_ & mask_) == 0;
  parents_[static_cast<std::size_t>(depth_++)] = block_;
  block_ = keeps_lower ? lower : upper;
  receive(partner(), received_.get(), block_.size());
  send(partner(), keeps_lower ? upper : lower);
}

void Schedule::after_halving() noexcept {
  combine_received(partner(), block_);
  mask_ /= 2;
  start_halving();
}

// The partner holds the other half of the block that both halved at this mask.
void Schedule::start_gathering() noexcept {
  if (mask_ >= power_) return start_unfold();
  phase_ = Phase::kGathering;
  const Block parent = parents_[static_cast<std::size_t>(depth_ - 1)];
  const Block other = block_.begin == parent.begin ? Block{block_.end, parent.end} : Block{parent.begin, block_.begin};
  receive(partner(), at(other.begin), other.size());
  send(partner(), block_);
}

void Schedule::after_gathering() noexcept {
  block_ = parents_[static_cast<std::size_t>(--depth_)];
  mask_ *= 2;
  start_gathering();
}

void Schedule::start_unfold() noexcept {
  phase_ = Phase::kUnfold;
  if (is_lent()) receive(spec_.rank + 1, accumulator_.get(), segment_);
  if (is_borrower()) send(spec_.rank - 1, block_);
}

void Schedule::store_segment() noexcept {
  lanes_.scatter(next_, segment_, accumulator_.get());
  next_ += segment_;
  phase_ = next_ == end_ ? Phase::kDone : Phase::kSegment;
}

void Schedule::send(int peer, Block block) noexcept {
  if (phase_ == Phase::kFailing) return;
  if (messenger_.isend(spec_.peers, peer, spec_.tag, at(block.begin), block.size() * lane_bytes_, &send_) < 0) fail();
}

void Schedule::receive(int peer, std::byte* to, std::size_t lanes) noexcept {
  expected_bytes_ = lanes * lane_bytes_;
  if (messenger_.irecv(spec_.peers, peer, spec_.tag, to, expected_bytes_, &receive_) < 0) fail();
}

void Schedule::combine_received(int peer, Block block) noexcept {
  const std::byte* lower = peer < spec_.rank ? received_.get() : at(block.begin);
  const std::byte* higher = peer < spec_.rank ? at(block.begin) : received_.get();
  combine_(at(block.begin), lower, higher, block.size());
}

}  // namespace ina::core
