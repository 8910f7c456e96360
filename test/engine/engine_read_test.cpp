// engine_read_test.cpp: READs and atomics between two engines: losses, others beside them, memory that goes.
#include <gtest/gtest.h>

#include "test/engine/test_network.hpp"

namespace ina::engine::test {
namespace {

constexpr std::size_t kMtu = 1024;

Message read(Pair& pair, std::span<std::byte> into, std::size_t offset, void* token) {
  Message message = pair.write(into, offset, token);
  message.kind = MessageKind::kRead;
  return message;
}

void fill(std::vector<std::byte>& area, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::byte& byte : area) byte = static_cast<std::byte>(random());
}

// Virtual time that four long READs take. Both sides progress every 5 us, the path takes 20 us.
Nanoseconds time_of_reads(double loss, std::uint64_t seed) {
  Pair pair(seed, EngineOptions{.mtu = 4096});
  fill(pair.b.area, seed);
  pair.network.delay = 20 * kMicrosecond;
  pair.network.faults.loss = loss;
  std::vector<std::vector<std::byte>> into(4, std::vector<std::byte>(1 << 20));
  const Nanoseconds begin = pair.clock.now();
  for (auto& destination : into) EXPECT_EQ(pair.a.engine.post(*pair.qp_a, read(pair, destination, 0, &pair)), PostStatus::kPosted);
  while (pair.a.completions.size() < 4 && pair.clock.now() < begin + 10 * kSecond) pair.step(5 * kMicrosecond);
  for (const auto& destination : into) EXPECT_TRUE(destination == pair.b.area);
  return pair.clock.now() - begin;
}

TEST(EngineRead, LostAnswersDoNotWaitForTimeouts) {
  Nanoseconds total = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) total += time_of_reads(0.01, seed);
  EXPECT_LT(total / 10, 8 * kMillisecond);
}

TEST(EngineRead, AnswersFillThePath) {
  // Four times 1 MiB, 256 packets in 50 us.
  EXPECT_LT(time_of_reads(0, 1), kMillisecond);
}

TEST(EngineRead, LossOfAnySinglePacketIsRecoveredWithinMilliseconds) {
  for (int lost = 0; lost < 30; ++lost) {
    Pair pair;
    fill(pair.b.area, 3);
    int count = 0;
    pair.network.tap = [&](const CapturedPacket&) { return count++ != lost; };
    std::vector<std::byte> into(20 * kMtu);
    ASSERT_EQ(pair.a.engine.post(*pair.qp_a, read(pair, into, 100, &pair)), PostStatus::kPosted);
    EXPECT_TRUE(pair.run_until([&] { return !pair.a.completions.empty(); }, 12 * kMillisecond)) << "packet " << lost;
    EXPECT_TRUE(std::equal(into.begin(), into.end(), pair.b.area.begin() + 100));
  }
}

TEST(EngineRead, OneLossCostsAboutOneWindow) {
  Pair pair;
  fill(pair.b.area, 3);
  std::uint64_t answers = 0;
  pair.network.tap = [&](const CapturedPacket& packet) { return packet.from != address(2) || ++answers != 100; };
  std::vector<std::byte> into(1 << 20);
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, read(pair, into, 0, &pair)), PostStatus::kPosted);
  ASSERT_TRUE(pair.run_until([&] { return !pair.a.completions.empty(); }));
  EXPECT_TRUE(into == pair.b.area);
  EXPECT_LE(answers, into.size() / kMtu + 300) << "answers that were on their way are not asked for again and again";
}

