// simulated_members.hpp: members of a ring with a plain go-back-N transport, an aggregator, and a network between them that loses,
// doubles, delays and damages; everything in memory, driven by one seeded generator.
// Used by property tests and by the count of packets under loss.
// Has no clock: the retransmission timer fires when nothing is under way.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "test/aggregator/ring.hpp"

namespace ina::test {

struct NetworkSettings {
  double loss = 0, duplicate = 0, reorder = 0, corrupt = 0;
  std::uint64_t seed = 1;
};

struct StreamSettings {
  wire::LaneType type = wire::LaneType::kInt32;
  wire::Op op = wire::Op::kSum;
  std::uint32_t chunks = 100;
  std::size_t most_lane_bytes = 64;  // a chunk has a length of its own up to this, the same for all members
};

class SimulatedMembers {
 public:
  SimulatedMembers(const Ring&, const StreamSettings&, const NetworkSettings&);

  // Runs until every member has every result. Empty, or what went wrong.
  [[nodiscard]] std::string run();

  [[nodiscard]] std::uint64_t packets_to_switch() const noexcept { return to_switch_count_; }
  [[nodiscard]] std::uint64_t packets_from_switch() const noexcept { return from_switch_count_; }
  [[nodiscard]] std::uint64_t timeouts() const noexcept { return timeouts_; }
  [[nodiscard]] aggregator::Aggregator& aggregator() noexcept { return aggregator_; }

 private:
  struct Datagram {
    aggregator::Endpoint source, destination;
    Bytes bytes;
    bool is_damaged = false;
  };
  // Connection i: the sender's half is member i's, the receiver's half its right neighbour's.
  struct Connection {
    std::uint32_t unacknowledged = 0;  // sender: first seq that is not acknowledged
    std::uint32_t to_send = 0;         // sender: next seq to put on the line
    std::uint32_t expected = 0;        // receiver
    bool nak_is_sent = false;
    std::uint32_t arrived_end = 0;  // receiver: results before this stand in the mailbox
  };

  [[nodiscard]] Bytes lanes(std::uint16_t member, std::uint32_t seq) const;
  [[nodiscard]] Bytes expected_result(std::uint32_t seq) const;
  [[nodiscard]] double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  void send_what_the_window_allows(std::uint16_t member);
  void to_switch(aggregator::Endpoint source, aggregator::Endpoint destination, Bytes bytes);
  void put(std::deque<Datagram>& queue, Datagram datagram);
  void through_switch(Datagram);
  [[nodiscard]] std::string deliver(const Datagram&);
  [[nodiscard]] std::string deliver_write(const Datagram&, const wire::Packet&);
  void deliver_acknowledgement(const Datagram&, const wire::Packet&);
  void acknowledge(std::uint16_t connection, std::uint32_t seq, std::uint8_t syndrome);
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] std::uint16_t member_of(aggregator::Endpoint endpoint) const {
    return static_cast<std::uint16_t>(static_cast<std::uint32_t>(endpoint) - 100);
  }

  Ring ring_;
  StreamSettings stream_;
  NetworkSettings network_;
  std::mt19937_64 random_;
  aggregator::Aggregator aggregator_;
  Collector made_;
  std::vector<Connection> connections_;
  std::vector<std::deque<Datagram>> upward_, downward_;  // by member
  std::uint64_t to_switch_count_ = 0, from_switch_count_ = 0, timeouts_ = 0;
};

}  // namespace ina::test
