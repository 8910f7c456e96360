#include "test/aggregator/simulated_members.hpp"

#include <algorithm>

#include "wire/elements.hpp"
#include "wire/limits.hpp"

namespace ina::test {

using wire::seq_distance;

namespace {

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Floats of very different sizes, so that another order gives other bits; anything else takes all bits.
template <typename T>
void fill(Bytes& bytes, std::uint64_t key) {
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    const std::uint64_t bits = mixed(key * 1000003 + i);
    T value;
    if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-63) *
              static_cast<T>(std::uint64_t{1} << (bits % 40));
    } else {
      value = static_cast<T>(bits);
    }
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof value);
  }
}

}  // namespace

SimulatedMembers::SimulatedMembers(const Ring& ring, const StreamSettings& stream, const NetworkSettings& network)
    : ring_(ring),
      stream_(stream),
      network_(network),
      random_(network.seed),
      aggregator_({.slots = 2 * ring.spec.window, .max_window = ring.spec.window}),
      connections_(ring.spec.members),
      upward_(ring.spec.members),
      downward_(ring.spec.members) {
  for (Connection& connection : connections_) {
    connection.unacknowledged = connection.to_send = connection.expected = connection.arrived_end = ring.spec.first_seq;
  }
}

Bytes SimulatedMembers::lanes(std::uint16_t member, std::uint32_t seq) const {
  const std::size_t multiples = stream_.most_lane_bytes / wire::kLengthMultiple;
  Bytes bytes((mixed(seq) % multiples + 1) * wire::kLengthMultiple);
  const std::uint64_t key = (std::uint64_t{seq} << 16) | member;
  switch (stream_.type) {
    case wire::LaneType::kFloat32:
      fill<float>(bytes, key);
      break;
    case wire::LaneType::kFloat64:
      fill<double>(bytes, key);
      break;
    default:
      fill<std::uint8_t>(bytes, key);
  }
  return bytes;
}

Bytes SimulatedMembers::expected_result(std::uint32_t seq) const {
  Bytes sum = lanes(0, seq);
  for (std::uint16_t member = 1; member < ring_.spec.members; ++member) {
    const Bytes next = lanes(member, seq);
    wire::combine(stream_.op, stream_.type)(sum.data(), next.data(), sum.size() / wire::lane_bytes(stream_.type));
  }
  return sum;
}

void SimulatedMembers::put(std::deque<Datagram>& queue, Datagram datagram) {
  if (uniform() < network_.loss) return;
  const int copies = uniform() < network_.duplicate ? 2 : 1;
  if (uniform() < network_.corrupt) {
    datagram.is_damaged = true;
    datagram.bytes[random_() % datagram.bytes.size()] ^= std::byte{static_cast<std::uint8_t>(1u << (random_() % 8))};
  }
  for (int i = 0; i < copies; ++i) {
    const bool is_late = uniform() < network_.reorder && !queue.empty();
    const auto place = is_late ? queue.end() - static_cast<std::ptrdiff_t>(random_() % queue.size()) : queue.end();
    queue.insert(place, datagram);
  }
}

void SimulatedMembers::to_switch(aggregator::Endpoint source, aggregator::Endpoint destination, Bytes bytes) {
  ++to_switch_count_;
  put(upward_[member_of(source)], {source, destination, std::move(bytes)});
}

void SimulatedMembers::send_what_the_window_allows(std::uint16_t member) {
  Connection& connection = connections_[member];
  // The results of member m stand in its mailbox, at the end of its left neighbour's connection.
  const auto left = static_cast<std::uint16_t>((member + ring_.spec.members - 1) % ring_.spec.members);
  const std::uint32_t end = connections_[left].arrived_end + ring_.spec.window;
  const std::uint32_t last = ring_.spec.first_seq + stream_.chunks;
  while (seq_distance(connection.to_send, end) < 0 && connection.to_send != last) {
    const std::uint32_t seq = connection.to_send++;
    to_switch(ring_.sender(member), ring_.receiver(member), ring_.contribution(member, seq, lanes(member, seq), stream_.type, stream_.op));
  }
}

void SimulatedMembers::through_switch(Datagram datagram) {
  const auto packet = wire::decode_packet(datagram.bytes);
  if (!packet) return;
  made_.all.clear();
  const auto outcome =
      aggregator_.receive({*packet, datagram.source, datagram.destination, !datagram.is_damaged}, made_);
  for (Made& made : made_.all) {
    ++from_switch_count_;
    put(downward_[member_of(made.destination)], {made.source, made.destination, std::move(made.bytes)});
  }
  if (outcome.action == aggregator::Action::kForward) {
    ++from_switch_count_;
    const auto to = member_of(datagram.destination);
    put(downward_[to], std::move(datagram));
  }
}

std::string SimulatedMembers::deliver(const Datagram& datagram) {
  if (datagram.is_damaged) return {};
  const auto packet = wire::decode_packet(datagram.bytes);
  if (!packet) return "the switch made a packet that does not decode";
  if (packet->bth.opcode == wire::Opcode::kWriteOnly) return deliver_write(datagram, *packet);
  deliver_acknowledgement(datagram, *packet);
  return {};
}

