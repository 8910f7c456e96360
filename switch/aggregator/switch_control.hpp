// switch_control.hpp: what a manager can do to a switch, and what a switch tells its manager.
// Used by the manager; implemented by the software switch (and by drivers of P4 targets).
// Carries no policy: who may have slots is the manager's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/ina_header.hpp"

namespace ina::aggregator {

struct Capabilities {
  std::vector<wire::Op> ops;
  std::vector<wire::LaneType> lane_types;
  std::size_t payload;         // largest chunk payload, bytes
  std::uint16_t members;       // largest group
  std::uint32_t slots;         // in all
  std::uint32_t min_window;
  std::uint32_t max_window;
  bool member_order_floats;
  std::vector<std::string> aids;  // PROTOCOL.md 4, made-up packets
};

struct GroupSpec {
  std::uint32_t group;
  std::uint32_t epoch;
  std::uint16_t members;
  std::uint32_t window;     // W; the group takes 2W slots
  std::uint32_t first_seq;  // F
  std::size_t payload;      // payload limit, bytes
  std::uint32_t place_bytes;  // P, the power of two that payload fits in; members' binds must say the same
};

struct GroupCounters {
  std::uint64_t contributions = 0, results = 0, duplicates_answered = 0, duplicates_dropped = 0, duplicates_passed = 0;
  std::uint64_t gaps = 0, refused = 0, naks_made = 0, naks_answered = 0, bytes_combined = 0;
};

// One step of a group's life each; all are called from the switch's own thread.
class SwitchControl {
 public:
  virtual ~SwitchControl() = default;
  [[nodiscard]] virtual Capabilities capabilities() const = 0;
  // The group becomes known: its binds are learnt from now on, everything else of it is dropped. False: no memory for its 2W slots, or the number is in use.
  [[nodiscard]] virtual bool prepare(const GroupSpec&) = 0;
  // Number of binds seen of the 2N that a group has.
  [[nodiscard]] virtual std::size_t binds_seen(std::uint32_t group) const = 0;
  // Connections of which a bind is missing, ascending.
  [[nodiscard]] virtual std::vector<std::uint16_t> unbound_connections(std::uint32_t group) const = 0;
  // Installs next[] and slots, then activates. False: unknown, or binds are missing.
  [[nodiscard]] virtual bool activate(std::uint32_t group) = 0;
  // Deactivates and forgets the group; its slots are free.
  virtual void remove(std::uint32_t group) = 0;
  [[nodiscard]] virtual GroupCounters counters(std::uint32_t group) const = 0;
};

}  // namespace ina::aggregator
