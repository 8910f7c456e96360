// bridge.hpp: which port a station (a MAC address in a VLAN) was last heard on.
// Used by WireSwitch, which asks it where a frame goes.
// Has no ports and no clock: the time of a frame comes with it. The table is bounded; where it is full, the station heard least recently goes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/frame.hpp"

namespace ina::softswitch {

using Time = std::chrono::steady_clock::time_point;
using PortIndex = std::uint16_t;

class Bridge {
 public:
  static constexpr PortIndex kUnknown = 0xffff;
  static constexpr std::chrono::seconds kSilence{300};  // what IEEE 802.1D recommends
  static constexpr std::size_t kDefaultStations = 8192;

  // stations: the most that are remembered, rounded up to a power of two. seed: so that nobody knows which stations share a place.
  explicit Bridge(std::uint64_t seed = 0, std::size_t stations = kDefaultStations);

  // A frame from this station came in at this port.
  void learn(const wire::MacAddress&, std::uint16_t vlan, PortIndex, Time now) noexcept;
  // kUnknown: never heard of, or not for a while.
  [[nodiscard]] PortIndex find(const wire::MacAddress&, std::uint16_t vlan, Time now) const noexcept;
  // The port is gone or was unplugged: its stations may turn up elsewhere.
  void forget(PortIndex) noexcept;
  [[nodiscard]] std::size_t stations(Time now) const noexcept;

 private:
  static constexpr std::size_t kWays = 8;
  struct Station {
    std::uint64_t key = 0;  // VLAN and MAC; 0: none
    Time heard{};
    PortIndex port = kUnknown;
  };
  [[nodiscard]] static std::uint64_t key_of(const wire::MacAddress&, std::uint16_t vlan) noexcept;
  [[nodiscard]] std::size_t first_of(std::uint64_t key) const noexcept;

  std::uint64_t seed_;
  std::vector<Station> stations_;
};

// Bit 0 of the first byte: multicast and broadcast.
[[nodiscard]] constexpr bool is_group_address(const wire::MacAddress& mac) noexcept { return (mac[0] & 1) != 0; }

}  // namespace ina::softswitch
