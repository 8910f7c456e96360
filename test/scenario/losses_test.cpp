// losses_test.cpp: four engines with an aggregator between them, over paths that lose, repeat, delay and damage packets: what a sum costs in virtual time.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <utility>

#include "switch/aggregator/aggregator.hpp"
#include "test/engine/test_network.hpp"
#include "wire/ina_header.hpp"

namespace ina::scenario {
namespace {

using engine::kMicrosecond;
using engine::kMillisecond;
using engine::kSecond;
using engine::Nanoseconds;
using engine::test::CapturedPacket;
using engine::test::Faults;

constexpr std::uint16_t kMembers = 4;
constexpr std::size_t kPayload = 1024;
constexpr std::size_t kLaneBytes = 512;
constexpr aggregator::GroupSpec kSpec{.group = 17, .epoch = 0x12345678, .members = kMembers, .window = 64, .first_seq = 0xffffff80,
                                      .payload = kPayload, .place_bytes = kPayload};
constexpr std::size_t kMailboxBytes = 2 * kSpec.window * kPayload;
constexpr Nanoseconds kDelay = 20 * kMicrosecond;  // from a member to the switch, or back
constexpr Nanoseconds kStep = 5 * kMicrosecond;    // between two calls of progress of a member

aggregator::Endpoint endpoint(const wire::UdpAddress& address) { return aggregator::Endpoint{address.ip[3]}; }
wire::UdpAddress address(aggregator::Endpoint of) { return engine::test::address(static_cast<std::uint8_t>(of)); }

// In the way of every packet. Both halves of the way have the network's faults.
class SwitchInTheWay final : public aggregator::Emitter {
 public:
  SwitchInTheWay(engine::test::TestNetwork& network, std::uint64_t seed) : network_(network), random_(seed) {
    network.delay = 2 * kDelay;
    network.tap = [this](const CapturedPacket& packet) { return is_leaving_ || pass(packet); };
  }
  aggregator::Aggregator aggregator{{.slots = 2 * kSpec.window}};

 private:
  bool chance(double probability) { return std::uniform_real_distribution<>(0, 1)(random_) < probability; }
  // A damaged packet is as good as lost here; on the second half the receiver has to find out.
  bool pass(const CapturedPacket& captured) {
    if (chance(network_.faults.loss) || chance(network_.faults.corrupt)) return false;
    // The next packet overtakes this one.
    if (!held_ && chance(network_.faults.reorder)) {
      held_ = captured;
      return false;
    }
    take(captured);
    if (chance(network_.faults.duplicate)) take(captured);
    if (held_) take(*std::exchange(held_, std::nullopt));
    return false;
  }
  void take(const CapturedPacket& captured) {
    const auto packet = wire::decode_packet(captured.bytes);
    ASSERT_TRUE(packet);
    const aggregator::Outcome outcome = aggregator.receive({*packet, endpoint(captured.from), endpoint(captured.to), true}, *this);
    if (outcome.action == aggregator::Action::kForward) leave(captured);
  }
  void emit(const aggregator::MadePacket& made) noexcept override {
    CapturedPacket packet{.from = address(made.source), .to = address(made.destination), .bytes = {}};
    for (const auto piece : {made.head, made.lanes, made.tail}) packet.bytes.insert(packet.bytes.end(), piece.begin(), piece.end());
    packet.bytes.resize(packet.bytes.size() + wire::kIcrcBytes);
    wire::IcrcFlow(packet.from, packet.to).seal(packet.bytes);
    leave(packet);
  }
  void leave(const CapturedPacket& packet) {
    is_leaving_ = true;
    network_.send(packet);
    is_leaving_ = false;
  }
  engine::test::TestNetwork& network_;
  std::mt19937_64 random_;
  bool is_leaving_ = false;
  std::optional<CapturedPacket> held_;
};

// One member's stream (PROTOCOL.md 2): sends while the window allows, takes results in order.
class Member final : public engine::EventSink {
 public:
  Member(engine::test::TestNetwork& network, engine::test::VirtualClock& clock, std::uint16_t number)
      : number_(number), host(network, clock, static_cast<std::uint8_t>(number + 1), engine::EngineOptions{.mtu = kPayload}, 2 * kMailboxBytes), sources_(kMailboxBytes) {
    to_right = host.engine.create_qp();
    to_left = host.engine.create_qp();
    for (std::uint32_t k = 0; k < 2 * kSpec.window; ++k) store_trailer(mailbox() + (k + 1) * kPayload, kSpec.first_seq - 2 * kSpec.window + k);
  }
  [[nodiscard]] std::byte* mailbox() {
    return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(host.area.data()) + kMailboxBytes - 1) / kMailboxBytes * kMailboxBytes);
  }
  void bind(Member& left, Member& right) {
    right_ = &right;
    post_bind(*to_right, wire::Direction::kForward, number_, right.mailbox() + kPayload - wire::kBindPayloadBytes, right.host.rkey);
    post_bind(*to_left, wire::Direction::kBackward, left.number_, left.host.area.data() + left.host.area.size() - wire::kBindPayloadBytes, left.host.rkey);
  }
  void progress(std::uint32_t chunks) {
    host.engine.progress();
    host.engine.report(*this);
    while (result_end_ != sent_end_ && take_result()) ++result_end_;
    while (sent_end_ != chunks && sent_end_ - result_end_ < kSpec.window && sent_end_ - completed_ < 2 * kSpec.window && send()) ++sent_end_;
  }
  void on_completed(void* token, engine::QpError error) noexcept override {
    EXPECT_EQ(error, engine::QpError::kNone);
    if (token == this) ++completed_;
  }
  void on_received(std::span<std::byte>) noexcept override {}
  void on_failed(engine::Qp&, engine::QpError) noexcept override { ADD_FAILURE(); }
  [[nodiscard]] std::uint32_t results() const { return result_end_; }
  [[nodiscard]] std::uint32_t wrong() const { return wrong_; }

