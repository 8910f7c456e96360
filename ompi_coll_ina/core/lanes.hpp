// lanes.hpp: the only way in which the engine touches user memory: gather lanes from it, scatter lanes to it.
// Used by Stream and by the software schedules.
// Does not know MPI types: the border has translated type and operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/ina_header.hpp"

namespace ina::core {

// How an element of the user's vector becomes a lane.
enum class Encoding : std::uint8_t {
  kIdentity,  // the lane is the element
  kLogical,   // the lane is 1 for a true (non-zero) element, else 0; so is the element that comes back
};

// One vector of one operation. `source` may equal `destination` (MPI_IN_PLACE).
class Lanes {
 public:
  virtual ~Lanes() = default;
  [[nodiscard]] virtual wire::LaneType lane_type() const noexcept = 0;
  [[nodiscard]] virtual std::size_t lane_count() const noexcept = 0;
  // Copies lanes [first, first + count) of the input to `to`, or of `from` to the output.
  virtual void gather(std::size_t first, std::size_t count, std::byte* to) const noexcept = 0;
  virtual void scatter(std::size_t first, std::size_t count, const std::byte* from) noexcept = 0;
};

// Lanes of a vector that is contiguous in host memory.
class HostLanes final : public Lanes {
 public:
  HostLanes(wire::LaneType type, Encoding encoding, const void* source, void* destination, std::size_t lane_count) noexcept;
  [[nodiscard]] wire::LaneType lane_type() const noexcept override;
  [[nodiscard]] std::size_t lane_count() const noexcept override;
  void gather(std::size_t first, std::size_t count, std::byte* to) const noexcept override;
  void scatter(std::size_t first, std::size_t count, const std::byte* from) noexcept override;

 private:
  wire::LaneType type_;
  Encoding encoding_;
  std::size_t lane_bytes_;
  const std::byte* source_;
  std::byte* destination_;
  std::size_t lane_count_;
};

// The input of a vector whose output must stay as it is: results are thrown away.
class ShadowLanes final : public Lanes {
 public:
  explicit ShadowLanes(const Lanes& of) noexcept : of_(of) {}
  [[nodiscard]] wire::LaneType lane_type() const noexcept override { return of_.lane_type(); }
  [[nodiscard]] std::size_t lane_count() const noexcept override { return of_.lane_count(); }
  void gather(std::size_t first, std::size_t count, std::byte* to) const noexcept override { of_.gather(first, count, to); }
  void scatter(std::size_t, std::size_t, const std::byte*) noexcept override {}

 private:
  const Lanes& of_;
};

}  // namespace ina::core
