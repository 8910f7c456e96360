#include "ucx_tl/engine/answer_queue.hpp"

#include <algorithm>

#include "wire/roce.hpp"

namespace ina::engine {
namespace {

std::uint32_t end_of(const Answer& answer) noexcept { return wire::psn_add(answer.psn, answer.packets); }

}  // namespace

void AnswerQueue::insert(std::size_t place, const Answer& answer) noexcept {
  std::copy_backward(answers_.begin() + static_cast<std::ptrdiff_t>(place), answers_.begin() + static_cast<std::ptrdiff_t>(size_),
                     answers_.begin() + static_cast<std::ptrdiff_t>(size_ + 1));
  answers_[place] = answer;
  ++size_;
}

void AnswerQueue::remove(std::size_t place) noexcept {
  std::copy(answers_.begin() + static_cast<std::ptrdiff_t>(place + 1), answers_.begin() + static_cast<std::ptrdiff_t>(size_),
            answers_.begin() + static_cast<std::ptrdiff_t>(place));
  --size_;
}

bool AnswerQueue::has_room() const noexcept {
  return size_ != kMost || std::any_of(answers_.begin(), answers_.end(), [](const Answer& candidate) { return candidate.is_repetition; });
}

bool AnswerQueue::add(const Answer& answer) noexcept {
  if (size_ == kMost) {
    // Repetitions may be of requests that the peer has long finished with.
    const auto repetition = std::find_if(answers_.begin(), answers_.end(), [](const Answer& candidate) { return candidate.is_repetition; });
    if (repetition == answers_.end()) return false;
    remove(static_cast<std::size_t>(repetition - answers_.begin()));
  }
  insert(size_, answer);
  return true;
}

void AnswerQueue::repeat(const Answer& answer) noexcept {
  std::size_t place = 0;
  for (; place < size_ && wire::psn_distance(answers_[place].psn, end_of(answer)) < 0; ++place) {
    Answer& queued = answers_[place];
    if (end_of(queued) != end_of(answer)) continue;
    if (wire::psn_distance(answer.psn, queued.psn) >= 0) return;  // still to be sent
    const bool is_repetition = queued.is_repetition;
    queued = answer;
    queued.is_repetition = is_repetition;
    return;
  }
  if (size_ != kMost) insert(place, answer);
}

void AnswerQueue::advance(std::uint32_t bytes) noexcept {
  Answer& front = answers_[0];
  if (--front.packets == 0) return remove(0);
  front.psn = wire::psn_add(front.psn, 1);
  front.address += bytes;
  front.bytes -= bytes;
  front.is_first = false;
}

void AnswerQueue::give_back(const Answer& packet, bool is_last) noexcept {
  if (!is_last && size_ != 0 && answers_[0].psn == wire::psn_add(packet.psn, 1)) {
    const Answer behind = answers_[0];
    answers_[0] = packet;
    answers_[0].packets = behind.packets + 1;
    answers_[0].bytes = behind.bytes + packet.bytes;
    return;
  }
  Answer alone = packet;
  alone.packets = 1;
  if (size_ != kMost) insert(0, alone);
}

}  // namespace ina::engine
