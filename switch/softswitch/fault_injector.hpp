// fault_injector.hpp: loses, duplicates, delays and damages datagrams, the same ones for the same seed and the same traffic.
// Used on either side of the relay, and by tests of the aggregator.
// Has no clock: a delayed datagram passes after a few later ones have, so on a quiet line it is as good as lost until something follows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wire/address.hpp"

namespace ina::softswitch {

struct FaultSettings {
  double loss = 0, duplicate = 0, reorder = 0, corrupt = 0;  // probabilities, each drawn for every datagram
  std::uint64_t seed = 1;
  [[nodiscard]] bool any() const noexcept { return loss > 0 || duplicate > 0 || reorder > 0 || corrupt > 0; }
};

struct FaultCounters {
  std::uint64_t passed = 0, lost = 0, duplicated = 0, reordered = 0, corrupted = 0;
};

class FaultInjector {
 public:
  explicit FaultInjector(const FaultSettings& settings) noexcept : settings_(settings), state_(settings.seed) {}

  // One datagram comes: calls deliver(peer, std::span<std::byte>) for each one that passes now. The bytes are a copy, valid during the call.
  template <typename Deliver>
  void pass(const wire::UdpAddress& peer, std::span<const std::byte> bytes, Deliver deliver) {
    const Fate fate = draw(bytes.size());
    if (fate.is_lost) {
      ++counters_.lost;
    } else {
      Held datagram{peer, {bytes.begin(), bytes.end()}, fate.delay};
      if (fate.damage != 0) datagram.bytes[fate.damaged_byte] ^= std::byte{fate.damage};
      for (int copies = fate.is_duplicated ? 2 : 1; copies > 0; --copies) {
        if (fate.delay > 0) {
          held_.push_back(datagram);
          continue;
        }
        ++counters_.passed;
        Held copy = datagram;
        deliver(copy.peer, std::span<std::byte>(copy.bytes));
      }
    }
    age(deliver);
  }

  [[nodiscard]] const FaultCounters& counters() const noexcept { return counters_; }

 private:
  static constexpr std::uint32_t kLongestDelay = 6;  // datagrams
  struct Fate {
    bool is_lost = false, is_duplicated = false;
    std::uint32_t delay = 0;
    std::size_t damaged_byte = 0;
    std::uint8_t damage = 0;  // bits to flip
  };
  struct Held {
    wire::UdpAddress peer;
    std::vector<std::byte> bytes;
    std::uint32_t delay;
  };

  [[nodiscard]] Fate draw(std::size_t size) noexcept;
  [[nodiscard]] std::uint64_t next() noexcept;
  [[nodiscard]] bool chance(double probability) noexcept;

  template <typename Deliver>
  void age(Deliver& deliver) {
    for (std::size_t i = 0; i < held_.size();) {
      if (held_[i].delay-- > 0) {
        ++i;
        continue;
      }
      Held due = std::move(held_[i]);
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
      ++counters_.passed;
      deliver(due.peer, std::span<std::byte>(due.bytes));
    }
  }

  FaultSettings settings_;
  std::uint64_t state_;
  FaultCounters counters_;
  std::vector<Held> held_;
};

}  // namespace ina::softswitch
