// identification.hpp: what an IPv4 identification other than 0 changes about an ICRC, as PROTOCOL.md 1 allows it.
// Used by whoever seals or verifies packets that a system has cut out of one large datagram; see IcrcFlow.
// Does not compute CRCs of packets: a CRC is linear, so the difference depends on identification and length alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ina::wire {

// Segments of one datagram at most: the k-th has identification k.
inline constexpr std::size_t kMaxSegments = 64;

// Remembers what it has computed for some lengths: a small table, one for each thread that uses it.
class IdentificationEffects {
 public:
  // To be added (exclusive or) to the ICRC of a UDP payload of so many bytes, ICRC included, if the packet's identification is not 0 but this.
  [[nodiscard]] std::uint32_t of(std::uint16_t identification, std::size_t udp_payload_bytes) noexcept;
  // True: the difference between an ICRC and the one for identification 0 is what some identification below kMaxSegments causes.
  [[nodiscard]] bool explain(std::uint32_t difference, std::size_t udp_payload_bytes) noexcept;

 private:
  static constexpr unsigned kBits = 6;
  static_assert(kMaxSegments == std::size_t{1} << kBits);
  struct Length {
    std::size_t udp_payload_bytes = 0;
    std::uint32_t power = 0;                    // x^(8 n), n: covered bytes behind the identification
    std::array<std::uint32_t, kBits> effect{};  // of one bit of the identification
    // The same six differences, combined until each has a bit that none of the others has, and the place of that bit: with them a
    // difference is reduced to 0 exactly if it is a sum of effects.
    std::array<std::uint32_t, kBits> reduced{};
    std::array<std::uint8_t, kBits> pivot{};
  };
  const Length& look_up(std::size_t udp_payload_bytes) noexcept;

  std::array<Length, 16> lengths_{};
};

}  // namespace ina::wire
