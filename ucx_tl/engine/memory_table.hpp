// memory_table.hpp: registered memory, found by rkey, for checking what a peer may read and write.
// Shared by a memory domain and the engines on it; registration may come from any thread.
// Does not pin or map memory: it only remembers what was promised.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ina::engine {

enum class MemoryAccess : std::uint8_t { kRead, kWrite, kAtomic };

// What a peer may do with a region.
struct MemoryRights {
  bool read = true;
  bool write = true;
  bool atomic = true;
  bool invalidate = false;  // end the registration with a SEND with Invalidate
};

class MemoryTable {
 public:
  explicit MemoryTable(std::uint64_t seed) noexcept : nonce_(seed | 1) {}

  // An rkey, never 0; nullopt when all are in use or memory is short.
  [[nodiscard]] std::optional<std::uint32_t> add(std::byte* address, std::size_t bytes, const MemoryRights& = {}) noexcept;
  // After this no engine reads or writes the memory any more. False: unknown rkey.
  bool remove(std::uint32_t rkey) noexcept;

  // Readers hold the table while they use memory that they looked up. Readers do not exclude each other.
  void lock_shared() noexcept;
  [[nodiscard]] bool try_lock_shared() noexcept;
  void unlock_shared() noexcept { readers_.fetch_sub(1, std::memory_order_release); }
  // Where [address, address + bytes) may be accessed in this way, or nullptr. The table is held by the caller.
  [[nodiscard]] std::byte* find(std::uint32_t rkey, std::uint64_t address, std::uint64_t bytes, MemoryAccess) const noexcept;
  // For a peer; the table is held by the caller. The rkey finds nothing after invalidate(), and is still removed by its owner.
  [[nodiscard]] bool may_invalidate(std::uint32_t rkey) const noexcept;
  void invalidate(std::uint32_t rkey) noexcept;

 private:
  // rkey = nonce << kIndexBits | index, so that a stale or guessed key does not fit by chance alone.
  static constexpr std::uint32_t kIndexBits = 20;
  static constexpr std::int32_t kWriter = -1;
  struct Region {
    std::byte* address = nullptr;
    std::size_t bytes = 0;
    std::uint32_t rkey = 0;  // 0: free
    MemoryRights rights;
    bool is_invalidated = false;  // written by one reader while others read it
  };
  [[nodiscard]] const Region* region_of(std::uint32_t rkey) const noexcept;
  void lock() noexcept;
  void unlock() noexcept { readers_.store(0, std::memory_order_release); }

  std::vector<Region> regions_;
  std::vector<std::uint32_t> free_;
  std::uint64_t nonce_;
  std::atomic<std::int32_t> readers_{0};  // kWriter, or how many readers hold the table
};

}  // namespace ina::engine
