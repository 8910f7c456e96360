// test_network.hpp: engines in one process, joined by a network in memory that delays, loses, repeats, reorders and damages packets.
// Used by the tests of the engine; time is virtual and every decision comes from one seed.
// Knows nothing of RoCE.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ucx_tl/engine/engine.hpp"

namespace ina::engine::test {

class VirtualClock final : public Clock {
 public:
  [[nodiscard]] Nanoseconds now() noexcept override { return now_; }
  void advance(Nanoseconds by) noexcept { now_ += by; }

 private:
  Nanoseconds now_ = kSecond;
};

struct Faults {
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;  // delays a packet by a random time, so that later ones overtake it
  double corrupt = 0;
};

struct CapturedPacket {
  wire::UdpAddress from;
  wire::UdpAddress to;
  std::vector<std::byte> bytes;
  bool has_congestion_mark = false;
};

// The queue in front of a receiver's link: what is sent to it waits its turn, is marked behind a long queue and dropped behind a full one.
struct Bottleneck {
  double nanoseconds_per_byte = 1;
  std::size_t mark_above = 1000000;  // packets
  std::size_t drop_above = 1000000;
  // What happened; tests set it back.
  std::size_t longest = 0;
  std::size_t marked = 0;
  std::size_t dropped = 0;
  std::deque<Nanoseconds> departures;

  // When the packet has left the queue; nullopt: dropped.
  std::optional<Nanoseconds> pass(CapturedPacket& packet, Nanoseconds now) {
    while (!departures.empty() && departures.front() <= now) departures.pop_front();
    if (departures.size() >= drop_above) {
      ++dropped;
      return std::nullopt;
    }
    if (departures.size() >= mark_above) {
      packet.has_congestion_mark = true;
      ++marked;
    }
    const Nanoseconds begin = departures.empty() ? now : departures.back();
    departures.push_back(begin + static_cast<Nanoseconds>(nanoseconds_per_byte * static_cast<double>(packet.bytes.size())));
    longest = std::max(longest, departures.size());
    return departures.back();
  }
};

class TestNetwork {
 public:
  TestNetwork(VirtualClock& clock, std::uint64_t seed) : clock_(clock), random_(seed) {}

  Faults faults;
  Nanoseconds delay = 5 * kMicrosecond;
  // Sees every packet that is sent; false: it is swallowed.
  std::function<bool(const CapturedPacket&)> tap;
  // How many packets one call of send() takes.
  std::size_t send_limit = kBatchPackets;
  std::size_t queue_limit = 1000000;  // a receiver's buffer, in packets
  std::map<wire::UdpAddress, Bottleneck> bottlenecks;  // by receiver

  void send(CapturedPacket packet) {
    if (tap && !tap(packet)) return;
    if (chance(faults.loss)) return;
    if (chance(faults.duplicate)) deliver(packet);
    if (chance(faults.corrupt) && !packet.bytes.empty()) packet.bytes[random_() % packet.bytes.size()] ^= std::byte(1 + random_() % 255);
    deliver(std::move(packet));
  }
  // As if `packet.from` had sent it, without faults and without the tap.
  void inject(CapturedPacket packet) { queues_[packet.to].emplace(clock_.now(), std::move(packet)); }
  [[nodiscard]] std::size_t take(const wire::UdpAddress& to, std::vector<CapturedPacket>& packets) {
    auto& queue = queues_[to];
    std::size_t count = 0;
    while (count < kBatchPackets && !queue.empty() && queue.begin()->first <= clock_.now()) {
      packets[count++] = std::move(queue.begin()->second);
      queue.erase(queue.begin());
    }
    return count;
  }
  void forget_packets() { queues_.clear(); }
  bool chance(double probability) { return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability; }

 private:
  void deliver(CapturedPacket packet) {
    Nanoseconds at = clock_.now() + delay;
    if (const auto bottleneck = bottlenecks.find(packet.to); bottleneck != bottlenecks.end()) {
      const auto left = bottleneck->second.pass(packet, clock_.now());
      if (!left) return;
      at = *left + delay;
    }
    if (chance(faults.reorder)) at += random_() % (10 * delay + 1);
    auto& queue = queues_[packet.to];
    if (queue.size() < queue_limit) queue.emplace(at, std::move(packet));
  }
  VirtualClock& clock_;
  std::mt19937_64 random_;
  std::map<wire::UdpAddress, std::multimap<Nanoseconds, CapturedPacket>> queues_;
};

class TestIo final : public PacketIo {
 public:
  TestIo(TestNetwork& network, const wire::UdpAddress& local) : network_(network), local_(local), taken_(kBatchPackets) {}

