#include "switch/aggregator/aggregator.hpp"

#include <new>

namespace ina::aggregator {

namespace {

void add(GroupCounters& to, const GroupCounters& more) {
  to.contributions += more.contributions;
  to.results += more.results;
  to.duplicates_answered += more.duplicates_answered;
  to.duplicates_dropped += more.duplicates_dropped;
  to.duplicates_passed += more.duplicates_passed;
  to.gaps += more.gaps;
  to.refused += more.refused;
  to.naks_made += more.naks_made;
  to.naks_answered += more.naks_answered;
  to.bytes_combined += more.bytes_combined;
}

}  // namespace

Outcome Aggregator::receive(const Arrival& arrival, Emitter& emitter) noexcept {
  const Outcome outcome = dispatch(arrival, emitter);
  if (outcome.action == Action::kDrop) ++drops_[static_cast<std::size_t>(outcome.reason)];
  return outcome;
}

Outcome Aggregator::dispatch(const Arrival& arrival, Emitter& emitter) noexcept {
  const wire::Packet& packet = arrival.packet;
  if (packet.bth.opcode == wire::Opcode::kWriteOnly) {
    const auto header = wire::decode_header(packet.payload);
    if (!header) return forwarded();
    Group* group = find(header->group);
    return group == nullptr ? forwarded() : group->receive(arrival, *header, emitter);
  }
  if (packet.bth.opcode == wire::Opcode::kAcknowledge) {
    const auto found = acknowledged_.find(AckKey{arrival.source, packet.bth.dest_qpn});
    if (found == acknowledged_.end()) return forwarded();
    return found->second.group->receive_acknowledgement(found->second.connection, arrival, emitter);
  }
  return forwarded();
}

bool Aggregator::relies_on(const wire::Packet& packet, Endpoint source) const noexcept {
  if (packet.bth.opcode == wire::Opcode::kAcknowledge) return acknowledged_.contains(AckKey{source, packet.bth.dest_qpn});
  if (packet.bth.opcode != wire::Opcode::kWriteOnly) return false;
  const auto header = wire::decode_header(packet.payload);
  return header && ((last_found_ != nullptr && last_found_->spec().group == header->group) || groups_.contains(header->group));
}

Group* Aggregator::find(std::uint32_t group) noexcept {
  if (last_found_ != nullptr && last_found_->spec().group == group) return last_found_;
  const auto found = groups_.find(group);
  if (found == groups_.end()) return nullptr;
  return last_found_ = found->second.get();
}

const Group* Aggregator::find(std::uint32_t group) const noexcept {
  const auto found = groups_.find(group);
  return found == groups_.end() ? nullptr : found->second.get();
}

Capabilities Aggregator::capabilities() const {
  using Op = wire::Op;
  using Type = wire::LaneType;
  return Capabilities{.ops = {Op::kSum, Op::kMin, Op::kMax, Op::kAnd, Op::kOr, Op::kXor},
                      .lane_types = {Type::kInt8, Type::kInt16, Type::kInt32, Type::kInt64, Type::kUint8, Type::kUint16, Type::kUint32,
                                     Type::kUint64, Type::kFloat32, Type::kFloat64},
                      .payload = settings_.payload,
                      .members = settings_.members,
                      .slots = settings_.slots,
                      .min_window = settings_.min_window,
                      .max_window = settings_.max_window,
                      .member_order_floats = true,
                      .aids = {"gap-nak", "nak-answer"}};
}

bool Aggregator::is_acceptable(const GroupSpec& spec) const noexcept {
  return spec.group != 0 && spec.epoch != 0 && spec.members >= wire::kMinMembers && spec.members <= settings_.members &&
         wire::is_power_of_two(spec.window) && spec.window >= settings_.min_window && spec.window <= settings_.max_window &&
         spec.first_seq % (2 * spec.window) == 0 && spec.payload >= wire::kMinPayload && spec.payload <= settings_.payload &&
         wire::is_power_of_two(spec.place_bytes) && spec.place_bytes >= spec.payload;
}

bool Aggregator::prepare(const GroupSpec& spec) {
  if (!is_acceptable(spec) || groups_.contains(spec.group) || slots_free() < 2 * spec.window) return false;
  try {
    groups_.emplace(spec.group, std::make_unique<Group>(spec));
  } catch (const std::bad_alloc&) {
    return false;
  }
  slots_held_ += 2 * spec.window;
  return true;
}

std::size_t Aggregator::binds_seen(std::uint32_t group) const {
  const Group* found = find(group);
  return found == nullptr ? 0 : found->binds_seen();
}

std::vector<std::uint16_t> Aggregator::unbound_connections(std::uint32_t group) const {
  std::vector<std::uint16_t> unbound;
  const Group* found = find(group);
  if (found == nullptr) return unbound;
  for (std::uint16_t i = 0; i < found->spec().members; ++i) {
    if (found->connections()[i].binds() < 2) unbound.push_back(i);
  }
  return unbound;
}

bool Aggregator::activate(std::uint32_t group) {
  Group* found = find(group);
  if (found == nullptr || found->is_active() || found->binds_seen() != 2 * std::size_t{found->spec().members}) return false;
  std::vector<AckKey> added;
  for (std::uint16_t i = 0; i < found->spec().members; ++i) {
    const Connection::Backward& backward = found->connections()[i].backward();
    const AckKey key{backward.receiver, backward.qpn};
    if (!acknowledged_.emplace(key, Acknowledged{found, i}).second) {
      for (const AckKey& each : added) acknowledged_.erase(each);
      return false;
    }
    added.push_back(key);
  }
  found->activate();
  return true;
}

void Aggregator::remove(std::uint32_t group) {
  const auto found = groups_.find(group);
  if (found == groups_.end()) return;
  if (found->second->is_active()) {
    for (const Connection& connection : found->second->connections()) {
      acknowledged_.erase(AckKey{connection.backward().receiver, connection.backward().qpn});
    }
  }
  slots_held_ -= 2 * found->second->spec().window;
  add(removed_, found->second->counters());
  last_found_ = nullptr;
  groups_.erase(found);
}

GroupCounters Aggregator::counters(std::uint32_t group) const {
  const Group* found = find(group);
  return found == nullptr ? GroupCounters{} : found->counters();
}

GroupCounters Aggregator::totals() const {
  GroupCounters sum = removed_;
  for (const auto& [id, group] : groups_) add(sum, group->counters());
  return sum;
}

}  // namespace ina::aggregator
