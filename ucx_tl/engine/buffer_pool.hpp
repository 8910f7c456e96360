// buffer_pool.hpp: a fixed number of equal buffers, allocated once.
// Used by Engine for copied messages and for messages that are being received.
// Not thread safe; never grows, so that taking a buffer cannot fail slowly or allocate in a timer.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace ina::engine {

class BufferPool {
 public:
  BufferPool(std::size_t buffers, std::size_t buffer_bytes)
      : buffer_bytes_((buffer_bytes + kAlignment - 1) / kAlignment * kAlignment),
        memory_(static_cast<std::byte*>(::operator new[](buffers* buffer_bytes_, std::align_val_t{kAlignment}))) {
    free_.reserve(buffers);
    for (std::size_t i = buffers; i-- > 0;) free_.push_back(memory_.get() + i * buffer_bytes_);
  }
  [[nodiscard]] std::byte* take() noexcept {
    if (free_.empty()) return nullptr;
    std::byte* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  void give_back(std::byte* buffer) noexcept {
    if (buffer != nullptr) free_.push_back(buffer);  // within the reserved capacity
  }
  [[nodiscard]] bool is_empty() const noexcept { return free_.empty(); }
  [[nodiscard]] std::size_t available() const noexcept { return free_.size(); }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Deleter {
    void operator()(std::byte* memory) const noexcept { ::operator delete[](memory, std::align_val_t{kAlignment}); }
  };
  std::size_t buffer_bytes_;
  std::unique_ptr<std::byte[], Deleter> memory_;
  std::vector<std::byte*> free_;
};

}  // namespace ina::engine
