// group.hpp: one group at an aggregator: what PROTOCOL.md 3 and 4 say about its binds, contributions and acknowledgements.
// Used by Aggregator, which finds the group of a packet.
// Has no clock: a lost last packet is the business of the sender's timer, whose duplicate is answered from the slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "switch/aggregator/connection.hpp"
#include "switch/aggregator/emitter.hpp"
#include "switch/aggregator/outcome.hpp"
#include "switch/aggregator/slot_pool.hpp"
#include "switch/aggregator/switch_control.hpp"

namespace ina::aggregator {

class Group {
 public:
  explicit Group(const GroupSpec&);

  [[nodiscard]] const GroupSpec& spec() const noexcept { return spec_; }
  [[nodiscard]] bool is_active() const noexcept { return is_active_; }
  [[nodiscard]] std::size_t binds_seen() const noexcept { return binds_; }
  [[nodiscard]] const std::vector<Connection>& connections() const noexcept { return connections_; }
  [[nodiscard]] const GroupCounters& counters() const noexcept { return counters_; }

  // All binds are there.
  void activate() noexcept;
  // A packet whose INA header names this group.
  [[nodiscard]] Outcome receive(const Arrival&, const wire::Header&, Emitter&) noexcept;
  // An acknowledgement from the receiver of this connection to its sender.
  [[nodiscard]] Outcome receive_acknowledgement(std::uint16_t connection, const Arrival&, Emitter&) noexcept;

 private:
  [[nodiscard]] Outcome bind(const Arrival&) noexcept;
  [[nodiscard]] Drop check(const Arrival&, const wire::Header&) const noexcept;
  [[nodiscard]] Drop check_payload(const Arrival&, const wire::Header&) const noexcept;
  [[nodiscard]] Outcome contribute(const Arrival&, const wire::Header&, Emitter&) noexcept;
  [[nodiscard]] Outcome answer_duplicate(Connection&, const wire::Header&, Emitter&) noexcept;
  [[nodiscard]] Outcome report_gap(Connection&, std::uint32_t seq, Emitter&) noexcept;
  [[nodiscard]] Outcome answer_nak(Connection&, std::uint32_t seq, Emitter&) noexcept;
  void release(Slot&, Emitter&) noexcept;
  void emit_result(Connection&, const Slot&, const std::array<std::byte, wire::kHeaderBytes>& header, Emitter&) noexcept;
  [[nodiscard]] std::array<std::byte, wire::kHeaderBytes> result_header(const Slot&) const noexcept;

  GroupSpec spec_;
  bool is_active_ = false;
  std::size_t binds_ = 0;
  std::uint32_t unreleased_;  // the first seq that is not released: results are born in seq order (see release)
  std::vector<Connection> connections_;
  SlotPool slots_;
  GroupCounters counters_;
};

}  // namespace ina::aggregator