 private:
  std::uint16_t number_;
  Member* right_ = nullptr;

 public:
  engine::test::Host host;
  engine::Qp* to_right;
  engine::Qp* to_left;

 private:
  static void store_trailer(std::byte* end, std::uint32_t seq) { wire::store_be(end - wire::kTrailerBytes, seq); }
  [[nodiscard]] static std::int32_t lane(std::uint16_t member, std::uint32_t chunk) { return static_cast<std::int32_t>((member + 1) * 1000003u * chunk + member); }
  void post_bind(engine::Qp& qp, wire::Direction direction, std::uint16_t connection, const std::byte* to, std::uint32_t rkey) {
    const bool is_forward = direction == wire::Direction::kForward;
    auto& bind = binds_[is_forward ? 0 : 1];
    bind = wire::encode_bind({.group = kSpec.group, .epoch = kSpec.epoch, .connection = connection, .direction = direction, .members = kMembers,
                              .window = kSpec.window, .first_seq = kSpec.first_seq, .place_bytes = kSpec.place_bytes,
                              .mailbox = is_forward ? reinterpret_cast<std::uintptr_t>(right_->mailbox()) : 0});
    post(qp, bind, to, rkey, nullptr);
  }
  bool post(engine::Qp& qp, std::span<const std::byte> from, const std::byte* to, std::uint32_t rkey, void* token) {
    engine::Message message = engine::test::Pair::send(from, token);
    message.kind = engine::MessageKind::kWrite;
    message.remote_address = reinterpret_cast<std::uintptr_t>(to);
    message.rkey = rkey;
    return host.engine.post(qp, message) == engine::PostStatus::kPosted;
  }
  bool send() {
    const std::uint32_t seq = kSpec.first_seq + sent_end_;
    constexpr std::size_t kBytes = wire::kFramingBytes + kLaneBytes;
    const std::size_t place = seq % (2 * kSpec.window);
    const std::span<std::byte> chunk = std::span(sources_).subspan(place * kPayload, kBytes);
    wire::encode_header({.kind = wire::Kind::kData, .op = wire::Op::kSum, .lane_type = wire::LaneType::kInt32, .contributions = 1, .group = kSpec.group,
                         .epoch = kSpec.epoch, .seq = seq, .member = number_, .length = kLaneBytes}, chunk.first<wire::kHeaderBytes>());
    const std::int32_t value = lane(number_, sent_end_);
    std::memcpy(&chunk[wire::kHeaderBytes], &value, sizeof value);
    store_trailer(chunk.data() + kBytes, seq);
    return post(*to_right, chunk, right_->mailbox() + (place + 1) * kPayload - kBytes, right_->host.rkey, this);
  }
  bool take_result() {
    const std::uint32_t seq = kSpec.first_seq + result_end_;
    const std::byte* const end = mailbox() + (seq % (2 * kSpec.window) + 1) * kPayload;
    if (wire::load_be<std::uint32_t>(end - wire::kTrailerBytes) != seq) return false;
    std::uint32_t sum, expected = 0;  // sums of int32 wrap around
    std::memcpy(&sum, end - wire::kTrailerBytes - kLaneBytes, sizeof sum);
    for (std::uint16_t m = 0; m < kMembers; ++m) expected += static_cast<std::uint32_t>(lane(m, result_end_));
    if (sum != expected) ++wrong_;
    return true;
  }

