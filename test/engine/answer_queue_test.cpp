// answer_queue_test.cpp: what is still to be sent for READs and atomics, after repetitions and packets that could not go.
#include "ucx_tl/engine/answer_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ina::engine {
namespace {

constexpr std::uint32_t kMtu = 256;

Answer read(std::uint32_t psn, std::uint32_t packets, bool is_repetition = false) {
  return {.is_repetition = is_repetition, .psn = psn & 0xffffff, .packets = packets, .bytes = packets * kMtu, .rkey = 1, .address = std::uint64_t{psn} * kMtu};
}

// Takes everything; the PSNs that go out.
std::vector<std::uint32_t> drain(AnswerQueue& queue) {
  std::vector<std::uint32_t> psns;
  while (!queue.is_empty()) {
    psns.push_back(queue.front().psn);
    EXPECT_EQ(queue.front().bytes, queue.front().packets * kMtu);
    queue.advance(kMtu);
  }
  return psns;
}

TEST(AnswerQueue, RepetitionOfWhatWasSentGoesFirst) {
  AnswerQueue queue;
  ASSERT_TRUE(queue.add(read(10, 2)));
  queue.repeat(read(3, 2, true));
  EXPECT_EQ(drain(queue), (std::vector<std::uint32_t>{3, 4, 10, 11}));
}

TEST(AnswerQueue, RepetitionOfWhatIsBeingSentGoesBackInIt) {
  AnswerQueue queue;
  ASSERT_TRUE(queue.add(read(0xfffffe, 4)));
  for (int i = 0; i < 3; ++i) queue.advance(kMtu);
  queue.repeat(read(0xffffff, 3, true));
  EXPECT_TRUE(queue.front().is_first);
  EXPECT_EQ(drain(queue), (std::vector<std::uint32_t>{0xffffff, 0, 1}));
}

TEST(AnswerQueue, WhatIsGivenBackJoinsTheRest) {
  AnswerQueue queue;
  ASSERT_TRUE(queue.add(read(5, 3)));
  ASSERT_TRUE(queue.add(read(8, 1)));
  std::vector<Answer> sent;
  for (int i = 0; i < 4; ++i) {
    sent.push_back(queue.front());
    sent.back().bytes = kMtu;
    queue.advance(kMtu);
  }
  EXPECT_TRUE(queue.is_empty());
  queue.give_back(sent[3], true);
  queue.give_back(sent[2], true);
  queue.give_back(sent[1], false);
  EXPECT_FALSE(queue.front().is_first);
  EXPECT_EQ(queue.front().packets, 2u);
  EXPECT_EQ(drain(queue), (std::vector<std::uint32_t>{6, 7, 8}));
}

TEST(AnswerQueue, NewRequestsPushRepetitionsOut) {
  AnswerQueue queue;
  for (std::uint32_t i = 0; i < AnswerQueue::kMost; ++i) queue.repeat(read(2 * i, 1, true));
  queue.repeat(read(100, 1, true));
  for (std::uint32_t i = 0; i < AnswerQueue::kMost; ++i) ASSERT_TRUE(queue.add(read(200 + i, 1)));
  EXPECT_FALSE(queue.has_room());
  EXPECT_FALSE(queue.add(read(300, 1)));
  EXPECT_EQ(drain(queue).front(), 200u);
}

}  // namespace
}  // namespace ina::engine
