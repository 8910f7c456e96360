// source_buffers.hpp: the registered buffers that PUTs are made from, each either free or the transport's.
// Used by Stream only.
// Does not fill them: a buffer is lent until the completion of its PUT, since a NIC retransmits from memory.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ompi_coll_ina/core/fabric.hpp"

namespace ina::core {

class SourceBuffers {
 public:
  SourceBuffers(std::span<std::byte> memory, std::size_t buffer_bytes)
      : memory_(memory.data()), buffer_bytes_(buffer_bytes), buffers_(std::make_unique<Buffer[]>(memory.size() / buffer_bytes)) {
    for (std::size_t i = 0; i < memory.size() / buffer_bytes; ++i) {
      buffers_[i].done = &SourceBuffers::on_done;
      buffers_[i].owner = this;
    }
  }
  SourceBuffers(const SourceBuffers&) = delete;
  SourceBuffers& operator=(const SourceBuffers&) = delete;

  [[nodiscard]] bool is_free(std::uint32_t index) const noexcept { return !buffers_[index].is_lent; }
  [[nodiscard]] std::span<std::byte> bytes(std::uint32_t index) noexcept { return {memory_ + index * buffer_bytes_, buffer_bytes_}; }
  // A PUT of a free buffer: lend() before it, then settle() with what the transport answered.
  [[nodiscard]] PutCompletion* lend(std::uint32_t index) noexcept {
    assert(is_free(index));
    buffers_[index].is_lent = true;
    ++lent_;
    return &buffers_[index];
  }
  // True if the PUT is on its way (or already there).
  bool settle(std::uint32_t index, PutStatus status) noexcept {
    if (status == PutStatus::kFailed) has_failed_ = true;
    if (status != PutStatus::kPosted) give_back(index);
    return status == PutStatus::kPosted || status == PutStatus::kDone;
  }
  [[nodiscard]] std::uint32_t lent() const noexcept { return lent_; }
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

 private:
  struct Buffer : PutCompletion {
    SourceBuffers* owner = nullptr;
    bool is_lent = false;
  };

  static void on_done(PutCompletion* self, bool ok) noexcept {
    auto* buffer = static_cast<Buffer*>(self);
    SourceBuffers* owner = buffer->owner;
    if (!ok) owner->has_failed_ = true;
    owner->give_back(static_cast<std::uint32_t>(buffer - owner->buffers_.get()));
  }
  void give_back(std::uint32_t index) noexcept {
    buffers_[index].is_lent = false;
    --lent_;
  }

  std::byte* memory_;
  std::size_t buffer_bytes_;
  std::unique_ptr<Buffer[]> buffers_;
  std::uint32_t lent_ = 0;
  bool has_failed_ = false;
};

}  // namespace ina::core