std::string SimulatedMembers::deliver_write(const Datagram& datagram, const wire::Packet& packet) {
  const auto receiver = member_of(datagram.destination);
  const auto i = static_cast<std::uint16_t>((receiver + ring_.spec.members - 1) % ring_.spec.members);
  Connection& connection = connections_[i];
  const std::int32_t ahead = wire::psn_distance(packet.bth.psn, ring_.psn(i, connection.expected));
  if (ahead > 0) {
    if (!connection.nak_is_sent) acknowledge(i, connection.expected, wire::kSyndromeNakSequence);
    connection.nak_is_sent = true;
    return {};
  }
  if (ahead < 0) {
    acknowledge(i, connection.expected - 1, wire::kSyndromeAck);
    return {};
  }
  const std::uint32_t seq = connection.expected++;
  connection.nak_is_sent = false;
  acknowledge(i, seq, wire::kSyndromeAck);
  const auto header = wire::decode_payload(packet.payload);
  const auto at = " at seq " + std::to_string(seq) + " of member " + std::to_string(receiver);
  if (!header || header->seq != seq) return "a packet that is not the expected chunk" + at;
  if (header->kind != wire::Kind::kResult) return "a contribution went past the aggregator" + at;
  if (packet.reth != wire::Reth{ring_.address(i, seq, packet.payload.size()), ring_.rkey(i), static_cast<std::uint32_t>(packet.payload.size())}) {
    return "wrong RETH" + at;
  }
  const auto lanes = packet.payload.subspan(wire::kHeaderBytes, header->length);
  if (!std::ranges::equal(lanes, expected_result(seq))) return "wrong result" + at;
  connection.arrived_end = seq + 1;
  send_what_the_window_allows(receiver);
  return {};
}

void SimulatedMembers::acknowledge(std::uint16_t connection, std::uint32_t seq, std::uint8_t syndrome) {
  to_switch(ring_.receiver(connection), ring_.sender(connection), ring_.acknowledgement(connection, seq, syndrome));
}

void SimulatedMembers::deliver_acknowledgement(const Datagram& datagram, const wire::Packet& packet) {
  const auto i = member_of(datagram.destination);
  Connection& connection = connections_[i];
  const std::int32_t distance = wire::psn_distance(packet.bth.psn, ring_.psn(i, connection.unacknowledged));
  std::uint32_t acknowledged = connection.unacknowledged + static_cast<std::uint32_t>(distance);
  const bool is_ack = wire::is_ack(packet.aeth.syndrome);
  if (is_ack) ++acknowledged;
  if (seq_distance(acknowledged, connection.to_send) > 0) return;  // of a PSN that was never sent
  const std::int32_t progress = seq_distance(acknowledged, connection.unacknowledged);
  if (progress > 0) connection.unacknowledged = acknowledged;
  if (!is_ack && progress >= 0) {
    connection.to_send = acknowledged;
    send_what_the_window_allows(i);
  }
}

bool SimulatedMembers::is_done() const {
  return std::ranges::all_of(connections_, [&](const Connection& c) { return c.arrived_end == ring_.spec.first_seq + stream_.chunks; });
}

std::string SimulatedMembers::run() {
  if (!aggregator_.prepare(ring_.spec)) return "not prepared";
  for (std::uint16_t i = 0; i < ring_.spec.members; ++i) {
    through_switch({ring_.sender(i), ring_.receiver(i), ring_.forward_bind(i)});
    through_switch({ring_.receiver(i), ring_.sender(i), ring_.backward_bind(i)});
  }
  for (auto& queue : downward_) queue.clear();
  if (!aggregator_.activate(ring_.spec.group)) return "not activated";
  for (std::uint16_t member = 0; member < ring_.spec.members; ++member) send_what_the_window_allows(member);

  const std::uint64_t most_timeouts = 1000 + 100 * std::uint64_t{stream_.chunks};
  while (!is_done()) {
    std::vector<std::pair<bool, std::size_t>> busy;
    for (std::size_t i = 0; i < upward_.size(); ++i) {
      if (!upward_[i].empty()) busy.emplace_back(true, i);
      if (!downward_[i].empty()) busy.emplace_back(false, i);
    }
    if (busy.empty()) {
      if (++timeouts_ > most_timeouts) return "no progress";
      for (std::uint16_t member = 0; member < ring_.spec.members; ++member) {
        connections_[member].to_send = connections_[member].unacknowledged;
        send_what_the_window_allows(member);
      }
      continue;
    }
    const auto [is_upward, index] = busy[random_() % busy.size()];
    auto& queue = is_upward ? upward_[index] : downward_[index];
    Datagram datagram = std::move(queue.front());
    queue.pop_front();
    if (is_upward) {
      through_switch(std::move(datagram));
    } else if (const std::string wrong = deliver(datagram); !wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

}  // namespace ina::test
