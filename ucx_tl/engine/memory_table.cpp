#include "ucx_tl/engine/memory_table.hpp"

#include <sched.h>

#include <new>

namespace ina::engine {
namespace {

bool allows(const MemoryRights& rights, MemoryAccess access) noexcept {
  switch (access) {
    case MemoryAccess::kRead: return rights.read;
    case MemoryAccess::kWrite: return rights.write;
    case MemoryAccess::kAtomic: return rights.atomic;
  }
  return false;
}

}  // namespace

bool MemoryTable::try_lock_shared() noexcept {
  std::int32_t readers = readers_.load(std::memory_order_relaxed);
  while (readers >= 0) {
    if (readers_.compare_exchange_weak(readers, readers + 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
  }
  return false;
}

void MemoryTable::lock_shared() noexcept {
  while (!try_lock_shared()) sched_yield();
}

void MemoryTable::lock() noexcept {
  std::int32_t nobody = 0;
  while (!readers_.compare_exchange_weak(nobody, kWriter, std::memory_order_acquire, std::memory_order_relaxed)) {
    nobody = 0;
    sched_yield();
  }
}

std::optional<std::uint32_t> MemoryTable::add(std::byte* address, std::size_t bytes, const MemoryRights& rights) noexcept {
  std::optional<std::uint32_t> rkey;
  lock();
  try {
    if (free_.empty() && regions_.size() < (std::size_t{1} << kIndexBits)) {
      free_.reserve(regions_.size() + 1);  // so that remove() never allocates
      regions_.emplace_back();
      free_.push_back(static_cast<std::uint32_t>(regions_.size() - 1));
    }
    if (!free_.empty()) {
      const std::uint32_t index = free_.back();
      free_.pop_back();
      nonce_ = nonce_ * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX generator
      const auto nonce = static_cast<std::uint32_t>(nonce_ >> 40) & ((1u << (32 - kIndexBits)) - 1);
      rkey = (nonce == 0 ? 1u : nonce) << kIndexBits | index;
      regions_[index] = Region{.address = address, .bytes = bytes, .rkey = *rkey, .rights = rights};
    }
  } catch (const std::bad_alloc&) {
    rkey.reset();
  }
  unlock();
  return rkey;
}

bool MemoryTable::remove(std::uint32_t rkey) noexcept {
  const std::uint32_t index = rkey & ((1u << kIndexBits) - 1);
  lock();
  const bool known = rkey != 0 && index < regions_.size() && regions_[index].rkey == rkey;
  if (known) {
    regions_[index] = Region{};
    free_.push_back(index);
  }
  unlock();
  return known;
}

const MemoryTable::Region* MemoryTable::region_of(std::uint32_t rkey) const noexcept {
  const std::uint32_t index = rkey & ((1u << kIndexBits) - 1);
  if (rkey == 0 || index >= regions_.size()) return nullptr;
  const Region& region = regions_[index];
  return region.rkey == rkey && !__atomic_load_n(&region.is_invalidated, __ATOMIC_ACQUIRE) ? &region : nullptr;
}

std::byte* MemoryTable::find(std::uint32_t rkey, std::uint64_t address, std::uint64_t bytes, MemoryAccess access) const noexcept {
  const Region* const region = region_of(rkey);
  if (region == nullptr || !allows(region->rights, access)) return nullptr;
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(region->address);
  if (address < begin) return nullptr;
  const std::uint64_t offset = address - begin;
  if (offset > region->bytes || bytes > region->bytes - offset) return nullptr;
  return region->address + offset;
}

bool MemoryTable::may_invalidate(std::uint32_t rkey) const noexcept {
  const Region* const region = region_of(rkey);
  return region != nullptr && region->rights.invalidate;
}

void MemoryTable::invalidate(std::uint32_t rkey) noexcept {
  if (may_invalidate(rkey)) __atomic_store_n(&regions_[rkey & ((1u << kIndexBits) - 1)].is_invalidated, true, __ATOMIC_RELEASE);
}

}  // namespace ina::engine