  std::vector<std::byte> sources_;
  std::array<std::array<std::byte, wire::kBindPayloadBytes>, 2> binds_;
  std::uint32_t sent_end_ = 0, result_end_ = 0, completed_ = 0, wrong_ = 0;
};

struct Cost {
  Nanoseconds time = 0;
  std::uint64_t timeouts = 0, packets = 0;
};

// 256 chunks, once the group is bound. pause: a member that is stopped now and then for that long.
Cost cost_of_sum(const Faults& faults, std::uint64_t seed, std::uint32_t chunks = 256, Nanoseconds pause = 0) {
  engine::test::VirtualClock clock;
  engine::test::TestNetwork network(clock, seed);
  SwitchInTheWay between(network, seed + 1);
  EXPECT_TRUE(between.aggregator.prepare(kSpec));
  std::vector<std::unique_ptr<Member>> members;
  for (std::uint16_t m = 0; m < kMembers; ++m) members.push_back(std::make_unique<Member>(network, clock, m));
  for (std::uint16_t m = 0; m < kMembers; ++m) {
    Member& right = *members[(m + 1) % kMembers];
    EXPECT_TRUE(members[m]->host.engine.connect(*members[m]->to_right, address(aggregator::Endpoint{(m + 1u) % kMembers + 1}), right.host.engine.address(*right.to_left)));
    EXPECT_TRUE(right.host.engine.connect(*right.to_left, address(aggregator::Endpoint{m + 1u}), members[m]->host.engine.address(*members[m]->to_right)));
  }
  for (std::uint16_t m = 0; m < kMembers; ++m) members[m]->bind(*members[(m + kMembers - 1) % kMembers], *members[(m + 1) % kMembers]);
  for (int i = 0; i < 100; ++i) {
    for (auto& member : members) member->progress(0);
    clock.advance(kStep);
  }
  EXPECT_TRUE(between.aggregator.activate(kSpec.group));
  network.faults = faults;
  const Nanoseconds begin = clock.now();
  std::mt19937_64 random(seed);
  std::array<Nanoseconds, kMembers> stopped_until{};
  const auto is_done = [&] { return std::all_of(members.begin(), members.end(), [&](const auto& member) { return member->results() == chunks; }); };
  while (!is_done() && clock.now() - begin < 20 * kSecond) {
    for (std::uint16_t m = 0; m < kMembers; ++m) {
      if (clock.now() < stopped_until[m]) continue;
      members[m]->progress(chunks);
      if (pause != 0 && random() % 200 == 0) stopped_until[m] = clock.now() + pause;
    }
    clock.advance(kStep);
  }
  EXPECT_TRUE(is_done());
  Cost cost{.time = clock.now() - begin};
  for (auto& member : members) {
    EXPECT_EQ(member->wrong(), 0u);
    cost.timeouts += member->host.engine.counters().timeouts.value();
    cost.packets += member->host.engine.counters().packets_sent.value();
  }
  return cost;
}

constexpr std::uint64_t kRuns = 10;

Cost cost_of_runs(const Faults& faults, std::uint32_t chunks = 256, Nanoseconds pause = 0) {
  Cost total;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) {
    const Cost cost = cost_of_sum(faults, seed, chunks, pause);
    total.time += cost.time;
    total.timeouts += cost.timeouts;
    total.packets += cost.packets;
  }
  return total;
}

Faults all(double probability) { return {.loss = probability, .duplicate = probability, .reorder = probability, .corrupt = probability}; }

TEST(Losses, CostMillisecondsNotSeconds) {
  EXPECT_LT(cost_of_runs(all(0.01)).time, 20 * kMillisecond * kRuns);
  EXPECT_LT(cost_of_runs(all(0.05)).time, 200 * kMillisecond * kRuns);
}

TEST(Losses, OfAFifthOfAllPacketsEndInTheRightSum) { (void)cost_of_sum(all(0.2), 1, 64); }

// Members that share cores stop for longer than any time-out. Nothing is lost then, and nearly nothing is sent again: a chunk is a
// packet and part of an acknowledgement.
TEST(Losses, AreNotSeenWhereMembersOnlyStop) {
  constexpr std::uint32_t kChunks = 2048;
  for (const Nanoseconds pause : {3 * kMillisecond, 10 * kMillisecond}) {
    const Cost cost = cost_of_runs({}, kChunks, pause);
    EXPECT_LT(cost.timeouts, 50 * kRuns);
    EXPECT_LT(cost.packets, kRuns * kMembers * kChunks * 5 / 4);
  }
}

}  // namespace
}  // namespace ina::scenario
