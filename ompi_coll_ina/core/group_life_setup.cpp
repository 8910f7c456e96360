// Set-up of a group's life: ring, addresses of the neighbours, binds, vote.
#include <new>

#include "ompi_coll_ina/core/error.hpp"
#include "ompi_coll_ina/core/group_life.hpp"

namespace ina::core {

void GroupLife::open() {
  const Decision& group = spec_.set_up;
  try {
    fabric_ = services_.fabrics.get(group.instance, {.transport = group.transport, .device = {}, .relay = group.relay, .manager = group.manager});
    if (fabric_->max_payload() < group.payload) {
      vote(false, "packets of this host's interface carry " + std::to_string(fabric_->max_payload()) + " bytes");
      return;
    }
    ring_ = fabric_->create_ring(Stream::ring_spec(group.window, group.payload));
    const AddressMessage address{.address = ring_->address()};
    send(right(), address);
    if (left() != right()) send(left(), address);
  } catch (const Error& error) {
    vote(false, error.what());
  } catch (const std::bad_alloc&) {
    vote(false, "out of memory");
  }
}

// In a ring of two both neighbours are the same member, whose one address serves both connections.
void GroupLife::take(std::uint16_t member, AddressMessage&& message) {
  if (phase_ != Phase::kConnecting) return;
  if (member == left() && !left_address_) left_address_ = message.address;
  if (member == right() && !right_address_) right_address_ = std::move(message.address);
}

void GroupLife::connect() {
  const Decision& group = spec_.set_up;
  try {
    ring_->connect(*left_address_, *right_address_);
    stream_ = std::make_unique<Stream>(StreamSpec{.group = group.life.group, .epoch = group.life.epoch, .member = spec_.member, .left = left(),
                                                  .members = static_cast<std::uint16_t>(members()), .window = group.window,
                                                  .first_seq = group.first_seq, .payload = group.payload}, *ring_);
    phase_ = Phase::kBinding;
  } catch (const Error& error) {
    vote(false, error.what());
  } catch (const std::bad_alloc&) {
    vote(false, "out of memory");
  }
  left_address_.reset();
  right_address_.reset();
}

// A connection in error before commit is no fault: the vote is withdrawn, which counts if the leader has not committed yet. If it has, the fault is reported once
// the commit is here.
void GroupLife::progress_setup() {
  if (!is_attached_) return;
  if (phase_ == Phase::kConnecting && left_address_ && right_address_) connect();
  if (phase_ != Phase::kBinding && phase_ != Phase::kBound) return;
  if (stream_->has_fault()) {
    const bool has_voted = phase_ == Phase::kBound;
    vote(false, std::string("set-up failed: ") + stream_->fault_reason());
    if (has_voted) phase_ = Phase::kWithdrawn;
    return;
  }
  if (phase_ == Phase::kBound) return;
  stream_->bind();
  if (stream_->is_bound()) vote(true, {});
}

void GroupLife::vote(bool ok, const std::string& reason) {
  phase_ = ok ? Phase::kBound : Phase::kRefused;
  send(0, VoteMessage{.ok = ok, .max_payload = fabric_ ? static_cast<std::uint32_t>(fabric_->max_payload()) : 0, .reason = reason});
}

void GroupLife::take(std::uint16_t member, const VoteMessage& message) {
  if (!is_leader()) return;
  if (message.max_payload != 0 && message.max_payload < smallest_payload_) smallest_payload_ = message.max_payload;
  if (!message.ok) {
    if (ballot_ != Ballot::kRefused) refusal_ = "member " + std::to_string(member) + ": " + message.reason;
    ballot_ = Ballot::kRefused;
    return;
  }
  if (states_[member].has_voted) return;
  states_[member].has_voted = true;
  if (++votes_ == members() && ballot_ == Ballot::kOpen) ballot_ = Ballot::kAccepted;
}

}  // namespace ina::core
