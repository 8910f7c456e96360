// allocation_test.cpp: nothing is allocated between activate() and remove(), whatever comes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "test/aggregator/ring.hpp"

namespace {
std::size_t allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace ina::test {
namespace {

class Counter final : public aggregator::Emitter {
 public:
  void emit(const aggregator::MadePacket&) noexcept override { ++made; }
  std::size_t made = 0;
};

struct Step {
  Bytes bytes;
  aggregator::Endpoint source, destination;
};

TEST(Allocation, NoneAfterActivation) {
  Ring ring;
  ring.spec.members = 8;
  ring.spec.window = 4;
  ring.spec.first_seq = 0u - 8;
  aggregator::Aggregator aggregator({});
  Counter emitter;
  std::vector<Step> binds, stream;
  const Bytes lanes(512);
  for (std::uint16_t i = 0; i < 8; ++i) {
    binds.push_back({ring.forward_bind(i), ring.sender(i), ring.receiver(i)});
    binds.push_back({ring.backward_bind(i), ring.receiver(i), ring.sender(i)});
  }
  for (std::uint32_t k = 0; k < 100; ++k) {
    const std::uint32_t seq = ring.spec.first_seq + k;
    for (std::uint16_t i = 8; i-- > 0;) {  // against member order: floats wait
      for (const std::uint32_t each : {seq + 2, seq, seq - 1}) {
        stream.push_back({ring.contribution(i, each, lanes, wire::LaneType::kFloat32), ring.sender(i), ring.receiver(i)});
      }
    }
    for (std::uint16_t i = 0; i < 8; ++i) {
      stream.push_back({ring.acknowledgement(i, seq, wire::kSyndromeNakSequence), ring.receiver(i), ring.sender(i)});
      stream.push_back({ring.acknowledgement(i, seq), ring.receiver(i), ring.sender(i)});
    }
  }
  ASSERT_TRUE(aggregator.prepare(ring.spec));
  for (const Step& step : binds) (void)aggregator.receive({*wire::decode_packet(step.bytes), step.source, step.destination, true}, emitter);
  ASSERT_TRUE(aggregator.activate(ring.spec.group));
  const std::size_t before = allocations;
  for (const Step& step : stream) (void)aggregator.receive({*wire::decode_packet(step.bytes), step.source, step.destination, true}, emitter);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(aggregator.counters(ring.spec.group).results, 100u);
  EXPECT_GT(emitter.made, 800u);
}

}  // namespace
}  // namespace ina::test
