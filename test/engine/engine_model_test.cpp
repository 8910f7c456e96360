// engine_model_test.cpp: thousands of random steps over a faulty network; what arrives is compared with a model after each run.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "test/engine/test_network.hpp"

namespace ina::engine::test {
namespace {

// One direction of a connection: what was posted, and what must come of it. Messages are executed in the order in which they are posted, so the model
// executes each when it is posted. READs alone may see what is written later: a WRITE or atomic behind one waits for it (Message::fence).
class Direction {
 public:
  Direction(Host& from, Qp* qp, Host& to, std::mt19937_64& random) : from_(from), qp_(qp), to_(to), random_(random), model_(to.area) {}

  void post_something() {
    switch (random_() % 6) {
      case 0:
      case 1: return post(MessageKind::kWrite, any_length(20000));
      case 2: return post(MessageKind::kSend, random_() % 8193);
      case 3: return post(MessageKind::kRead, any_length(40000));
      case 4: return post(MessageKind::kFetchAdd, 8);
      default: return post(MessageKind::kCompareSwap, 8);
    }
  }
  // What has completed is there now, and nothing around it was touched.
  void check_completions() {
    for (; checked_ < from_.completions.size(); ++checked_) {
      const Posted& posted = posted_[checked_];
      ASSERT_EQ(from_.completions[checked_].token, &posted) << checked_;
      ASSERT_EQ(from_.completions[checked_].error, QpError::kNone) << checked_;
      ASSERT_TRUE(posted.memory == posted.expected) << checked_ << " of kind " << static_cast<int>(posted.kind);
    }
  }
  [[nodiscard]] bool is_done() const { return from_.completions.size() == posted_.size(); }
  void check() {
    ASSERT_TRUE(is_done()) << from_.completions.size() << " of " << posted_.size();
    check_completions();
    for (const Posted& posted : posted_) ASSERT_TRUE(posted.memory == posted.expected);
    EXPECT_TRUE(to_.area == model_);
    EXPECT_TRUE(to_.messages == messages_);
  }

 private:
  static constexpr std::size_t kGuard = 24;
  struct Posted {
    MessageKind kind;
    std::vector<std::byte> memory;  // source or destination, with guards
    std::vector<std::byte> expected;
  };

  std::size_t any_length(std::size_t longest) {
    if (random_() % 50 == 0) return 0;
    return 1 + random_() % (random_() % 4 == 0 ? longest : 1500);
  }
  void post(MessageKind kind, std::size_t bytes) {
    Posted& posted = posted_.emplace_back(Posted{.kind = kind, .memory = random_bytes(random_, bytes + 2 * kGuard), .expected = {}});
    const bool is_atomic = kind == MessageKind::kFetchAdd || kind == MessageKind::kCompareSwap;
    std::size_t offset = random_() % (model_.size() - bytes + 1);
    if (is_atomic) offset = offset / 8 % 8 * 8;  // often the same ones
    Message message;
    message.kind = kind;
    message.fence = was_read_ && (kind == MessageKind::kWrite || is_atomic);
    const std::size_t cut = bytes == 0 || is_atomic ? bytes : random_() % bytes;
    message.pieces[0] = {.address = posted.memory.data() + kGuard, .bytes = cut};
    message.pieces[1] = {.address = posted.memory.data() + kGuard + cut, .bytes = bytes - cut};
    message.piece_count = is_atomic ? 1 : 2;
    message.length = static_cast<std::uint32_t>(bytes);
    message.token = &posted;
    message.remote_address = reinterpret_cast<std::uintptr_t>(to_.area.data()) + offset;
    message.rkey = to_.rkey;
    message.operand = random_() % 4;
    message.compare = random_() % 4;
    if (from_.engine.post(*qp_, message) != PostStatus::kPosted) return posted_.pop_back();
    execute(posted, message, offset);
  }
  void execute(Posted& posted, const Message& message, std::size_t offset) {
    posted.expected = posted.memory;
    const auto begin = model_.begin() + static_cast<std::ptrdiff_t>(offset);
    const auto local = posted.expected.begin() + static_cast<std::ptrdiff_t>(kGuard);
    was_read_ = message.kind == MessageKind::kRead || (was_read_ && !message.fence);
    switch (message.kind) {
      case MessageKind::kWrite: std::copy_n(local, message.length, begin); break;
      case MessageKind::kSend: messages_.emplace_back(local, local + static_cast<std::ptrdiff_t>(message.length)); break;
      case MessageKind::kRead: std::copy_n(begin, message.length, local); break;
      default: {
        std::uint64_t value;
        std::memcpy(&value, &*begin, sizeof value);
        std::memcpy(&*local, &value, sizeof value);
        if (message.kind == MessageKind::kFetchAdd) {
          value += message.operand;
        } else if (value == message.compare) {
          value = message.operand;
        }
        std::memcpy(&*begin, &value, sizeof value);
      }
    }
  }

