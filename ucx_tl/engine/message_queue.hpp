// message_queue.hpp: the messages of one connection from post() to their report, by number.
// Used by Requester. Takes no memory while nothing was ever posted, and doubles as more is outstanding: most of a thousand endpoints are idle.
// Does not shrink by itself: release() is for a time when nobody is in a hurry.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

#include "ucx_tl/engine/message.hpp"

namespace ina::engine {

class MessageQueue {
 public:
  static constexpr std::uint32_t kMost = 256;

  // Makes room for the message `end`, while those from `begin` on are kept. False: kMost are kept already, or memory is short.
  [[nodiscard]] bool make_room(std::uint64_t begin, std::uint64_t end) noexcept {
    if (end - begin < capacity_) return true;
    if (capacity_ == kMost) return false;
    const std::uint32_t larger = capacity_ == 0 ? kLeast : capacity_ * 2;
    std::unique_ptr<Message[]> messages(new (std::nothrow) Message[larger]);
    if (!messages) return false;
    for (std::uint64_t number = begin; number != end; ++number) messages[number % larger] = messages_[number % capacity_];
    messages_ = std::move(messages);
    capacity_ = larger;
    return true;
  }
  [[nodiscard]] Message& operator[](std::uint64_t number) noexcept { return messages_[number % capacity_]; }
  [[nodiscard]] const Message& operator[](std::uint64_t number) const noexcept { return messages_[number % capacity_]; }
  [[nodiscard]] std::size_t bytes() const noexcept { return capacity_ * sizeof(Message); }
  // Nothing is kept any more.
  void release() noexcept {
    messages_.reset();
    capacity_ = 0;
  }

 private:
  static constexpr std::uint32_t kLeast = 8;  // powers of two all of them, so that a message finds its place again when numbers wrap
  std::unique_ptr<Message[]> messages_;
  std::uint32_t capacity_ = 0;
};

}  // namespace ina::engine
