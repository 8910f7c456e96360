#include "ompi_coll_ina/core/mailbox.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cassert>

#include "wire/limits.hpp"

namespace ina::core {
namespace {

// A place's last 8 bytes: the last lanes and the trailer.
using LastWord = std::array<std::byte, sizeof(std::uint64_t)>;

std::uint32_t trailer_of(std::uint64_t word) noexcept {
  const auto bytes = std::bit_cast<LastWord>(word);
  return wire::decode_trailer(std::span(bytes).last<wire::kTrailerBytes>());
}

std::uint64_t word_with_trailer(std::uint32_t seq) noexcept {
  LastWord bytes{};
  wire::encode_trailer(seq, std::span(bytes).last<wire::kTrailerBytes>());
  return std::bit_cast<std::uint64_t>(bytes);
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

// Places are powers of two, so this is an aligned word: one load sees all of the trailer or nothing. It is the word that the ina transport stores last
// (accesses of one size: atomic accesses of different sizes have no defined order in C++).
std::uint64_t& Mailbox::last_word(std::uint32_t place) const noexcept {
  return *reinterpret_cast<std::uint64_t*>(base_ + (static_cast<std::size_t>(place) + 1) * place_bytes_ - sizeof(std::uint64_t));
}

void Mailbox::poison(std::uint32_t first_seq) noexcept {
  for (std::uint32_t i = 0; i < places(); ++i) {
    const std::uint32_t stale = first_seq - places() + i;  // first_seq is a multiple of 2W, so seq first_seq + i stands in place i
    std::atomic_ref(last_word(i)).store(word_with_trailer(stale), std::memory_order_relaxed);
  }
}

// Acquire: header and lanes were written before the trailer, so a trailer that is seen vouches for them. Nobody overwrites the place
// before this member has contributed seq + W, which it does only after it has taken seq: what is read here does not change meanwhile.
Arrival Mailbox::look(const ExpectedResult& expected) const noexcept {
  const std::uint64_t last = std::atomic_ref(last_word(place(expected.seq))).load(std::memory_order_acquire);
  if (trailer_of(last) != expected.seq) return Arrival::kNothing;
  const std::byte* at = base_ + offset(expected.seq, wire::kFramingBytes + expected.length);
  return judge(expected, std::span<const std::byte, wire::kHeaderBytes>(at, wire::kHeaderBytes));
}

std::span<const std::byte> Mailbox::lanes(std::uint32_t seq, std::size_t length) const noexcept {
  return {base_ + offset(seq, wire::kFramingBytes + length) + wire::kHeaderBytes, length};
}

}  // namespace ina::core
