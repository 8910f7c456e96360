// udp_yardstick: what the least program costs that moves the packets of an in-network allreduce; ina's figures stand beside it.
// relay: answers packet seq of every member with the sum, once all members have sent it; ends when all say that they have ended.
// latency: sends one packet and waits for its answer, over and over. stream: moves a vector under a window, gathered and scattered.
// Usage: udp_yardstick relay ADDRESS:PORT MEMBERS | latency ADDRESS:PORT MEMBER BYTES ROUNDS | stream ADDRESS:PORT MEMBER BYTES PACKET WINDOW
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include <arpa/inet.h>

#include "test/perf/udp_yardstick.hpp"

namespace ina::yardstick {
namespace {

constexpr std::uint32_t kMostWindow = 4096;
constexpr std::size_t kMostMembers = 1024;

[[nodiscard]] double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Sum of one seq. Members have no more than a window under way, so of two windows of slots none is taken while it is needed.
struct Slot {
  std::uint32_t seq = 0;
  std::size_t bytes = 0;
  std::size_t contributions = 0;
  std::vector<bool> has;
  std::array<float, kMostPacketBytes / sizeof(float)> sum;
};

class Relay {
 public:
  Relay(const char* address, std::size_t members) : port_(parse_address(address)), peers_(members), ended_(members), slots_(2 * kMostWindow) {
    for (Slot& slot : slots_) slot.has.resize(members);
    char name[INET_ADDRSTRLEN];
    const sockaddr_in own = port_.address();
    std::printf("listening on %s:%u\n", ::inet_ntop(AF_INET, &own.sin_addr, name, sizeof(name)), ntohs(own.sin_port));
    std::fflush(stdout);
  }

  void run() {
    while (std::count(ended_.begin(), ended_.end(), true) < static_cast<std::ptrdiff_t>(ended_.size())) {
      for (Packet& packet : port_.receive(true)) take(packet);
    }
  }

 private:
  void take(Packet& packet) {
    const PacketHeader header = packet.header();
    if (packet.bytes < sizeof(header) || header.member >= peers_.size()) return;
    peers_[header.member] = packet.peer;
    if (header.is_end != 0) {
      ended_[header.member] = true;
      answer(packet, packet.peer);
      return;
    }
    Slot& slot = slots_[header.seq % slots_.size()];
    if (slot.seq != header.seq || slot.contributions == 0) {
      slot.seq = header.seq;
      slot.bytes = packet.bytes;
      slot.contributions = 0;
      std::fill(slot.has.begin(), slot.has.end(), false);
    }
    if (slot.has[header.member]) {
      if (slot.contributions == peers_.size()) release(slot, header.member);
      return;
    }
    slot.has[header.member] = true;
    const std::size_t lanes = (packet.bytes - sizeof(header)) / sizeof(float);
    if (slot.contributions++ == 0) std::copy_n(packet.lanes(), lanes, slot.sum.data());
    else std::transform(packet.lanes(), packet.lanes() + lanes, slot.sum.data(), slot.sum.data(), std::plus<>{});
    if (slot.contributions < peers_.size()) return;
    for (std::size_t member = 0; member < peers_.size(); ++member) release(slot, member);
  }

  void release(const Slot& slot, std::size_t member) {
    Packet& out = port_.next_out();
    out.peer = peers_[member];
    out.bytes = slot.bytes;
    out.set_header({.seq = slot.seq, .member = static_cast<std::uint16_t>(member), .is_end = 0});
    std::memcpy(out.lanes(), slot.sum.data(), slot.bytes - sizeof(PacketHeader));
  }

  void answer(const Packet& packet, const sockaddr_in& peer) {
    Packet& out = port_.next_out();
    out.peer = peer;
    out.bytes = sizeof(PacketHeader);
    out.set_header(packet.header());
  }

  Port port_;
  std::vector<sockaddr_in> peers_;
  std::vector<bool> ended_;
  std::vector<Slot> slots_;
};

class Client {
 public:
  Client(const char* relay, std::uint16_t member, std::size_t packet_bytes)
      : port_({.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}}), relay_(parse_address(relay)), member_(member),
        lanes_((packet_bytes - sizeof(PacketHeader)) / sizeof(float)) {}

  // One packet out, one back, `rounds` times.
  void latency(unsigned rounds) {
    std::vector<double> times_us;
    const std::vector<float> source(lanes_, 1.0F);
    const unsigned warm_ups = std::min(rounds, 100U);
    for (unsigned round = 0; round < rounds + warm_ups; ++round) {
      const auto start = std::chrono::steady_clock::now();
      send(round, source.data(), lanes_);
      while (!has_come(round)) send(round, source.data(), lanes_);
      const auto took = std::chrono::steady_clock::now() - start;
      if (round >= warm_ups) times_us.push_back(std::chrono::duration<double, std::micro>(took).count());
    }
    end();
    std::sort(times_us.begin(), times_us.end());
    std::printf("{\"median_us\": %.2f, \"min_us\": %.2f, \"max_us\": %.2f}\n", times_us[times_us.size() / 2], times_us.front(), times_us.back());
  }

