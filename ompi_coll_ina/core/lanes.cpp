#include "ompi_coll_ina/core/lanes.hpp"

#include <cassert>
#include <cstring>

namespace ina::core {
namespace {

// to[i] = from[i] is not zero, for elements of T's size. The arrays need no alignment, since a user's vector may be part of a packed structure.
template <typename T>
void copy_truth(const std::byte* from, std::byte* to, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    T element;
    std::memcpy(&element, from + i * sizeof(T), sizeof(T));
    element = element != 0 ? T{1} : T{0};
    std::memcpy(to + i * sizeof(T), &element, sizeof(T));
  }
}

void copy_lanes(Encoding encoding, std::size_t lane_bytes, const std::byte* from, std::byte* to, std::size_t count) noexcept {
  if (encoding == Encoding::kIdentity) {
    std::memcpy(to, from, count * lane_bytes);
    return;
  }
  switch (lane_bytes) {
    case 1: copy_truth<std::uint8_t>(from, to, count); break;
    case 2: copy_truth<std::uint16_t>(from, to, count); break;
    case 4: copy_truth<std::uint32_t>(from, to, count); break;
    default: copy_truth<std::uint64_t>(from, to, count); break;
  }
}

}  // namespace

HostLanes::HostLanes(wire::LaneType type, Encoding encoding, const void* source, void* destination, std::size_t lane_count) noexcept
    : type_(type),
      encoding_(encoding),
      lane_bytes_(wire::lane_bytes(type)),
      source_(static_cast<const std::byte*>(source)),
      destination_(static_cast<std::byte*>(destination)),
      lane_count_(lane_count) {
  assert(lane_bytes_ != 0);
  assert(encoding == Encoding::kIdentity || (type != wire::LaneType::kFloat32 && type != wire::LaneType::kFloat64));
}

wire::LaneType HostLanes::lane_type() const noexcept { return type_; }

std::size_t HostLanes::lane_count() const noexcept { return lane_count_; }

// Bounds are the callers' promise (first + count <= lane_count()): Stream and Schedule derive both from lane_count(), never from a packet.
void HostLanes::gather(std::size_t first, std::size_t count, std::byte* to) const noexcept {
  assert(first <= lane_count_ && count <= lane_count_ - first);
  copy_lanes(encoding_, lane_bytes_, source_ + first * lane_bytes_, to, count);
}

void HostLanes::scatter(std::size_t first, std::size_t count, const std::byte* from) noexcept {
  assert(first <= lane_count_ && count <= lane_count_ - first);
  copy_lanes(encoding_, lane_bytes_, from, destination_ + first * lane_bytes_, count);
}

}  // namespace ina::core