  Host& from_;
  Qp* qp_;
  Host& to_;
  std::mt19937_64& random_;
  std::vector<std::byte> model_;
  std::deque<Posted> posted_;
  std::deque<std::vector<std::byte>> messages_;
  std::size_t checked_ = 0;
  bool was_read_ = false;
};

// How long the run took on its own clock.
Nanoseconds run(std::uint64_t seed, int steps) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  EngineOptions options;
  constexpr std::uint32_t kMtus[] = {256, 1024, 1440, 4096};
  options.mtu = kMtus[random() % std::size(kMtus)];
  options.receive_buffers = 1 + static_cast<std::uint32_t>(random() % 16);
  options.requester.window = 16 + static_cast<std::uint32_t>(random() % 200);
  Pair pair(seed, options);
  const Nanoseconds begin = pair.clock.now();
  const double level = static_cast<double>(random() % 4) * 0.03;
  pair.network.faults = {.loss = level, .duplicate = level, .reorder = level, .corrupt = level};
  pair.network.send_limit = 1 + random() % kBatchPackets;
  pair.network.queue_limit = 20 + random() % 300;
  for (std::byte& byte : pair.a.area) byte = static_cast<std::byte>(random());
  pair.b.area = pair.a.area;
  Direction right(pair.a, pair.qp_a, pair.b, random);
  Direction left(pair.b, pair.qp_b, pair.a, random);
  for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
    switch (random() % 8) {
      case 0: right.post_something(); break;
      case 1: left.post_something(); break;
      case 2: pair.a.engine.tick(); break;
      case 3: pair.b.engine.tick(); break;
      case 4: pair.a.progress(); break;
      case 5: pair.b.progress(); break;
      default: pair.step(random() % (100 * kMicrosecond)); break;
    }
    right.check_completions();
    left.check_completions();
  }
  EXPECT_TRUE(pair.run_until([&] { return right.is_done() && left.is_done(); }, 100 * kSecond));
  pair.settle();
  right.check();
  left.check();
  return pair.clock.now() - begin;
}

TEST(EngineModel, EverythingArrivesOnceAndInOrderUnderAnyFaults) {
  if (const char* chosen = std::getenv("INA_TEST_SEED"); chosen != nullptr) {
    (void)run(std::strtoull(chosen, nullptr, 0), 2000);
    return;
  }
  // INA_TEST_RUNS: for a machine that has the night.
  const char* wanted = std::getenv("INA_TEST_RUNS");
  const std::uint64_t runs = wanted != nullptr ? std::strtoull(wanted, nullptr, 0) : 60;
  Nanoseconds total = 0;
  for (std::uint64_t seed = 1; seed <= runs && !testing::Test::HasFailure(); ++seed) total += run(seed, 2000);
  std::printf("%llu runs, %.1f s on their own clocks\n", static_cast<unsigned long long>(runs), static_cast<double>(total) / kSecond);
}

TEST(EngineModel, PsnsWrapUnnoticed) {
  // First PSNs are drawn: look for a seed that starts close to the end.
  std::uint64_t seed = 1;
  for (;; ++seed) {
    Pair pair(seed);
    if (pair.qp_a->first_psn() > 0xfff000) break;
  }
  Pair pair(seed);
  std::mt19937_64 random(seed);
  pair.network.faults.loss = 0.01;
  Direction right(pair.a, pair.qp_a, pair.b, random);
  for (int i = 0; i < 5000; ++i) {
    right.post_something();
    if (i % 4 == 0) pair.step();
  }
  EXPECT_TRUE(pair.run_until([&] { return right.is_done(); }));
  right.check();
}

}  // namespace
}  // namespace ina::engine::test