  // A vector of so many bytes, `window` packets under way.
  void stream(std::size_t bytes, std::uint32_t window) {
    std::vector<float> source(bytes / sizeof(float), 1.0F), sums(source.size());
    const auto chunks = static_cast<std::uint32_t>((source.size() + lanes_ - 1) / lanes_);
    std::vector<bool> arrived(chunks);
    start_together(chunks);
    const double processor_before = seconds_of(CLOCK_PROCESS_CPUTIME_ID), before = seconds_of(CLOCK_MONOTONIC);
    std::uint32_t sent = 0, first_missing = 0;
    while (first_missing < chunks) {
      for (; sent < chunks && sent - first_missing < window; ++sent) send_chunk(source, sent);
      const std::span<Packet> packets = port_.receive(false);
      if (packets.empty()) send_chunk(source, first_missing);
      for (Packet& packet : packets) {
        const std::uint32_t seq = packet.header().seq;
        if (seq >= chunks || arrived[seq]) continue;
        arrived[seq] = true;
        std::memcpy(sums.data() + seq * lanes_, packet.lanes(), std::min(lanes_, sums.size() - seq * lanes_) * sizeof(float));
      }
      while (first_missing < chunks && arrived[first_missing]) ++first_missing;
    }
    const double took_s = seconds_of(CLOCK_MONOTONIC) - before, processor_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor_before;
    end();
    std::printf("{\"bytes\": %zu, \"seconds\": %.6f, \"cpu_s\": %.6f}\n", bytes, took_s, processor_s);
  }

 private:
  void send(std::uint32_t seq, const float* from, std::size_t lanes, bool is_end = false) {
    Packet& out = port_.next_out();
    out.peer = relay_;
    out.bytes = sizeof(PacketHeader) + lanes_ * sizeof(float);
    out.set_header({.seq = seq, .member = member_, .is_end = is_end});
    std::memcpy(out.lanes(), from, lanes * sizeof(float));
  }

  void send_chunk(const std::vector<float>& source, std::uint32_t seq) {
    send(seq, source.data() + seq * lanes_, std::min(lanes_, source.size() - seq * lanes_));
  }

  // The answer to `round`: false when nothing has come for long.
  [[nodiscard]] bool has_come(std::uint32_t round) {
    for (;;) {
      const std::span<Packet> packets = port_.receive(true);
      if (packets.empty()) return false;
      for (const Packet& packet : packets) {
        if (packet.header().seq == round) return true;
      }
    }
  }

  // The sum of a packet that is not of the vector comes when all members are there.
  void start_together(std::uint32_t seq) {
    const std::vector<float> nothing(lanes_);
    do send(seq, nothing.data(), lanes_);
    while (!has_come(seq));
  }

  void end() {
    const std::vector<float> nothing(lanes_);
    for (int tries = 0; tries < 10; ++tries) {
      send(0, nothing.data(), 0, true);
      for (const Packet& packet : port_.receive(false)) {
        if (packet.header().is_end != 0) return;
      }
    }
  }

  Port port_;
  sockaddr_in relay_;
  std::uint16_t member_;
  std::size_t lanes_;
};

[[nodiscard]] unsigned long number(const char* text, unsigned long least, unsigned long most) {
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < least || value > most) {
    std::fprintf(stderr, "udp_yardstick: %s is no number from %lu to %lu\n", text, least, most);
    std::exit(2);
  }
  return value;
}

}  // namespace
}  // namespace ina::yardstick

int main(int argc, char** argv) {
  using namespace ina::yardstick;
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "relay" && argc == 4) {
    Relay(argv[2], number(argv[3], 1, kMostMembers)).run();
  } else if (role == "latency" && argc == 6) {
    Client(argv[2], static_cast<std::uint16_t>(number(argv[3], 0, kMostMembers - 1)), number(argv[4], 16, kMostPacketBytes)).latency(static_cast<unsigned>(number(argv[5], 1, 1000000)));
  } else if (role == "stream" && argc == 7) {
    Client(argv[2], static_cast<std::uint16_t>(number(argv[3], 0, kMostMembers - 1)), number(argv[5], 16, kMostPacketBytes))
        .stream(number(argv[4], 4, 1UL << 30), static_cast<std::uint32_t>(number(argv[6], 1, kMostWindow)));
  } else {
    std::fputs("usage: udp_yardstick relay ADDRESS:PORT MEMBERS\n"
               "       udp_yardstick latency ADDRESS:PORT MEMBER BYTES ROUNDS\n"
               "       udp_yardstick stream ADDRESS:PORT MEMBER BYTES PACKET WINDOW\n", stderr);
    return 2;
  }
  return 0;
}
