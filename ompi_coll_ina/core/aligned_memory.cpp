#include "ompi_coll_ina/core/aligned_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "ompi_coll_ina/core/error.hpp"

namespace ina::core {

// Twice the size is reserved and what lies before and behind the aligned part is returned: no memory is spent on alignment.
AlignedMemory::AlignedMemory(std::size_t bytes) : size_(bytes), mapped_(std::max(bytes, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)))) {
  void* reserved = ::mmap(nullptr, 2 * mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reserved == MAP_FAILED) throw Error(Status::kNoMemory, "cannot map " + std::to_string(2 * mapped_) + " bytes");
  auto* begin = static_cast<std::byte*>(reserved);
  const std::size_t before = (mapped_ - reinterpret_cast<std::uintptr_t>(begin) % mapped_) % mapped_;
  address_ = begin + before;
  if (before != 0) ::munmap(begin, before);
  ::munmap(address_ + mapped_, mapped_ - before);
}

AlignedMemory::~AlignedMemory() { ::munmap(address_, mapped_); }

}  // namespace ina::core
