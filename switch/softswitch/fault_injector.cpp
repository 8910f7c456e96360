#include "switch/softswitch/fault_injector.hpp"

namespace ina::softswitch {

// SplitMix64: small, and the same on every machine, which the distributions of <random> are not.
std::uint64_t FaultSource::next() noexcept {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

bool FaultSource::chance(double probability) noexcept {
  return static_cast<double>(next() >> 11) * 0x1p-53 < probability;
}

// Draws the same number of random values for every packet, so that one setting does not shift what another one hits.
Fate FaultSource::draw(std::size_t size) noexcept {
  Fate fate;
  fate.is_lost = chance(settings_.loss);
  fate.is_duplicated = chance(settings_.duplicate);
  const bool is_reordered = chance(settings_.reorder);
  const auto delay = static_cast<std::uint32_t>(next() % kLongestDelay) + 1;
  const bool is_corrupted = chance(settings_.corrupt) && size > 0;
  const std::uint64_t place = next();
  const auto damage = static_cast<std::uint8_t>(next() % 255 + 1);
  if (fate.is_lost) return fate;
  if (fate.is_duplicated) ++counters_.duplicated;
  if (is_reordered) {
    ++counters_.reordered;
    fate.delay = delay;
  }
  if (is_corrupted) {
    ++counters_.corrupted;
    fate.damaged_byte = static_cast<std::size_t>(place % size);
    fate.damage = damage;
  }
  return fate;
}

void add_fault_counters(NamedFaults& all, const std::string& side, const FaultCounters& faults) {
  all.insert(all.end(), {{"faults_lost_" + side, faults.lost}, {"faults_duplicated_" + side, faults.duplicated},
                         {"faults_reordered_" + side, faults.reordered}, {"faults_corrupted_" + side, faults.corrupted}});
}

}  // namespace ina::softswitch
