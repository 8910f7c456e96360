#include "switch/softswitch/bridge.hpp"

#include <algorithm>
#include <bit>

namespace ina::softswitch {

Bridge::Bridge(std::uint64_t seed, std::size_t stations) : seed_(seed | 1), stations_(std::bit_ceil(std::max(stations, kWays))) {}

// The VLAN is counted from 1, so that no key is 0.
std::uint64_t Bridge::key_of(const wire::MacAddress& mac, std::uint16_t vlan) noexcept {
  std::uint64_t key = std::uint64_t{vlan} + 1;
  for (const std::uint8_t byte : mac) key = key << 8 | byte;
  return key;
}

// Multiplication by an odd number and mixing of the high bits down, twice.
std::size_t Bridge::first_of(std::uint64_t key) const noexcept {
  std::uint64_t hash = (key ^ seed_) * 0x9e3779b97f4a7c15;
  hash = (hash ^ hash >> 32) * (seed_ ^ 0xd6e8feb86659fd92);
  return (hash >> 32) & (stations_.size() - 1) & ~(kWays - 1);
}

void Bridge::learn(const wire::MacAddress& mac, std::uint16_t vlan, PortIndex port, Time now) noexcept {
  const std::uint64_t key = key_of(mac, vlan);
  Station* const first = &stations_[first_of(key)];
  Station* place = first;
  for (Station* each = first; each != first + kWays; ++each) {
    if (each->key == key) {
      place = each;
      break;
    }
    if (each->key == 0 ? place->key != 0 : place->key != 0 && each->heard < place->heard) place = each;
  }
  *place = {.key = key, .heard = now, .port = port};
}

PortIndex Bridge::find(const wire::MacAddress& mac, std::uint16_t vlan, Time now) const noexcept {
  const std::uint64_t key = key_of(mac, vlan);
  const Station* const first = &stations_[first_of(key)];
  for (const Station* each = first; each != first + kWays; ++each) {
    if (each->key == key) return now - each->heard < kSilence ? each->port : kUnknown;
  }
  return kUnknown;
}

void Bridge::forget(PortIndex port) noexcept {
  for (Station& each : stations_) {
    if (each.key != 0 && each.port == port) each = {};
  }
}

std::size_t Bridge::stations(Time now) const noexcept {
  return static_cast<std::size_t>(std::count_if(stations_.begin(), stations_.end(), [&](const Station& each) { return each.key != 0 && now - each.heard < kSilence; }));
}

}  // namespace ina::softswitch
