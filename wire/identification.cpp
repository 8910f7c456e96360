// identification.cpp: polynomials modulo that of IEEE 802.3, in the reflected form: the highest bit is x^0, the lowest x^31.
#include "wire/identification.hpp"

#include <bit>

#include "wire/roce.hpp"

namespace ina::wire {
namespace {

constexpr std::uint32_t kPolynomial = 0xedb88320U;
constexpr std::uint32_t kOne = 0x80000000U;
// Behind the identification: the rest of the IPv4 header and the UDP header.
constexpr std::size_t kHeaderBytesBehind = 20 - 6 + 8;

constexpr std::uint32_t times_x(std::uint32_t a) noexcept { return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0); }

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1) {
    product ^= b & (0U - static_cast<std::uint32_t>((a & bit) != 0));
    b = times_x(b);
  }
  return product;
}

constexpr std::size_t kPowers = 17;  // an IP packet is shorter than 2^17 bytes
// x^(8 * 2^i).
constexpr auto kPowersOfByte = [] {
  std::array<std::uint32_t, kPowers> powers{kOne >> 8};
  for (std::size_t i = 1; i < kPowers; ++i) powers[i] = multiply(powers[i - 1], powers[i - 1]);
  return powers;
}();

std::uint32_t power_of_bytes(std::size_t bytes) noexcept {
  std::uint32_t power = kOne;
  for (std::size_t i = 0; i < kPowers; ++i) {
    if ((bytes >> i & 1) != 0) power = multiply(power, kPowersOfByte[i]);
  }
  return power;
}

// The two bytes as they are on the wire, the more significant one first; behind a byte the register holds it times x^32.
constexpr std::uint32_t register_after(std::uint16_t identification) noexcept {
  std::uint32_t crc = 0;
  for (const std::uint32_t byte : {identification >> 8 & 0xffU, identification & 0xffU}) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = times_x(crc);
  }
  return crc;
}

}  // namespace

std::uint32_t IdentificationEffects::of(std::uint16_t identification, std::size_t udp_payload_bytes) noexcept {
  if (identification == 0) return 0;
  const Length& length = look_up(udp_payload_bytes);
  if (identification >= kMaxSegments) return multiply(register_after(identification), length.power);
  std::uint32_t sum = 0;
  for (unsigned bit = 0; bit < kBits; ++bit) sum ^= length.effect[bit] & (0U - (identification >> bit & 1U));
  return sum;
}

bool IdentificationEffects::explain(std::uint32_t difference, std::size_t udp_payload_bytes) noexcept {
  if (difference == 0) return true;
  const Length& length = look_up(udp_payload_bytes);
  for (unsigned i = 0; i < kBits; ++i) difference ^= length.reduced[i] & (0U - (difference >> length.pivot[i] & 1U));
  return difference == 0;
}

const IdentificationEffects::Length& IdentificationEffects::look_up(std::size_t udp_payload_bytes) noexcept {
  Length& length = lengths_[udp_payload_bytes / 4 % lengths_.size()];
  if (length.udp_payload_bytes == udp_payload_bytes) return length;
  length.udp_payload_bytes = udp_payload_bytes;
  length.power = power_of_bytes(udp_payload_bytes - kIcrcBytes + kHeaderBytesBehind);
  for (unsigned bit = 0; bit < kBits; ++bit) length.effect[bit] = multiply(register_after(static_cast<std::uint16_t>(1U << bit)), length.power);
  // Gauss: the effects are independent, since a CRC tells all errors of up to 32 adjacent bits apart.
  length.reduced = length.effect;
  for (unsigned i = 0; i < kBits; ++i) {
    length.pivot[i] = static_cast<std::uint8_t>(std::countr_zero(length.reduced[i]));
    for (unsigned other = 0; other < kBits; ++other) {
      if (other != i && (length.reduced[other] >> length.pivot[i] & 1U) != 0) length.reduced[other] ^= length.reduced[i];
    }
  }
  return length;
}

}  // namespace ina::wire
