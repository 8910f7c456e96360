// engine_thread_test.cpp: ticks from a second thread while the first one reads what arrives without a lock.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <mutex>
#include <thread>

#include "test/engine/test_network.hpp"

namespace ina::engine::test {
namespace {

// Ticks both engines from a second thread, under a lock as UCX's asynchronous context has one.
class Ticker {
 public:
  explicit Ticker(Pair& pair) : pair_(pair), thread_([this] { run(); }) {}
  ~Ticker() {
    stop_ = true;
    thread_.join();
  }
  std::mutex mutex;

 private:
  void run() {
    while (!stop_) {
      {
        const std::lock_guard lock(mutex);
        pair_.a.engine.tick();
        pair_.b.engine.tick();
        pair_.clock.advance(5 * kMicrosecond);
      }
      std::this_thread::yield();  // an unfair mutex would be taken again at once
    }
  }
  Pair& pair_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(EngineThreads, TrailerIsSeenAfterEverythingBeforeIt) {
  constexpr std::uint32_t kRounds = 300;
  constexpr std::size_t kBytes = 512;
  Pair pair;
  std::vector<std::byte> source(kBytes);  // outlives the ticker, which may send it again until it is stopped
  Ticker ticker(pair);
  // The last aligned word is stored in one piece, and read so: the trailer is its second half.
  auto* const last_word = reinterpret_cast<std::uint64_t*>(pair.b.area.data() + kBytes - 8);
  const auto trailer = [&] {
    const std::uint64_t word = __atomic_load_n(last_word, __ATOMIC_ACQUIRE);
    std::uint32_t value;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(&word) + 4, sizeof value);
    return value;
  };
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    std::fill(source.begin(), source.end() - 4, static_cast<std::byte>(round));
    std::memcpy(source.data() + kBytes - 4, &round, 4);
    const std::size_t completed = pair.a.completions.size();
    {
      const std::lock_guard lock(ticker.mutex);
      ASSERT_EQ(pair.a.engine.post(*pair.qp_a, pair.write(source, 0, &pair)), PostStatus::kPosted);
    }
    while (trailer() != round) std::this_thread::yield();
    ASSERT_TRUE(std::equal(source.begin(), source.end() - 8, pair.b.area.begin())) << round;
    while (pair.a.completions.size() == completed) {
      const std::lock_guard lock(ticker.mutex);
      pair.a.engine.report(pair.a);
    }
  }
}

TEST(EngineThreads, RegistrationIsSafeWhileTicksReceive) {
  Pair pair;
  std::vector<std::byte> source(100);
  std::vector<std::byte> other(100);
  Ticker ticker(pair);  // the last one: it sends from `source` until it is stopped
  for (int i = 0; i < 500; ++i) {
    const auto rkey = pair.b.memory.add(other.data(), other.size());
    ASSERT_TRUE(rkey);
    {
      const std::lock_guard lock(ticker.mutex);
      ASSERT_EQ(pair.a.engine.post(*pair.qp_a, pair.write(source, 0, &pair)), PostStatus::kPosted);
      pair.a.engine.report(pair.a);
    }
    ASSERT_TRUE(pair.b.memory.remove(*rkey));
    while (pair.a.completions.size() + 100 < static_cast<std::size_t>(i)) {
      const std::lock_guard lock(ticker.mutex);
      pair.a.engine.report(pair.a);
    }
  }
}

TEST(EngineThreads, MemoryIsNotReadOnceItsDeregistrationHasReturned) {
  constexpr std::size_t kBytes = 256 << 10;
  unsigned completed = 0;
  for (unsigned round = 0; round < 60; ++round) {
    Pair pair(round + 1);
    std::vector<std::byte> into(kBytes);
    void* const mapping = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapping, MAP_FAILED);
    std::memset(mapping, 0x7e, kBytes);
    const auto rkey = pair.b.memory.add(static_cast<std::byte*>(mapping), kBytes);
    ASSERT_TRUE(rkey);
    Message message = pair.write(into, 0, &pair);
    message.kind = MessageKind::kRead;
    message.remote_address = reinterpret_cast<std::uintptr_t>(mapping);
    message.rkey = *rkey;
    Ticker ticker(pair);
    {
      const std::lock_guard lock(ticker.mutex);
      ASSERT_EQ(pair.a.engine.post(*pair.qp_a, message), PostStatus::kPosted);
    }
    for (unsigned i = 0; i < round; ++i) std::this_thread::yield();
    ASSERT_TRUE(pair.b.memory.remove(*rkey));
    munmap(mapping, kBytes);  // whoever reads it now crashes
    while (pair.a.completions.empty()) {
      const std::lock_guard lock(ticker.mutex);
      pair.a.engine.report(pair.a);
    }
    const QpError error = pair.a.completions[0].error;
    EXPECT_TRUE(error == QpError::kNone || error == QpError::kRemoteAccess);
    if (error != QpError::kNone) continue;
    ++completed;
    EXPECT_TRUE(std::all_of(into.begin(), into.end(), [](std::byte b) { return b == std::byte{0x7e}; }));
  }
  RecordProperty("completed", static_cast<int>(completed));
}

}  // namespace
}  // namespace ina::engine::test
