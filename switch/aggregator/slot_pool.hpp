// slot_pool.hpp: the 2W slots of one group and their memory: what is combined of a chunk, and what waits for its turn.
// Used by Group only.
// Does not decide whether a contribution counts, nor when a slot may be taken over: Group does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "switch/aggregator/switch_control.hpp"
#include "wire/elements.hpp"
#include "wire/ina_header.hpp"

namespace ina::aggregator {

struct Slot {
  std::uint32_t seq = 0;
  bool is_released = true;
  wire::Op op = wire::Op::kNone;
  wire::LaneType lane_type = wire::LaneType::kNone;
  std::uint16_t length = 0;    // bytes of lanes
  std::uint16_t arrived = 0;   // contributions taken
  std::uint16_t in_order = 0;  // floats: members 0 .. in_order-1 are combined
};

class SlotPool {
 public:
  // Allocates everything (bad_alloc if there is not enough). Memory for members' chunks that arrive ahead of order is only touched when used.
  explicit SlotPool(const GroupSpec&);

  void reset(std::uint32_t first_seq) noexcept;
  [[nodiscard]] Slot& of(std::uint32_t seq) noexcept { return slots_[seq & mask_]; }
  [[nodiscard]] std::span<const std::byte> lanes(const Slot& slot) const noexcept { return {combined(slot), slot.length}; }

  // Takes the slot over for a chunk of these lanes.
  void take_over(Slot&, const wire::Header&) noexcept;
  // Combines member's lanes: at once if the order does not matter, else as soon as all members before it are combined.
  // has(m) tells whether member m's contribution to this slot is in (other than this one).
  template <typename Has>
  void add(Slot& slot, std::uint16_t member, const std::byte* lanes, Has has) noexcept {
    ++slot.arrived;
    if (!is_float(slot.lane_type)) {
      merge(slot, lanes, slot.arrived == 1);
      return;
    }
    if (member != slot.in_order) {
      std::memcpy(waiting(slot, member), lanes, slot.length);
      return;
    }
    merge(slot, lanes, member == 0);
    ++slot.in_order;
    while (slot.in_order < members_ && has(slot.in_order)) merge(slot, waiting(slot, slot.in_order++), false);
  }

 private:
  [[nodiscard]] static constexpr bool is_float(wire::LaneType type) noexcept {
    return type == wire::LaneType::kFloat32 || type == wire::LaneType::kFloat64;
  }
  [[nodiscard]] std::size_t index(const Slot& slot) const noexcept { return static_cast<std::size_t>(&slot - slots_.data()); }
  [[nodiscard]] std::byte* combined(const Slot& slot) const noexcept { return combined_.get() + index(slot) * stride_; }
  [[nodiscard]] std::byte* waiting(const Slot& slot, std::uint16_t member) const noexcept {
    return waiting_.get() + (index(slot) * members_ + member) * stride_;
  }
  void merge(Slot& slot, const std::byte* lanes, bool is_first) noexcept {
    if (is_first) {
      std::memcpy(combined(slot), lanes, slot.length);
    } else {
      wire::combine(slot.op, slot.lane_type)(combined(slot), lanes, slot.length / wire::lane_bytes(slot.lane_type));
    }
  }

  std::uint16_t members_;
  std::uint32_t mask_;
  std::size_t stride_;
  std::vector<Slot> slots_;
  std::unique_ptr<std::byte[]> combined_;
  std::unique_ptr<std::byte[]> waiting_;
};

}  // namespace ina::aggregator
