// deadline_heap_test.cpp: the earliest deadline is found, whatever was moved or removed before.
#include "ucx_tl/engine/deadline_heap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ina::engine {
namespace {

struct Item {
  DeadlineEntry deadline_entry;
};

TEST(DeadlineHeap, EarliestIsFirstAfterAnyChanges) {
  std::mt19937_64 random(5);
  std::vector<Item> items(50);
  DeadlineHeap<Item> heap;
  heap.reserve(items.size());
  for (int step = 0; step < 20000; ++step) {
    Item& item = items[random() % items.size()];
    const Nanoseconds at = random() % 1000;
    switch (random() % 4) {
      case 0: heap.remove(item); break;
      case 1: heap.set(item, random() % 8 == 0 ? kNever : at); break;
      default: {
        const Nanoseconds before = item.deadline_entry.at;
        heap.wake_before(item, at);
        EXPECT_EQ(item.deadline_entry.at, std::min(before, at));
      }
    }
    const auto earliest = std::min_element(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.deadline_entry.at < b.deadline_entry.at; });
    ASSERT_EQ(heap.earliest(), earliest->deadline_entry.at) << step;
    ASSERT_EQ(heap.first() == nullptr, heap.earliest() == kNever);
  }
}

TEST(DeadlineHeap, NeverIsNowhere) {
  Item item;
  DeadlineHeap<Item> heap;
  heap.wake_before(item, kNever);
  EXPECT_EQ(heap.first(), nullptr);
  heap.remove(item);
  heap.reserve(1);
  heap.set(item, 7);
  EXPECT_EQ(heap.first(), &item);
  heap.set(item, kNever);
  EXPECT_EQ(heap.earliest(), kNever);
}

}  // namespace
}  // namespace ina::engine
