// mailbox.hpp: the places of a mailbox as their owner sees them: poisoned, looked at, read.
// Used by Stream only.
// Does not scatter, count or advance: it judges what stands in one place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/ina_header.hpp"

namespace ina::core {

// What a result must look like to be taken (PROTOCOL.md 2).
struct ExpectedResult {
  std::uint32_t group;
  std::uint32_t epoch;
  std::uint32_t seq;
  std::uint16_t members;
  std::uint16_t length;  // bytes of lanes, padded
  wire::Op op;
  wire::LaneType lane_type;
};

enum class Arrival : std::uint8_t {
  kNothing,   // the trailer is not seq: keep looking
  kResult,    // may be taken
  kBypassed,  // a contribution stands where a result should: it went past no aggregator that knows the group
  kMismatch,  // trailer seq with a header that fits neither: another length, type, operation, life
};

// A mailbox of 2W places. Its memory is written at any time by another agent (a NIC, or the transport's timer thread), which writes the trailer of a packet last.
class Mailbox {
 public:
  // memory: places x place_bytes, both powers of two.
  Mailbox(std::span<std::byte> memory, std::uint32_t place_bytes) noexcept;

  // Trailers as the group's life begins: each place's first seq - 2W.
  void poison(std::uint32_t first_seq) noexcept;
  [[nodiscard]] Arrival look(const ExpectedResult& expected) const noexcept;
  // The lanes of a packet of this length in the place of seq. Of use only after look() has said kResult for it.
  [[nodiscard]] std::span<const std::byte> lanes(std::uint32_t seq, std::size_t length) const noexcept;

  [[nodiscard]] std::uint32_t places() const noexcept { return mask_ + 1; }
  [[nodiscard]] std::uint32_t place(std::uint32_t seq) const noexcept { return seq & mask_; }
  // Offset in the mailbox at which a payload for seq begins: right-aligned, so that the trailer's address does not depend on the length.
  [[nodiscard]] std::size_t offset(std::uint32_t seq, std::size_t payload) const noexcept {
    return (static_cast<std::size_t>(place(seq)) + 1) * place_bytes_ - payload;
  }

 private:
  [[nodiscard]] std::uint64_t& last_word(std::uint32_t place) const noexcept;

  std::byte* base_;
  std::size_t place_bytes_;
  std::uint32_t mask_;
};

}  // namespace ina::core
