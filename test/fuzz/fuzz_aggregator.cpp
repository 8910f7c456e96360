// fuzz_aggregator.cpp: a group under any packets, damaged ones with a right ICRC included. A result must have all contributions, once each.
// The input is a list of steps: which packet of the ring is meant, and up to 3 bytes of it that are changed.
#include <cstdio>
#include <cstdlib>
#include <map>

#include "test/aggregator/ring.hpp"
#include "wire/elements.hpp"

namespace ina::test {
namespace {

constexpr std::uint16_t kMembers = 3;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

class Judge final : public aggregator::Emitter {
 public:
  explicit Judge(const Ring& ring) : ring_(ring) {}

  // The aggregator has counted one more contribution: this one.
  void contributed(const wire::Packet& packet) {
    const auto header = wire::decode_payload(packet.payload);
    if (!header || header->member >= kMembers || header->kind != wire::Kind::kData) fail("counted what is no contribution");
    const auto lanes = packet.payload.subspan(wire::kHeaderBytes, header->length);
    if (!taken_[header->seq].emplace(header->member, Bytes(lanes.begin(), lanes.end())).second) fail("counted a contribution twice");
  }
  // Results are made within the call that takes the last contribution: they are judged after it.
  void judge() {
    for (const Made& made : made_) judge(made);
    made_.clear();
  }
  bool knows_psns = false;  // no bind was changed

  void emit(const aggregator::MadePacket& packet) noexcept override {
    Collector collector;
    collector.emit(packet);
    made_.push_back(std::move(collector.all.front()));
  }

 private:
  void judge(const Made& made) const {
    const auto packet = wire::decode_packet(made.bytes);
    if (!packet) fail("made what does not decode");
    if (packet->bth.opcode == wire::Opcode::kAcknowledge) return;
    const auto header = wire::decode_payload(packet->payload);
    if (!header || header->kind != wire::Kind::kResult || header->contributions != kMembers || header->epoch != ring_.spec.epoch) {
      fail("made what is no result");
    }
    const auto found = taken_.find(header->seq);
    if (found == taken_.end() || found->second.size() != kMembers) fail("made a result without all contributions");
    Bytes sum = found->second.at(0);
    for (std::uint16_t member = 1; member < kMembers; ++member) {
      if (found->second.at(member).size() != sum.size()) fail("combined different lengths");
      wire::combine(header->op, header->lane_type)(sum.data(), found->second.at(member).data(), sum.size() / wire::lane_bytes(header->lane_type));
    }
    const auto lanes = made.lanes();
    if (lanes.size() != sum.size() || std::memcmp(lanes.data(), sum.data(), sum.size()) != 0) fail("made a wrong result");
    if (knows_psns && packet->bth.psn != ring_.psn(header->member, header->seq)) fail("made a wrong PSN");
  }

  const Ring& ring_;
  std::map<std::uint32_t, std::map<std::uint16_t, Bytes>> taken_;
  std::vector<Made> made_;
};

Bytes packet_of(const Ring& ring, std::uint8_t what, std::uint16_t member, std::uint32_t seq) {
  const Bytes lanes(8 * (1 + seq % 3), std::byte{static_cast<std::uint8_t>(17 * member + seq)});
  switch (what % 6) {
    case 0:
      return ring.forward_bind(member);
    case 1:
      return ring.backward_bind(member);
    case 2:
      return ring.acknowledgement(member, seq);
    case 3:
      return ring.acknowledgement(member, seq, wire::kSyndromeNakSequence);
    case 4:
      return ring.contribution(member, seq, lanes, wire::LaneType::kFloat32);
    default:
      return ring.contribution(member, seq, lanes);
  }
}

void run(std::span<const std::uint8_t> input) {
  Ring ring;
  ring.spec.members = kMembers;
  aggregator::Aggregator aggregator({.slots = 64});
  Judge judge(ring);
  if (!aggregator.prepare(ring.spec)) fail("not prepared");
  const auto send = [&](const Bytes& bytes, bool is_backward, std::uint16_t member) {
    const auto packet = wire::decode_packet(bytes);
    if (!packet) return;
    const auto near = ring.sender(member), far = ring.receiver(member);
    const std::uint64_t before = aggregator.counters(ring.spec.group).contributions;
    (void)aggregator.receive({*packet, is_backward ? far : near, is_backward ? near : far, true}, judge);
    if (aggregator.counters(ring.spec.group).contributions != before) judge.contributed(*packet);
    judge.judge();
  };
  const bool is_bound_first = !input.empty() && input[0] % 8 != 0;
  judge.knows_psns = is_bound_first;
  for (std::uint16_t i = 0; is_bound_first && i < kMembers; ++i) {
    send(ring.forward_bind(i), false, i);
    send(ring.backward_bind(i), true, i);
  }
  (void)aggregator.activate(ring.spec.group);
  // what, member, seq - F, number of changes, then place and value of each
  for (std::size_t at = 0; at + 4 <= input.size();) {
    const auto member = static_cast<std::uint16_t>(input[at + 1] % kMembers);
    const std::uint32_t seq = ring.spec.first_seq + input[at + 2] - 8;
    Bytes bytes = packet_of(ring, input[at], member, seq);
    const bool is_backward = input[at] % 6 >= 1 && input[at] % 6 <= 3;
    const std::size_t changes = input[at + 3] % 16 < 13 ? 0 : input[at + 3] % 16 - 12u;
    at += 4;
    for (std::size_t i = 0; i < changes && at + 2 <= input.size(); ++i, at += 2) bytes[input[at] % bytes.size()] ^= std::byte{input[at + 1]};
    send(bytes, is_backward, member);
    (void)aggregator.activate(ring.spec.group);
  }
}

}  // namespace
}  // namespace ina::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ina::test::run({data, size});
  return 0;
}
