// answer_queue.hpp: what a connection still has to send to its peer for READs and atomics, in PSN order.
// Used by Responder. A repeated request joins what is still to be sent of the first one, so that repetitions do not multiply packets.
// Does not read memory: an answer tells address and rkey.
#pragma once

#include <array>
#include <cstdint>

namespace ina::engine {

struct Answer {
  enum class Kind : std::uint8_t { kRead, kAtomic };
  Kind kind = Kind::kRead;
  bool is_first = true;       // no packet of it was sent yet
  bool is_repetition = false;
  std::uint32_t psn = 0;      // of the next packet
  std::uint32_t packets = 1;  // still to be sent
  std::uint32_t bytes = 0;    // still to be sent
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;  // READ: of the next byte
  std::uint64_t original = 0; // atomic: the value before
};

class AnswerQueue {
 public:
  // As many requests as a peer may have outstanding.
  static constexpr std::size_t kMost = 16;

  [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }
  [[nodiscard]] const Answer& front() const noexcept { return answers_[0]; }
  // False: there are kMost that the peer has not been sent once.
  [[nodiscard]] bool has_room() const noexcept;
  [[nodiscard]] bool add(const Answer&) noexcept;
  // A request that was answered, or will be. Where no place is left it is forgotten: the peer asks again.
  void repeat(const Answer&) noexcept;
  // One packet of the front was sent, with so many bytes.
  void advance(std::uint32_t bytes) noexcept;
  // That packet was not sent after all. Those behind it were given back before.
  void give_back(const Answer& packet, bool is_last) noexcept;
  void remove_front() noexcept { remove(0); }
  void clear() noexcept { size_ = 0; }

 private:
  void insert(std::size_t place, const Answer&) noexcept;
  void remove(std::size_t place) noexcept;

  std::array<Answer, kMost> answers_;
  std::size_t size_ = 0;
};

}  // namespace ina::engine
