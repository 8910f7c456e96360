// engine_model_test.cpp: thousands of random steps over a faulty network; what arrives is compared with a model after each run.
#include <gtest/gtest.h>

#include <cstdlib>

#include "test/engine/test_network.hpp"

namespace ina::engine::test {
namespace {

// One direction of a connection: what was posted, and what must come of it.
class Direction {
 public:
  Direction(Host& from, Qp* qp, Host& to, std::mt19937_64& random) : from_(from), qp_(qp), to_(to), random_(random), model_(to.area) {}

  void post_something() {
    const std::size_t longest = random_() % 4 == 0 ? 20000 : 1500;
    const std::size_t bytes = 1 + random_() % longest;
    const bool is_write = random_() % 2 == 0 || bytes > 8192;
    sources_.push_back(random_bytes(random_, bytes));
    const auto& source = sources_.back();
    Message message;
    message.kind = is_write ? MessageKind::kWrite : MessageKind::kSend;
    const std::size_t cut = random_() % bytes;
    message.pieces[0] = {.address = source.data(), .bytes = cut};
    message.pieces[1] = {.address = source.data() + cut, .bytes = bytes - cut};
    message.piece_count = 2;
    message.length = static_cast<std::uint32_t>(bytes);
    message.token = reinterpret_cast<void*>(posted_ + 1);
    const std::size_t offset = random_() % (model_.size() - bytes);
    message.remote_address = reinterpret_cast<std::uintptr_t>(to_.area.data()) + offset;
    message.rkey = to_.rkey;
    if (from_.engine.post(*qp_, message) != PostStatus::kPosted) {
      sources_.pop_back();
      return;
    }
    ++posted_;
    if (is_write) {
      std::copy(source.begin(), source.end(), model_.begin() + static_cast<std::ptrdiff_t>(offset));
    } else {
      messages_.push_back(source);
    }
  }
  [[nodiscard]] bool is_done() const { return from_.completions.size() == posted_; }
  void check() const {
    ASSERT_TRUE(is_done()) << from_.completions.size() << " of " << posted_;
    for (std::uintptr_t i = 0; i < posted_; ++i) {
      EXPECT_EQ(from_.completions[i].token, reinterpret_cast<void*>(i + 1));
      EXPECT_EQ(from_.completions[i].error, QpError::kNone);
    }
    EXPECT_TRUE(to_.area == model_);
    EXPECT_TRUE(to_.messages == messages_);
  }

 private:
  Host& from_;
  Qp* qp_;
  Host& to_;
  std::mt19937_64& random_;
  std::vector<std::byte> model_;
  std::deque<std::vector<std::byte>> sources_;
  std::deque<std::vector<std::byte>> messages_;
  std::uintptr_t posted_ = 0;
};

void run(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  EngineOptions options;
  options.receive_buffers = 1 + static_cast<std::uint32_t>(random() % 16);
  options.requester.window = 16 + static_cast<std::uint32_t>(random() % 200);
  Pair pair(seed, options);
  const double level = static_cast<double>(random() % 4) * 0.03;
  pair.network.faults = {.loss = level, .duplicate = level, .reorder = level, .corrupt = level};
  pair.network.send_limit = 1 + random() % kBatchPackets;
  pair.network.queue_limit = 20 + random() % 300;
  Direction right(pair.a, pair.qp_a, pair.b, random);
  Direction left(pair.b, pair.qp_b, pair.a, random);
  for (int i = 0; i < 2000; ++i) {
    switch (random() % 8) {
      case 0: right.post_something(); break;
      case 1: left.post_something(); break;
      case 2: pair.a.engine.tick(); break;
      case 3: pair.b.engine.tick(); break;
      case 4: pair.a.progress(); break;
      case 5: pair.b.progress(); break;
      default: pair.step(random() % (100 * kMicrosecond)); break;
    }
  }
  EXPECT_TRUE(pair.run_until([&] { return right.is_done() && left.is_done(); }));
  pair.settle();
  right.check();
  left.check();
}

TEST(EngineModel, EverythingArrivesOnceAndInOrderUnderAnyFaults) {
  const char* chosen = std::getenv("INA_TEST_SEED");
  if (chosen != nullptr) return run(std::strtoull(chosen, nullptr, 0));
  for (std::uint64_t seed = 1; seed <= 60 && !testing::Test::HasFailure(); ++seed) run(seed);
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
