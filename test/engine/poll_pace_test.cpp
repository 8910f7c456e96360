// poll_pace_test.cpp: when asking for packets is put off, and when never.
#include <gtest/gtest.h>

#include "ucx_tl/engine/poll_pace.hpp"

namespace ina::engine {
namespace {

constexpr Nanoseconds kStart = kSecond;

struct PollPaceTest : testing::Test {
  // Batches of a stream that comes in at a packet a microsecond.
  void receive_stream(std::size_t packets) {
    for (; packets >= 8; packets -= 8) pace.on_received(8, 0, 0, now += 8 * kMicrosecond);
  }
  PollPace pace;
  Nanoseconds now = kStart;
};

TEST_F(PollPaceTest, ExchangeOfSingleMessagesIsNeverPutOff) {
  for (int i = 0; i < 1000; ++i) {
    pace.on_sent(0, now);
    pace.on_received(1, 1, 0, now += 3 * kMicrosecond);
    EXPECT_TRUE(pace.is_due(now)) << i;
  }
}

TEST_F(PollPaceTest, StreamThatIsOnlyReceivedIsTakenInBatches) {
  receive_stream(400);
  EXPECT_FALSE(pace.is_due(now));
  EXPECT_TRUE(pace.is_due(now + 40 * kMicrosecond));
}

TEST_F(PollPaceTest, FirstPacketsOfAStreamAreNotPutOff) {
  receive_stream(64);
  EXPECT_TRUE(pace.is_due(now));
}

TEST_F(PollPaceTest, MessageOfOursEndsTheStream) {
  receive_stream(400);
  pace.on_sent(0, now);
  pace.on_received(1, 1, 0, now += 50 * kMicrosecond);
  EXPECT_TRUE(pace.is_due(now));
}

TEST_F(PollPaceTest, PauseEndsTheStream) {
  receive_stream(400);
  pace.on_received(0, 0, 0, now += 100 * kMicrosecond);
  pace.on_received(1, 0, 0, now += kMillisecond);
  EXPECT_TRUE(pace.is_due(now));
}

TEST_F(PollPaceTest, SleeperIsServedAtOnce) {
  receive_stream(400);
  pace.poll_now();
  EXPECT_TRUE(pace.is_due(now));
}

}  // namespace
}  // namespace ina::engine
