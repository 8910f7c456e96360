// deadline_heap.hpp: QPs by the time at which each wants to be looked at, the earliest first.
// Used by Engine. An entry may be earlier than what its QP wants by now, never later: a deadline that moves away, as that of every acknowledged packet does,
// costs nothing until the old one has come.
// Does not read clocks or QPs: times are given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ucx_tl/engine/clock.hpp"

namespace ina::engine {

// T has a member `DeadlineEntry deadline_entry`, which belongs to the heap.
struct DeadlineEntry {
  static constexpr std::size_t kNowhere = ~std::size_t{0};
  Nanoseconds at = kNever;
  std::size_t place = kNowhere;
};

template <typename T>
class DeadlineHeap {
 public:
  // Room for so many entries: nothing else allocates.
  void reserve(std::size_t entries) { heap_.reserve(entries); }
  [[nodiscard]] Nanoseconds earliest() const noexcept { return heap_.empty() ? kNever : heap_.front()->deadline_entry.at; }
  [[nodiscard]] T* first() const noexcept { return heap_.empty() ? nullptr : heap_.front(); }

  // Not later than `at`; kNever changes nothing.
  void wake_before(T& item, Nanoseconds at) noexcept {
    if (at < item.deadline_entry.at) set(item, at);
  }
  void set(T& item, Nanoseconds at) noexcept {
    DeadlineEntry& entry = item.deadline_entry;
    if (at == kNever) return remove(item);
    entry.at = at;
    if (entry.place == DeadlineEntry::kNowhere) {
      entry.place = heap_.size();
      heap_.push_back(&item);
    }
    sift(entry.place);
  }
  void remove(T& item) noexcept {
    const std::size_t hole = item.deadline_entry.place;
    item.deadline_entry = {};
    if (hole == DeadlineEntry::kNowhere) return;
    T* const last = heap_.back();
    heap_.pop_back();
    if (last == &item) return;
    put(hole, last);
    sift(hole);
  }

 private:
  [[nodiscard]] Nanoseconds at(std::size_t place) const noexcept { return heap_[place]->deadline_entry.at; }
  void put(std::size_t place, T* item) noexcept {
    heap_[place] = item;
    item->deadline_entry.place = place;
  }
  void swap(std::size_t a, std::size_t b) noexcept {
    T* const item = heap_[a];
    put(a, heap_[b]);
    put(b, item);
  }
  void sift(std::size_t place) noexcept {
    for (; place != 0 && at(place) < at((place - 1) / 2); place = (place - 1) / 2) swap(place, (place - 1) / 2);
    for (;;) {
      std::size_t smallest = place;
      for (std::size_t child = 2 * place + 1; child <= 2 * place + 2 && child < heap_.size(); ++child) {
        if (at(child) < at(smallest)) smallest = child;
      }
      if (smallest == place) return;
      swap(place, smallest);
      place = smallest;
    }
  }

  std::vector<T*> heap_;
};

}  // namespace ina::engine