  [[nodiscard]] SendResult send(std::span<const OutgoingPacket> packets) noexcept override {
    const std::size_t count = std::min(packets.size(), network_.send_limit);
    for (const OutgoingPacket& packet : packets.first(count)) {
      std::vector<std::byte> bytes;
      for (std::size_t i = 0; i < packet.piece_count; ++i) {
        const auto* from = static_cast<const std::byte*>(packet.pieces[i].iov_base);
        bytes.insert(bytes.end(), from, from + packet.pieces[i].iov_len);
      }
      network_.send({.from = local_, .to = packet.to->address, .bytes = std::move(bytes)});
    }
    return {.taken = count, .refused = 0, .system_calls = 1};
  }
  [[nodiscard]] std::span<const IncomingPacket> receive() noexcept override {
    const std::size_t count = network_.take(local_, taken_);
    for (std::size_t i = 0; i < count; ++i) incoming_[i] = {.from = taken_[i].from, .bytes = taken_[i].bytes, .has_congestion_mark = taken_[i].has_congestion_mark};
    return {incoming_.data(), count};
  }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }

 private:
  TestNetwork& network_;
  wire::UdpAddress local_;
  std::vector<CapturedPacket> taken_;
  std::array<IncomingPacket, kBatchPackets> incoming_{};
};

inline wire::UdpAddress address(std::uint8_t host) { return {.ip = {10, 0, 0, host}, .port = wire::kRocePort, .is_ipv6 = false}; }

// An engine with registered memory, and a record of what it reported.
class Host final : public EventSink {
 public:
  Host(TestNetwork& network, VirtualClock& clock, std::uint8_t number, EngineOptions options = {}, std::size_t area_bytes = 1 << 20)
      : memory(number), area(area_bytes), io(network, address(number)), engine(with_local(options, number), io, clock, memory) {
    rkey = *memory.add(area.data(), area.size());
  }

  struct Completion {
    void* token;
    QpError error;
  };
  void on_completed(void* token, QpError error) noexcept override { completions.push_back({token, error}); }
  void on_received(std::span<std::byte> message) noexcept override { messages.emplace_back(message.begin(), message.end()); }
  void on_failed(Qp& qp, QpError error) noexcept override { failures.emplace_back(&qp, error); }

  unsigned progress() { return engine.progress() + engine.report(*this); }

  MemoryTable memory;
  std::vector<std::byte> area;
  std::uint32_t rkey;
  TestIo io;
  Engine engine;
  std::vector<Completion> completions;
  std::deque<std::vector<std::byte>> messages;
  std::vector<std::pair<Qp*, QpError>> failures;

 private:
  static EngineOptions with_local(EngineOptions options, std::uint8_t number) {
    options.local = address(number);
    options.seed += number;
    return options;
  }
};

// Two hosts and one connection between them.
class Pair {
 public:
  explicit Pair(std::uint64_t seed = 1, EngineOptions options = {}) : network(clock, seed), a(network, clock, 1, with_seed(options, seed)), b(network, clock, 2, with_seed(options, seed)) {
    qp_a = a.engine.create_qp();
    qp_b = b.engine.create_qp();
    connected = a.engine.connect(*qp_a, address(2), b.engine.address(*qp_b)) && b.engine.connect(*qp_b, address(1), a.engine.address(*qp_a));
  }

  void step(Nanoseconds by = 10 * kMicrosecond) {
    a.progress();
    b.progress();
    clock.advance(by);
  }
  // False: it did not come true in that time.
  template <typename Fact>
  bool run_until(Fact fact, Nanoseconds at_most = 20 * kSecond) {
    for (const Nanoseconds end = clock.now() + at_most; clock.now() < end; step()) {
      if (fact()) return true;
    }
    return fact();
  }
  void settle() {
    for (int i = 0; i < 50; ++i) step();
  }

  Message write(std::span<const std::byte> from, std::size_t offset, void* token) {
    Message message;
    message.kind = MessageKind::kWrite;
    message.remote_address = reinterpret_cast<std::uintptr_t>(b.area.data()) + offset;
    message.rkey = b.rkey;
    message.pieces[0] = {.address = from.data(), .bytes = from.size()};
    message.piece_count = 1;
    message.length = static_cast<std::uint32_t>(from.size());
    message.token = token;
    return message;
  }
  static Message send(std::span<const std::byte> from, void* token) {
    Message message;
    message.kind = MessageKind::kSend;
    message.pieces[0] = {.address = from.data(), .bytes = from.size()};
    message.piece_count = 1;
    message.length = static_cast<std::uint32_t>(from.size());
    message.token = token;
    return message;
  }

  VirtualClock clock;
  TestNetwork network;
  Host a;
  Host b;
  Qp* qp_a;
  Qp* qp_b;
  bool connected;

 private:
  static EngineOptions with_seed(EngineOptions options, std::uint64_t seed) {
    options.seed = seed * 1000;
    return options;
  }
};

inline std::vector<std::byte> random_bytes(std::mt19937_64& random, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace ina::engine::test