TEST(EngineRead, OthersHaveTheirTurnBesideALongRead) {
  Pair pair(1, EngineOptions{.mtu = 1024});
  std::vector<std::byte> large(64 << 20);
  const std::uint32_t rkey = *pair.b.memory.add(large.data(), large.size());
  Qp* const second_a = pair.a.engine.create_qp();
  Qp* const second_b = pair.b.engine.create_qp();
  ASSERT_TRUE(pair.a.engine.connect(*second_a, address(2), pair.b.engine.address(*second_b)));
  ASSERT_TRUE(pair.b.engine.connect(*second_b, address(1), pair.a.engine.address(*second_a)));
  std::vector<std::byte> into(large.size());
  Message message = read(pair, into, 0, nullptr);
  message.remote_address = reinterpret_cast<std::uintptr_t>(large.data());
  message.rkey = rkey;
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, message), PostStatus::kPosted);
  for (int i = 0; i < 10; ++i) pair.step();
  std::vector<std::byte> payload(100);
  const Nanoseconds begin = pair.clock.now();
  ASSERT_EQ(pair.a.engine.post(*second_a, Pair::send(payload, &pair)), PostStatus::kPosted);
  ASSERT_TRUE(pair.run_until([&] { return pair.a.completions.size() == 1; }));
  EXPECT_LT(pair.clock.now() - begin, 200 * kMicrosecond);
  EXPECT_GT(pair.qp_a->requester.in_flight(), 0u) << "or this test says nothing";
}

TEST(EngineRead, MemoryThatGoesFailsTheReadAndIsNotTouched) {
  Pair pair;
  fill(pair.b.area, 5);
  std::vector<std::byte> into(1 << 20);
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, read(pair, into, 0, &pair)), PostStatus::kPosted);
  for (int i = 0; i < 4; ++i) pair.step();
  ASSERT_TRUE(pair.b.memory.remove(pair.b.rkey));
  ASSERT_TRUE(pair.run_until([&] { return !pair.a.failures.empty(); }));
  ASSERT_EQ(pair.a.completions.size(), 1u);
  EXPECT_EQ(pair.a.completions[0].error, QpError::kRemoteAccess);
}

TEST(EngineRead, TickAloneAnswersAndReads) {
  Pair pair;
  fill(pair.b.area, 6);
  pair.network.faults.loss = 0.1;
  std::vector<std::byte> into(100 * kMtu);
  ASSERT_EQ(pair.a.engine.post(*pair.qp_a, read(pair, into, 0, &pair)), PostStatus::kPosted);
  for (int i = 0; i < 5000 && !pair.qp_a->has_event(); ++i) {
    pair.a.engine.tick();
    pair.b.engine.tick();
    pair.clock.advance(4 * kMillisecond);
  }
  EXPECT_TRUE(std::equal(into.begin(), into.end(), pair.b.area.begin()));
}

TEST(EngineRead, CountersOfManyConnectionsAddUp) {
  VirtualClock clock;
  TestNetwork network(clock, 7);
  network.faults = {.loss = 0.05, .duplicate = 0.05, .reorder = 0.05, .corrupt = 0.02};
  Host target(network, clock, 1);
  std::vector<std::unique_ptr<Host>> hosts;
  std::vector<Qp*> qps;
  constexpr std::size_t kAdds = 200;
  for (std::uint8_t i = 2; i < 10; ++i) {
    hosts.push_back(std::make_unique<Host>(network, clock, i));
    qps.push_back(hosts.back()->engine.create_qp());
    Qp* const peer = target.engine.create_qp();
    ASSERT_TRUE(hosts.back()->engine.connect(*qps.back(), address(1), target.engine.address(*peer)));
    ASSERT_TRUE(target.engine.connect(*peer, address(i), hosts.back()->engine.address(*qps.back())));
  }
  Message message;
  message.kind = MessageKind::kFetchAdd;
  message.length = 8;
  message.operand = 3;
  message.token = &target;
  message.remote_address = reinterpret_cast<std::uintptr_t>(target.area.data());
  message.rkey = target.rkey;
  for (std::size_t i = 0; i < qps.size(); ++i) {
    for (std::size_t n = 0; n < kAdds; ++n) ASSERT_EQ(hosts[i]->engine.post(*qps[i], message), PostStatus::kPosted);
  }
  const auto is_done = [&] { return std::all_of(hosts.begin(), hosts.end(), [](const auto& host) { return host->completions.size() == kAdds; }); };
  for (int step = 0; step < 200000 && !is_done(); ++step) {
    target.progress();
    for (const auto& host : hosts) host->progress();
    clock.advance(10 * kMicrosecond);
  }
  EXPECT_TRUE(is_done());
  std::uint64_t sum;
  std::memcpy(&sum, target.area.data(), sizeof sum);
  EXPECT_EQ(sum, 3 * kAdds * qps.size());
}

}  // namespace
}  // namespace ina::engine::test
