#include "switch/aggregator/group.hpp"

namespace ina::aggregator {

using wire::seq_distance;

Group::Group(const GroupSpec& spec) : spec_(spec), unreleased_(spec.first_seq), connections_(spec.members), slots_(spec) {}

void Group::activate() noexcept {
  slots_.reset(spec_.first_seq);
  unreleased_ = spec_.first_seq;
  for (std::uint16_t member = 0; member < spec_.members; ++member) connections_[member].start(spec_, member);
  is_active_ = true;
}

Outcome Group::receive(const Arrival& arrival, const wire::Header& header, Emitter& emitter) noexcept {
  switch (header.kind) {
    case wire::Kind::kBind: {
      const Outcome outcome = bind(arrival);
      if (outcome.action == Action::kDrop) ++counters_.refused;
      return outcome;
    }
    case wire::Kind::kData:
      break;
    default:
      ++counters_.refused;
      return dropped(Drop::kForbiddenKind);
  }
  Drop wrong = is_active_ ? check(arrival, header) : Drop::kNotActive;
  if (wrong == Drop::kNone) wrong = check_payload(arrival, header);
  if (wrong != Drop::kNone) {
    ++counters_.refused;
    return dropped(wrong);
  }
  Connection& connection = connections_[header.member];
  const std::int32_t ahead = seq_distance(header.seq, connection.next);
  if (ahead == 0) return contribute(arrival, header, emitter);
  if (ahead > 0) return report_gap(connection, header.seq, emitter);
  return answer_duplicate(connection, header, emitter);
}

Outcome Group::bind(const Arrival& arrival) noexcept {
  if (!arrival.icrc_is_valid) return dropped(Drop::kBadIcrc);
  const auto bind = wire::decode_bind(arrival.packet.payload);
  if (!bind) return dropped(Drop::kMalformedBind);
  if (bind->epoch != spec_.epoch) return dropped(Drop::kWrongEpoch);
  if (bind->connection >= spec_.members) return dropped(Drop::kUnknownMember);
  if (bind->members != spec_.members || bind->window != spec_.window || bind->first_seq != spec_.first_seq ||
      bind->place_bytes != spec_.place_bytes) {
    return dropped(Drop::kBindMismatch);
  }
  const wire::Packet& packet = arrival.packet;
  if (packet.reth.dma_length != packet.payload.size()) return dropped(Drop::kWrongDmaLength);
  Connection& connection = connections_[bind->connection];
  Connection::Learnt learnt;
  if (bind->direction == wire::Direction::kForward) {
    const std::uint64_t mailbox_bytes = 2 * std::uint64_t{spec_.window} * spec_.place_bytes;
    if ((bind->mailbox & (mailbox_bytes - 1)) != 0) return dropped(Drop::kBindMismatch);
    if (packet.reth.address != bind->mailbox + spec_.place_bytes - wire::kBindPayloadBytes) return dropped(Drop::kWrongAddress);
    learnt = connection.learn(Connection::Forward{.sender = arrival.source,
                                                  .receiver = arrival.destination,
                                                  .qpn = packet.bth.dest_qpn,
                                                  .first_psn = wire::psn_add(packet.bth.psn, 1),
                                                  .rkey = packet.reth.rkey,
                                                  .mailbox = bind->mailbox});
  } else {
    learnt = connection.learn(
        Connection::Backward{.sender = arrival.destination, .receiver = arrival.source, .qpn = packet.bth.dest_qpn});
  }
  if (learnt == Connection::Learnt::kConflict) return dropped(Drop::kBindConflict);
  if (learnt == Connection::Learnt::kSame) return forwarded();
  ++binds_;
  return forwarded(spec_.group);
}

// Where the packet comes from and goes to: everything that does not depend on its length.
Drop Group::check(const Arrival& arrival, const wire::Header& header) const noexcept {
  if (!arrival.icrc_is_valid) return Drop::kBadIcrc;
  if (header.member >= spec_.members) return Drop::kUnknownMember;
  const Connection& connection = connections_[header.member];
  const wire::Packet& packet = arrival.packet;
  if (arrival.source != connection.forward().sender) return Drop::kForeignSource;
  if (arrival.destination != connection.forward().receiver || packet.bth.dest_qpn != connection.forward().qpn) {
    return Drop::kWrongDestination;
  }
  if (header.epoch != spec_.epoch) return Drop::kWrongEpoch;
  if (packet.bth.psn != connection.psn_of(header.seq)) return Drop::kWrongPsn;
  if (packet.reth.rkey != connection.forward().rkey) return Drop::kWrongRkey;
  if (packet.reth.address != connection.address_of(header.seq, packet.payload.size())) return Drop::kWrongAddress;
  if (packet.reth.dma_length != packet.payload.size()) return Drop::kWrongDmaLength;
  return Drop::kNone;
}

Drop Group::check_payload(const Arrival& arrival, const wire::Header& header) const noexcept {
  const auto payload = arrival.packet.payload;
  if (payload.size() != wire::kFramingBytes + header.length || payload.size() > spec_.payload || header.length == 0 ||
      header.length % wire::kLengthMultiple != 0) {
    return Drop::kWrongLength;
  }
  if (wire::combine(header.op, header.lane_type) == nullptr) return Drop::kUnsupported;
  if (header.contributions != 1) return Drop::kWrongContributions;
  if (wire::decode_trailer(payload.last<wire::kTrailerBytes>()) != header.seq) return Drop::kWrongTrailer;
  return Drop::kNone;
}

Outcome Group::contribute(const Arrival& arrival, const wire::Header& header, Emitter& emitter) noexcept {
  Connection& connection = connections_[header.member];
  Slot& slot = slots_.of(header.seq);
  if (slot.seq != header.seq) {
    // next[m] = seq was reached one by one, so the slot holds seq - 2W, or m is the first of its members to come round.
    if (!slot.is_released) {
      ++counters_.refused;
      return dropped(Drop::kSlotBusy);
    }
    emitter.before_change(slots_.lanes(slot));
    slots_.take_over(slot, header);
  } else if (header.length != slot.length || header.op != slot.op || header.lane_type != slot.lane_type) {
    ++counters_.refused;
    return dropped(Drop::kLatchMismatch);
  }
  // Member m's contribution to this slot is in if next[m] has passed seq: no bitmap is needed.
  slots_.add(slot, header.member, arrival.packet.payload.data() + wire::kHeaderBytes,
             [&](std::uint16_t member) { return seq_distance(connections_[member].next, header.seq) > 0; });
  ++connection.next;
  connection.gap_is_open = false;
  ++counters_.contributions;
  counters_.bytes_combined += header.length;
  if (slot.arrived == spec_.members) release(slot, emitter);
  return absorbed();
}

// All contributions to seq are in, so every next[m] has passed seq, and all contributions to all seqs before it are in as well: results
// are born in seq order.
void Group::release(Slot& slot, Emitter& emitter) noexcept {
  slot.is_released = true;
  unreleased_ = slot.seq + 1;
  ++counters_.results;
  const auto header = result_header(slot);
  for (Connection& connection : connections_) emit_result(connection, slot, header, emitter);
}

std::array<std::byte, wire::kHeaderBytes> Group::result_header(const Slot& slot) const noexcept {
  std::array<std::byte, wire::kHeaderBytes> bytes;
  wire::encode_header(wire::Header{.kind = wire::Kind::kResult,
                                   .op = slot.op,
                                   .lane_type = slot.lane_type,
                                   .contributions = spec_.members,
                                   .group = spec_.group,
                                   .epoch = spec_.epoch,
                                   .seq = slot.seq,
                                   .member = 0,
                                   .length = slot.length},
                      bytes);
  return bytes;
}

void Group::emit_result(Connection& connection, const Slot& slot, const std::array<std::byte, wire::kHeaderBytes>& header,
                        Emitter& emitter) noexcept {
  std::array<std::byte, wire::kTrailerBytes> trailer;
  wire::encode_trailer(slot.seq, trailer);
  emitter.emit(MadePacket{.source = connection.forward().sender,
                          .destination = connection.forward().receiver,
                          .head = connection.result_head(header, slot.seq, wire::kFramingBytes + slot.length),
                          .lanes = slots_.lanes(slot),
                          .tail = trailer});
}

Outcome Group::answer_duplicate(Connection& connection, const wire::Header& header, Emitter& emitter) noexcept {
  if (seq_distance(connection.next, header.seq) > static_cast<std::int32_t>(2 * spec_.window)) {
    ++counters_.duplicates_dropped;
    return dropped(Drop::kTooOld);
  }
  const Slot& slot = slots_.of(header.seq);
  const std::int32_t newer = seq_distance(slot.seq, header.seq);
  if (newer > 0) {
    ++counters_.duplicates_passed;
    return forwarded();
  }
  if (newer < 0) {
    ++counters_.refused;
    return dropped(Drop::kSlotOlder);
  }
  const bool is_asked_for = seq_distance(header.seq, connection.quiet_from) >= 0 && seq_distance(header.seq, connection.quiet_to) < 0;
  if (is_asked_for) connection.quiet_from = header.seq + 1;
  Drop reason = Drop::kNone;
  if (!slot.is_released) {
    reason = Drop::kOpenDuplicate;
  } else if (slot.length == 0) {  // as installed: seq is before the first one
    reason = Drop::kTooOld;
  } else if (is_asked_for) {
    reason = Drop::kQuietDuplicate;
  }
  if (reason != Drop::kNone) {
    ++counters_.duplicates_dropped;
    return dropped(reason);
  }
  ++counters_.duplicates_answered;
  emit_result(connection, slot, result_header(slot), emitter);
  return absorbed();
}

// seq is after next: one before it was lost on its way here. The sender is told at once, by a NAK for the first PSN that the receiver has
// not acknowledged, since a NAK acknowledges everything before its PSN. What the sender then repeats before next are chunks whose
// results are under way, or will be by the time that they are released.
Outcome Group::report_gap(Connection& connection, std::uint32_t seq, Emitter& emitter) noexcept {
  ++counters_.gaps;
  if (connection.gap_is_open && seq_distance(seq, connection.gap_first) > 0) return dropped(Drop::kGap);
  connection.gap_is_open = true;
  connection.gap_first = seq;
  connection.quiet_from = connection.acknowledged;
  connection.quiet_to = connection.next;
  ++counters_.naks_made;
  emitter.emit(MadePacket{.source = connection.forward().receiver,
                          .destination = connection.forward().sender,
                          .head = connection.nak_head(connection.acknowledged),
                          .lanes = {},
                          .tail = {}});
  return dropped(Drop::kGap);
}

Outcome Group::receive_acknowledgement(std::uint16_t index, const Arrival& arrival, Emitter& emitter) noexcept {
  Connection& connection = connections_[index];
  if (!arrival.icrc_is_valid) {
    ++counters_.refused;
    return dropped(Drop::kBadIcrc);
  }
  const wire::Aeth& aeth = arrival.packet.aeth;
  // The seq of the PSN, taken as near to the first unacknowledged one as can be: at most 2W are under way, PSNs repeat after 2^24.
  const std::int32_t distance = wire::psn_distance(arrival.packet.bth.psn, connection.psn_of(connection.acknowledged));
  const std::uint32_t seq = connection.acknowledged + static_cast<std::uint32_t>(distance);
  const std::uint32_t acknowledged = wire::is_ack(aeth.syndrome) ? seq + 1 : seq;
  if (seq_distance(acknowledged, unreleased_) > 0) {
    ++counters_.refused;
    return dropped(Drop::kAckUnreleased);
  }
  const std::int32_t progress = seq_distance(acknowledged, connection.acknowledged);
  if (progress >= 0) connection.msn = aeth.msn;
  if (progress > 0) {
    connection.acknowledged = acknowledged;
    connection.nak_is_answered = false;
  }
  if (aeth.syndrome != wire::kSyndromeNakSequence || acknowledged == unreleased_) return forwarded();
  if (progress < 0) return dropped(Drop::kStaleNak);
  return answer_nak(connection, seq, emitter);
}

// The receiver lacks seq, which is released: it cannot have sent seq + W, so the slots from seq on still hold what it needs. What came
// after seq it has dropped. The same NAK again is a copy or says that the first repetition was lost too: one packet is enough, since
// the next gap makes a NAK of its own.
Outcome Group::answer_nak(Connection& connection, std::uint32_t seq, Emitter& emitter) noexcept {
  const bool is_repeated = connection.nak_is_answered && connection.nak_answered == seq;
  const std::uint32_t end = is_repeated ? seq + 1 : unreleased_;
  if (slots_.of(seq).seq != seq) return forwarded();
  for (std::uint32_t each = seq; each != end; ++each) {
    const Slot& slot = slots_.of(each);
    if (slot.seq != each || !slot.is_released) break;
    emit_result(connection, slot, result_header(slot), emitter);
  }
  connection.nak_is_answered = true;
  connection.nak_answered = seq;
  ++counters_.naks_answered;
  return absorbed();
}

}  // namespace ina::aggregator
