// xdp_frames.hpp: the packet memory that all AF_XDP ports of a switch share, and who still needs which frame of it.
// Used by XdpPort: a frame that came in at one port goes out at others as it lies there.
// Knows nothing of rings; is used by one thread, and never allocates after its construction.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "net/xdp_socket.hpp"

namespace ina::softswitch {

class XdpFrames {
 public:
  using Index = std::uint32_t;

  explicit XdpFrames(std::uint32_t frames) : memory_(frames), users_(frames, 0) {  // throws net::Error
    free_.reserve(frames);
    for (Index i = frames; i-- > 0;) free_.push_back(i);
  }

  [[nodiscard]] const net::PacketMemory& memory() const noexcept { return memory_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return memory_.frames(); }
  [[nodiscard]] std::byte* bytes(Index frame) const noexcept { return memory_.at(address(frame)); }
  [[nodiscard]] static std::uint64_t address(Index frame) noexcept { return std::uint64_t{frame} * net::PacketMemory::kFrameBytes; }
  [[nodiscard]] static Index index(std::uint64_t address) noexcept { return static_cast<Index>(address / net::PacketMemory::kFrameBytes); }
  // Where these bytes begin in the packet memory; nullopt: elsewhere.
  [[nodiscard]] std::optional<std::uint64_t> find(std::span<const std::byte> bytes) const noexcept {
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data()), memory = reinterpret_cast<std::uintptr_t>(memory_.all().data());
    if (begin < memory || begin - memory >= memory_.all().size()) return std::nullopt;
    return begin - memory;
  }

  // A frame that nobody uses, with one user from now on. The last one to give it back is taken first: it is still in a cache.
  [[nodiscard]] std::optional<Index> take() noexcept {
    if (free_.empty()) return std::nullopt;
    const Index frame = free_.back();
    free_.pop_back();
    users_[frame] = 1;
    return frame;
  }
  void hold(Index frame) noexcept {
    assert(users_[frame] != 0);
    ++users_[frame];
  }
  void release(Index frame) noexcept {
    assert(users_[frame] != 0);
    if (--users_[frame] == 0) free_.push_back(frame);  // within the reserved capacity
  }
  [[nodiscard]] std::size_t free() const noexcept { return free_.size(); }

 private:
  net::PacketMemory memory_;
  std::vector<std::uint16_t> users_;  // a kernel's ring, or a port that has handed the frame out
  std::vector<Index> free_;
};

}  // namespace ina::softswitch
