// fault_injector.hpp: loses, duplicates, delays and damages packets, the same ones for the same seed and the same traffic.
// Used on either side of the relay and of a port in the wire, and by tests of the aggregator.
// Has no clock: a delayed packet passes after a few later ones have, so on a quiet line it is as good as lost until something follows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "wire/address.hpp"

namespace ina::softswitch {

struct FaultSettings {
  double loss = 0, duplicate = 0, reorder = 0, corrupt = 0;  // probabilities, each drawn for every packet
  std::uint64_t seed = 1;
  [[nodiscard]] bool any() const noexcept { return loss > 0 || duplicate > 0 || reorder > 0 || corrupt > 0; }
  // For one of several injectors, each of which draws on its own.
  [[nodiscard]] FaultSettings with_side(std::uint64_t side) const noexcept {
    FaultSettings settings = *this;
    settings.seed = seed * 2 + side;
    return settings;
  }
};

struct FaultCounters {
  std::uint64_t passed = 0, lost = 0, duplicated = 0, reordered = 0, corrupted = 0;
};

using NamedFaults = std::vector<std::pair<std::string, std::uint64_t>>;
void add_fault_counters(NamedFaults&, const std::string& side, const FaultCounters&);

// What befalls one packet.
struct Fate {
  bool is_lost = false, is_duplicated = false;
  std::uint32_t delay = 0;  // passes after so many later ones
  std::size_t damaged_byte = 0;
  std::uint8_t damage = 0;  // bits to flip
};

class FaultSource {
 public:
  static constexpr std::uint32_t kLongestDelay = 6;  // packets
  explicit FaultSource(const FaultSettings& settings) noexcept : settings_(settings), state_(settings.seed) {}
  [[nodiscard]] Fate draw(std::size_t size) noexcept;
  [[nodiscard]] const FaultCounters& counters() const noexcept { return counters_; }

 protected:
  FaultCounters counters_;

 private:
  [[nodiscard]] std::uint64_t next() noexcept;
  [[nodiscard]] bool chance(double probability) noexcept;
  FaultSettings settings_;
  std::uint64_t state_;
};

// Label: what travels with the bytes of a packet unharmed.
template <typename Label>
class LabelledFaultInjector : private FaultSource {
 public:
  explicit LabelledFaultInjector(const FaultSettings& settings) noexcept : FaultSource(settings) {}
  using FaultSource::counters;

  // One packet comes: calls deliver(label, std::span<std::byte>) for each one that passes now. The bytes are a copy, valid during the call.
  template <typename Deliver>
  void pass(const Label& label, std::span<const std::byte> bytes, Deliver deliver) {
    const Fate fate = draw(bytes.size());
    if (fate.is_lost) {
      ++counters_.lost;
    } else {
      Held packet{label, {bytes.begin(), bytes.end()}, fate.delay};
      if (fate.damage != 0) packet.bytes[fate.damaged_byte] ^= std::byte{fate.damage};
      for (int copies = fate.is_duplicated ? 2 : 1; copies > 0; --copies) {
        if (fate.delay > 0) {
          held_.push_back(packet);
          continue;
        }
        ++counters_.passed;
        Held copy = packet;
        deliver(copy.label, std::span<std::byte>(copy.bytes));
      }
    }
    age(deliver);
  }

 private:
  struct Held {
    Label label;
    std::vector<std::byte> bytes;
    std::uint32_t delay;
  };

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
      deliver(due.label, std::span<std::byte>(due.bytes));
    }
  }

  std::vector<Held> held_;
};

using FaultInjector = LabelledFaultInjector<wire::UdpAddress>;

}  // namespace ina::softswitch
