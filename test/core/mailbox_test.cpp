#include "ompi_coll_ina/core/mailbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "ompi_coll_ina/core/aligned_memory.hpp"
#include "wire/bytes.hpp"

namespace ina::test {
namespace {

using core::Arrival;
using core::Mailbox;

constexpr std::uint32_t kPlaces = 8, kPlaceBytes = 256;

core::ExpectedResult expected(std::uint32_t seq, std::uint16_t length = 64) {
  return {.group = 3, .epoch = 4, .seq = seq, .members = 2, .length = length, .op = wire::Op::kSum, .lane_type = wire::LaneType::kUint64};
}

wire::Header header(std::uint32_t seq, std::uint16_t length = 64) {
  return {.kind = wire::Kind::kResult, .op = wire::Op::kSum, .lane_type = wire::LaneType::kUint64, .contributions = 2, .group = 3, .epoch = 4, .seq = seq, .member = 1, .length = length};
}

// Writes a packet as the ina transport does: the last 8 bytes in one piece, last, with release semantics. Every lane is seq.
void write(std::byte* place, const wire::Header& h) {
  std::vector<std::byte> packet(wire::kFramingBytes + h.length);
  wire::encode_header(h, std::span(packet).first<wire::kHeaderBytes>());
  const std::uint64_t lane = h.seq;
  for (std::size_t at = 0; at < h.length; at += 8) std::memcpy(&packet[wire::kHeaderBytes + at], &lane, 8);
  wire::encode_trailer(h.seq, std::span(packet).last<wire::kTrailerBytes>());
  std::uint64_t last;
  std::memcpy(&last, &packet[packet.size() - 8], 8);
  std::memcpy(place + kPlaceBytes - packet.size(), packet.data(), packet.size() - 8);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(place + kPlaceBytes - 8)).store(last, std::memory_order_release);
}

struct Box {
  Box() : memory(kPlaces * kPlaceBytes), mailbox(memory.bytes(), kPlaceBytes) {}
  std::byte* place(std::uint32_t seq) { return memory.bytes().data() + (seq % kPlaces) * kPlaceBytes; }
  core::AlignedMemory memory;
  Mailbox mailbox;
};

TEST(Mailbox, NothingStandsInAPoisonedPlace) {
  for (const std::uint32_t first : {0u, 8u, 0xfffffff8u}) {
    Box box;
    box.mailbox.poison(first);
    for (std::uint32_t i = 0; i < 2 * kPlaces; ++i) EXPECT_EQ(box.mailbox.look(expected(first + i)), Arrival::kNothing);
  }
}

TEST(Mailbox, AResultIsFoundWhateverItsLength) {
  Box box;
  for (const std::uint16_t length : {std::uint16_t{8}, std::uint16_t{64}, std::uint16_t{224}}) {
    write(box.place(11), header(11, length));
    EXPECT_EQ(box.mailbox.look(expected(11, length)), Arrival::kResult);
    EXPECT_EQ(box.mailbox.lanes(11, length).size(), length);
    EXPECT_EQ(wire::load_be<std::uint32_t>(box.mailbox.lanes(11, length).data() + length), 11u);  // the trailer follows
  }
}

TEST(Mailbox, WhatIsNoResultIsToldApart) {
  const auto arrival = [](auto change) {
    Box box;
    auto h = header(5);
    change(h);
    write(box.place(5), h);
    return box.mailbox.look(expected(5));
  };
  EXPECT_EQ(arrival([](auto& h) { h.kind = wire::Kind::kData, h.contributions = 1; }), Arrival::kBypassed);
  EXPECT_EQ(arrival([](auto& h) { h.group = 9; }), Arrival::kMismatch);
  EXPECT_EQ(arrival([](auto& h) { h.epoch = 9; }), Arrival::kMismatch);
  EXPECT_EQ(arrival([](auto& h) { h.contributions = 1; }), Arrival::kMismatch);
  EXPECT_EQ(arrival([](auto& h) { h.length = 72; }), Arrival::kMismatch);
  EXPECT_EQ(arrival([](auto& h) { h.op = wire::Op::kMin; }), Arrival::kMismatch);
  EXPECT_EQ(arrival([](auto& h) { h.lane_type = wire::LaneType::kInt64; }), Arrival::kMismatch);
  EXPECT_EQ(arrival([](auto& h) { h.seq = 13; }), Arrival::kNothing);
}

// A writer overwrites places while the reader looks: no result is taken half written. (Under ThreadSanitizer: no race.)
TEST(Mailbox, AResultIsNeverSeenHalfWritten) {
  Box box;
  box.mailbox.poison(0);
  constexpr std::uint32_t kCount = 20'000, kWindow = kPlaces / 2;
  std::atomic<std::uint32_t> taken{0};
  std::thread writer([&] {
    for (std::uint32_t seq = 0; seq < kCount; ++seq) {
      while (seq >= taken.load(std::memory_order_acquire) + kWindow) std::this_thread::yield();
      write(box.place(seq), header(seq, static_cast<std::uint16_t>(8 + 8 * (seq % 20))));
    }
  });
  std::uint32_t torn = 0;
  for (std::uint32_t seq = 0; seq < kCount;) {
    const auto length = static_cast<std::uint16_t>(8 + 8 * (seq % 20));
    const Arrival arrival = box.mailbox.look(expected(seq, length));
    if (arrival == Arrival::kNothing) {
      std::this_thread::yield();
      continue;
    }
    if (arrival != Arrival::kResult) ++torn;
    for (std::size_t at = 0; at < length; at += 8) {
      std::uint64_t lane;
      std::memcpy(&lane, box.mailbox.lanes(seq, length).data() + at, 8);
      torn += lane != seq;
    }
    taken.store(++seq, std::memory_order_release);
  }
  writer.join();
  EXPECT_EQ(torn, 0u);
}

}  // namespace
}  // namespace ina::test
