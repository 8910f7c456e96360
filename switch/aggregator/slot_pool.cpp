#include "switch/aggregator/slot_pool.hpp"

namespace ina::aggregator {

namespace {

constexpr std::size_t kCacheLine = 64;

std::size_t stride_for(std::size_t payload) { return (payload - wire::kFramingBytes + kCacheLine - 1) / kCacheLine * kCacheLine; }

}  // namespace

SlotPool::SlotPool(const GroupSpec& spec)
    : members_(spec.members),
      mask_(2 * spec.window - 1),
      stride_(stride_for(spec.payload)),
      slots_(2 * std::size_t{spec.window}),
      combined_(std::make_unique_for_overwrite<std::byte[]>(slots_.size() * stride_)),
      waiting_(std::make_unique_for_overwrite<std::byte[]>(slots_.size() * stride_ * spec.members)) {}

// Slot k holds F - 2W + k, released and empty: so a contribution to F + k takes it over like any later one.
void SlotPool::reset(std::uint32_t first_seq) noexcept {
  const auto count = static_cast<std::uint32_t>(slots_.size());
  for (std::uint32_t k = 0; k < count; ++k) slots_[k] = Slot{.seq = first_seq - count + k};
}

void SlotPool::take_over(Slot& slot, const wire::Header& header) noexcept {
  slot = Slot{.seq = header.seq, .is_released = false, .op = header.op, .lane_type = header.lane_type, .length = header.length};
}

}  // namespace ina::aggregator
