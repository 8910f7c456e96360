// aggregator_bench.cpp: the aggregator alone, in memory: 8 members, 1 KiB chunks of float32 in member order, beside memcpy of the same chunks.
// Run by test/perf/ratios, which holds the figure to reach.
// Does not compute ICRCs and does not decode RoCE headers: ports do that before, and the checks count the packets as valid.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>

#include "test/aggregator/ring.hpp"

namespace ina::test {
namespace {

constexpr std::size_t kChunkBytes = 1024;
constexpr std::uint16_t kMembers = 8;
constexpr std::uint32_t kWindow = 64;
constexpr std::uint32_t kRounds = 4 * kWindow;  // chunks of one pass: the stream then goes on with the next numbers

class Discard final : public aggregator::Emitter {
 public:
  void emit(const aggregator::MadePacket& packet) noexcept override { benchmark::DoNotOptimize(packet.lanes.data()); }
};

// The packets of one pass in the order in which they arrive: every member's in order, members as `order` says.
struct Stream {
  explicit Stream(bool is_shuffled) {
    ring.spec.members = kMembers;
    ring.spec.window = kWindow;
    ring.spec.first_seq = 0;
    ring.spec.payload = wire::kFramingBytes + kChunkBytes;
    ring.spec.place_bytes = 2048;
    std::mt19937 random(1);
    const Bytes lanes(kChunkBytes, std::byte{0x3f});
    std::vector<std::uint16_t> order(kMembers);
    for (std::uint16_t member = 0; member < kMembers; ++member) order[member] = member;
    for (std::uint32_t seq = 0; seq < kRounds; ++seq) {
      if (is_shuffled) std::shuffle(order.begin(), order.end(), random);
      for (const std::uint16_t member : order) {
        bytes.push_back(ring.contribution(member, seq, lanes, wire::LaneType::kFloat32));
        members.push_back(member);
      }
    }
  }
  Ring ring;
  std::vector<Bytes> bytes;
  std::vector<std::uint16_t> members;
};

void bind(aggregator::Aggregator& aggregator, const Ring& ring, aggregator::Emitter& emitter) {
  if (!aggregator.prepare(ring.spec)) std::abort();
  for (std::uint16_t i = 0; i < kMembers; ++i) {
    const Bytes forward = ring.forward_bind(i), backward = ring.backward_bind(i);
    (void)aggregator.receive({*wire::decode_packet(forward), ring.sender(i), ring.receiver(i), true}, emitter);
    (void)aggregator.receive({*wire::decode_packet(backward), ring.receiver(i), ring.sender(i), true}, emitter);
  }
  if (!aggregator.activate(ring.spec.group)) std::abort();
}

void aggregate(benchmark::State& state, bool is_shuffled) {
  Stream stream(is_shuffled);
  aggregator::Aggregator aggregator({.slots = 2 * kWindow});
  Discard discard;
  bind(aggregator, stream.ring, discard);
  std::vector<wire::Packet> packets;
  for (const Bytes& bytes : stream.bytes) packets.push_back(*wire::decode_packet(bytes));
  std::uint32_t base = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < packets.size(); ++i) {
      // The next pass has other numbers: three stores into the packet, as if it had just come in.
      const std::uint32_t seq = base + static_cast<std::uint32_t>(i / kMembers);
      wire::Packet& packet = packets[i];
      Bytes& bytes = stream.bytes[i];
      packet.bth.psn = stream.ring.psn(stream.members[i], seq);
      wire::store_be(&bytes[wire::kBthBytes + wire::kRethBytes + 16], seq);
      wire::store_be(&bytes[bytes.size() - wire::kIcrcBytes - wire::kTrailerBytes], seq);
      benchmark::DoNotOptimize(aggregator.receive({packet, stream.ring.sender(stream.members[i]), stream.ring.receiver(stream.members[i]), true}, discard));
    }
    base += kRounds;
  }
  const auto counters = aggregator.counters(stream.ring.spec.group);
  if (counters.results != state.iterations() * std::uint64_t{kRounds}) state.SkipWithError("contributions were not taken");
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * packets.size() * kChunkBytes));
}

void memcpy_of_the_chunks(benchmark::State& state) {
  Stream stream(false);
  std::vector<std::byte> to(2 * kWindow * kChunkBytes);  // as much as the slots have
  for (auto _ : state) {
    for (std::size_t i = 0; i < stream.bytes.size(); ++i) {
      std::memcpy(&to[i % (2 * kWindow) * kChunkBytes], &stream.bytes[i][wire::kBthBytes + wire::kRethBytes + wire::kHeaderBytes], kChunkBytes);
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * stream.bytes.size() * kChunkBytes));
}

BENCHMARK_CAPTURE(aggregate, members_in_order, false);
BENCHMARK_CAPTURE(aggregate, members_shuffled, true);
BENCHMARK(memcpy_of_the_chunks);

}  // namespace
}  // namespace ina::test

BENCHMARK_MAIN();
