// aligned_memory.hpp: zeroed pages whose address is a multiple of their own power-of-two size.
// Used for mailboxes (a switch without 64-bit addition forms addresses in them) and other registered memory.
// Does not register anything.
#pragma once

#include <cstddef>
#include <span>

namespace ina::core {

class AlignedMemory {
 public:
  // bytes: a power of two; at least a page is mapped. Throws Error {kNoMemory}.
  explicit AlignedMemory(std::size_t bytes);
  ~AlignedMemory();
  AlignedMemory(const AlignedMemory&) = delete;
  AlignedMemory& operator=(const AlignedMemory&) = delete;
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {address_, size_}; }

 private:
  std::byte* address_ = nullptr;
  std::size_t size_;
  std::size_t mapped_;
};

}  // namespace ina::core
