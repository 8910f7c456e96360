// engine_memory_test.cpp: what a connection costs while nothing happens on it, before its first message and after its last.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>

#include "test/engine/test_network.hpp"

namespace {

std::size_t allocated = 0;

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  allocated += malloc_usable_size(memory);
  return memory;
}
void release(void* memory) noexcept {
  if (memory != nullptr) allocated -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(std::malloc(bytes)); }
void* operator new[](std::size_t bytes) { return counted(std::malloc(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(std::malloc(bytes)); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted(std::malloc(bytes)); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }

namespace ina::engine::test {
namespace {

constexpr std::size_t kConnections = 1000;
constexpr std::size_t kLimit = 2048;  // half of what an endpoint may cost with what UCX keeps for it

TEST(EngineMemory, AThousandIdleConnectionsAreSmallBeforeAndAfterUse) {
  VirtualClock clock;
  TestNetwork network(clock, 1);
  Host a(network, clock, 1);
  Host b(network, clock, 2);
  std::vector<Qp*> qps;
  qps.reserve(kConnections);
  const std::size_t before = allocated;
  for (std::size_t i = 0; i < kConnections; ++i) {
    qps.push_back(a.engine.create_qp());
    Qp* const peer = b.engine.create_qp();
    ASSERT_TRUE(a.engine.connect(*qps.back(), address(2), b.engine.address(*peer)));
    ASSERT_TRUE(b.engine.connect(*peer, address(1), a.engine.address(*qps.back())));
  }
  const std::size_t unused = allocated - before;
  RecordProperty("bytes_unused", static_cast<int>(unused / (2 * kConnections)));
  EXPECT_LT(unused / (2 * kConnections), kLimit);

  Message message;
  message.remote_address = reinterpret_cast<std::uintptr_t>(b.area.data());
  message.rkey = b.rkey;
  message.pieces[0] = {.address = a.area.data(), .bytes = 8};
  message.piece_count = 1;
  message.length = 8;
  for (Qp* qp : qps) {
    for (std::uint32_t i = 0; i < Requester::kQueueMessages; ++i) ASSERT_EQ(a.engine.post(*qp, message), PostStatus::kPosted);
  }
  EXPECT_GT(allocated - before, kConnections * Requester::kQueueMessages * sizeof(Message));
  for (int i = 0; i < 5000 && std::any_of(qps.begin(), qps.end(), [](const Qp* qp) { return !qp->requester.is_idle(); }); ++i) {
    a.progress();
    b.progress();
    clock.advance(100 * kMicrosecond);
  }
  for (const Qp* qp : qps) ASSERT_TRUE(qp->requester.is_idle());
  for (int i = 0; i < 20; ++i) {  // two seconds
    a.progress();
    b.progress();
    clock.advance(100 * kMillisecond);
  }
  for (const Qp* qp : qps) EXPECT_EQ(qp->requester.queue_bytes(), 0u);

  network.forget_packets();
  EXPECT_LT((allocated - before) / (2 * kConnections), kLimit) << "what the network in memory still holds included";
}

TEST(EngineMemory, QueueInUseIsKeptAndATickFreesNothing) {
  Pair pair;
  std::vector<std::byte> payload(8);
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, Pair::send(payload, &pair)), PostStatus::kPosted);
  pair.settle();
  for (int i = 0; i < 10; ++i) {
    pair.clock.advance(kSecond);
    pair.a.engine.tick();
  }
  EXPECT_GT(pair.qp_a->requester.queue_bytes(), 0u) << "a signal may have interrupted malloc";
  for (int i = 0; i < 4; ++i) pair.step(kSecond);
  EXPECT_EQ(pair.qp_a->requester.queue_bytes(), 0u);
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, Pair::send(payload, &pair)), PostStatus::kPosted);
  pair.network.faults.loss = 1;
  for (int i = 0; i < 50; ++i) pair.step(100 * kMillisecond);
  pair.network.faults.loss = 0;
  EXPECT_TRUE(pair.run_until([&] { return pair.a.completions.size() == 2; }));
}

}  // namespace
}  // namespace ina::engine::test
