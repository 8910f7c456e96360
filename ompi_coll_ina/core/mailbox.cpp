#include "ompi_coll_ina/core/mailbox.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstring>

#include "wire/bytes.hpp"
#include "wire/limits.hpp"

namespace ina::core {
namespace {

constexpr std::uint32_t to_big_endian(std::uint32_t value) noexcept {
  return std::endian::native == std::endian::big ? value : wire::byte_swapped(value);
}

Arrival judge(const ExpectedResult& expected, std::span<const std::byte, wire::kHeaderBytes> bytes) noexcept {
  const auto header = wire::decode_header(bytes);
  if (!header) return Arrival::kMismatch;
  const bool is_of_this_chunk = header->group == expected.group && header->epoch == expected.epoch && header->seq == expected.seq;
  if (!is_of_this_chunk) return Arrival::kMismatch;
  if (header->kind == wire::Kind::kData) return Arrival::kBypassed;
  const bool fits = header->kind == wire::Kind::kResult && header->contributions == expected.members && header->length == expected.length &&
                    header->op == expected.op && header->lane_type == expected.lane_type;
  return fits ? Arrival::kResult : Arrival::kMismatch;
}

}  // namespace

Mailbox::Mailbox(std::span<std::byte> memory, std::uint32_t place_bytes) noexcept
    : base_(memory.data()), place_bytes_(place_bytes), mask_(static_cast<std::uint32_t>(memory.size() / place_bytes) - 1) {
  assert(wire::is_power_of_two(place_bytes) && wire::is_power_of_two(memory.size() / place_bytes));
}

// The trailer is the last 4 bytes of its place: places are powers of two, so it is aligned and one load sees all of it or nothing.
std::uint32_t& Mailbox::trailer(std::uint32_t place) const noexcept {
  return *reinterpret_cast<std::uint32_t*>(base_ + (static_cast<std::size_t>(place) + 1) * place_bytes_ - wire::kTrailerBytes);
}

void Mailbox::poison(std::uint32_t first_seq) noexcept {
  for (std::uint32_t i = 0; i < places(); ++i) {
    const std::uint32_t stale = first_seq - places() + i;  // first_seq is a multiple of 2W, so seq first_seq + i stands in place i
    std::atomic_ref(trailer(i)).store(to_big_endian(stale), std::memory_order_relaxed);
  }
}

// Acquire: header and lanes were written before the trailer, so a trailer that is seen vouches for them. Nobody overwrites the place
// before this member has contributed seq + W, which it does only after it has taken seq: what is read here does not change meanwhile.
Arrival Mailbox::look(const ExpectedResult& expected) const noexcept {
  if (std::atomic_ref(trailer(place(expected.seq))).load(std::memory_order_acquire) != to_big_endian(expected.seq)) return Arrival::kNothing;
  const std::byte* at = base_ + offset(expected.seq, wire::kFramingBytes + expected.length);
  return judge(expected, std::span<const std::byte, wire::kHeaderBytes>(at, wire::kHeaderBytes));
}

std::span<const std::byte> Mailbox::lanes(std::uint32_t seq, std::size_t length) const noexcept {
  return {base_ + offset(seq, wire::kFramingBytes + length) + wire::kHeaderBytes, length};
}

}  // namespace ina::core
