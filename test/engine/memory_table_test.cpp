// memory_table_test.cpp: rkeys and what they allow.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>

#include "ucx_tl/engine/memory_table.hpp"

namespace ina::engine {
namespace {

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

TEST(MemoryTable, FindsWhatLiesInsideARegionOnly) {
  std::array<std::byte, 100> memory{};
  MemoryTable table(1);
  const std::uint32_t rkey = *table.add(memory.data() + 10, 80);
  const std::uint64_t begin = address_of(memory.data() + 10);
  EXPECT_EQ(table.find(rkey, begin, 80, MemoryAccess::kWrite), memory.data() + 10);
  EXPECT_EQ(table.find(rkey, begin + 79, 1, MemoryAccess::kWrite), memory.data() + 89);
  EXPECT_EQ(table.find(rkey, begin, 81, MemoryAccess::kWrite), nullptr);
  EXPECT_EQ(table.find(rkey, begin - 1, 1, MemoryAccess::kWrite), nullptr);
  EXPECT_EQ(table.find(rkey, begin + 80, 1, MemoryAccess::kWrite), nullptr);
  EXPECT_EQ(table.find(rkey, begin + 1, ~std::uint64_t{0}, MemoryAccess::kWrite), nullptr);
  EXPECT_EQ(table.find(rkey, ~std::uint64_t{0}, 1, MemoryAccess::kWrite), nullptr);
  EXPECT_EQ(table.find(rkey ^ (1u << 24), begin, 1, MemoryAccess::kWrite), nullptr);
  EXPECT_EQ(table.find(0, begin, 1, MemoryAccess::kWrite), nullptr);
}

TEST(MemoryTable, FindsForWhatARegionIsRegisteredForOnly) {
  std::array<std::byte, 10> memory{};
  MemoryTable table(1);
  for (int bits = 0; bits < 8; ++bits) {
    const MemoryRights rights{.read = (bits & 1) != 0, .write = (bits & 2) != 0, .atomic = (bits & 4) != 0};
    const std::uint32_t rkey = *table.add(memory.data(), memory.size(), rights);
    EXPECT_EQ(table.find(rkey, address_of(memory.data()), 1, MemoryAccess::kRead) != nullptr, rights.read);
    EXPECT_EQ(table.find(rkey, address_of(memory.data()), 1, MemoryAccess::kWrite) != nullptr, rights.write);
    EXPECT_EQ(table.find(rkey, address_of(memory.data()), 1, MemoryAccess::kAtomic) != nullptr, rights.atomic);
  }
}

TEST(MemoryTable, RemovedKeyIsDeadEvenWhenItsPlaceIsTakenAgain) {
  std::array<std::byte, 10> memory{};
  MemoryTable table(1);
  std::set<std::uint32_t> keys;
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t rkey = *table.add(memory.data(), memory.size());
    keys.insert(rkey);
    EXPECT_TRUE(table.remove(rkey));
    EXPECT_FALSE(table.remove(rkey));
    EXPECT_EQ(table.find(rkey, address_of(memory.data()), 1, MemoryAccess::kWrite), nullptr);
  }
  EXPECT_GT(keys.size(), 90u);
}

TEST(MemoryTable, WriterWaitsForReaders) {
  std::array<std::byte, 10> memory{};
  MemoryTable table(1);
  const std::uint32_t rkey = *table.add(memory.data(), memory.size());
  table.lock_shared();
  std::atomic<bool> removed{false};
  std::thread writer([&] {
    table.remove(rkey);
    removed = true;
  });
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(removed);
  EXPECT_NE(table.find(rkey, address_of(memory.data()), 1, MemoryAccess::kWrite), nullptr);
  table.unlock_shared();
  writer.join();
  EXPECT_EQ(table.find(rkey, address_of(memory.data()), 1, MemoryAccess::kWrite), nullptr);
}

}  // namespace
}  // namespace ina::engine
