// icrc.cpp: CRC-32 by ISA-L (or zlib) over large pieces; headers and small pieces are joined first, since every call has its cost.
#include "ina_config.h"

#include "wire/icrc.hpp"

#include <cassert>
#include <cstring>

#if HAVE_ISAL
#include <isa-l/crc.h>
#else
#include <zlib.h>
#endif

#include "wire/bytes.hpp"
#include "wire/roce.hpp"

namespace ina::wire {
namespace {

constexpr std::size_t kOnesBytes = 8;  // the LRH that RoCE has not, masked
constexpr std::size_t kIpv4Bytes = 20;
constexpr std::size_t kIpv6Bytes = 40;
constexpr std::size_t kUdpBytes = 8;
constexpr std::byte kOnes{0xff};

constexpr auto kTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0xedb88320U : 0U);
    table[i] = value;
  }
  return table;
}();

// A few bytes: cheaper than a call of the vector code.
std::uint32_t crc32_by_table(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
  crc = ~crc;
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint32_t>(byte)) & 0xff];
  return ~crc;
}

// Joins pieces as long as they fit, so that headers and trailers do not cost a CRC call each.
class Joiner {
 public:
  explicit Joiner(std::span<const std::byte> first) noexcept : size_(first.size()) { std::memcpy(joined_.data(), first.data(), first.size()); }

  void add(std::span<const std::byte> piece) noexcept {
    if (piece.size() <= kRoom - size_) {
      std::memcpy(&joined_[size_], piece.data(), piece.size());
      size_ += piece.size();
      return;
    }
    flush();
    crc_ = crc32(crc_, piece);
  }
  // Gives access to bytes that are joined and not yet in the CRC.
  [[nodiscard]] std::byte* joined() noexcept { return joined_.data(); }
  [[nodiscard]] std::uint32_t finish() noexcept {
    flush();
    return crc_;
  }

 private:
  void flush() noexcept {
    if (size_ != 0) crc_ = crc32(crc_, std::span(joined_).first(size_));
    size_ = 0;
  }
  static constexpr std::size_t kRoom = 160;  // masked headers (56), BTH and RETH (28), INA header (24), some lanes
  std::array<std::byte, kRoom> joined_;
  std::size_t size_;
  std::uint32_t crc_ = 0;
};

}  // namespace

std::uint32_t crc32(std::uint32_t crc, std::span<const std::byte> bytes) noexcept {
  constexpr std::size_t kFewBytes = 8;
  if (bytes.size() <= kFewBytes) return crc32_by_table(crc, bytes);
#if HAVE_ISAL
  return crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
#else
  return static_cast<std::uint32_t>(::crc32_z(crc, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
#endif
}

IcrcFlow::IcrcFlow(const UdpAddress& source, const UdpAddress& destination) noexcept : masked_{}, is_ipv6_(source.is_ipv6) {
  assert(source.is_ipv6 == destination.is_ipv6);
  std::memset(masked_.data(), 0xff, kOnesBytes);
  std::byte* ip = &masked_[kOnesBytes];
  std::byte* udp = ip + (is_ipv6_ ? kIpv6Bytes : kIpv4Bytes);
  if (is_ipv6_) {
    store_be<std::uint32_t>(ip, 0x6fffffffU);  // version; traffic class and flow label masked
    ip[6] = std::byte{17};
    ip[7] = kOnes;
    std::memcpy(ip + 8, source.ip.data(), 16);
    std::memcpy(ip + 24, destination.ip.data(), 16);
  } else {
    ip[0] = std::byte{0x45};
    ip[1] = kOnes;
    ip[6] = std::byte{0x40};  // DF
    ip[8] = kOnes;
    ip[9] = std::byte{17};
    ip[10] = ip[11] = kOnes;
    std::memcpy(ip + 12, source.ip.data(), 4);
    std::memcpy(ip + 16, destination.ip.data(), 4);
  }
  store_be(udp, source.port);
  store_be(udp + 2, destination.port);
  udp[6] = udp[7] = kOnes;
  masked_bytes_ = static_cast<std::size_t>(udp + kUdpBytes - masked_.data());
}

std::uint32_t IcrcFlow::compute(std::span<const std::span<const std::byte>> pieces) const noexcept {
  assert(!pieces.empty() && pieces[0].size() >= kBthBytes);
  std::size_t udp_bytes = kUdpBytes + kIcrcBytes;
  for (const auto piece : pieces) udp_bytes += piece.size();

  Joiner joiner({masked_.data(), masked_bytes_});
  std::byte* const ip = joiner.joined() + kOnesBytes;
  std::byte* const udp = joiner.joined() + masked_bytes_ - kUdpBytes;
  store_be(is_ipv6_ ? ip + 4 : ip + 2, static_cast<std::uint16_t>(is_ipv6_ ? udp_bytes : udp_bytes + kIpv4Bytes));
  store_be(udp + 4, static_cast<std::uint16_t>(udp_bytes));
  joiner.add(pieces[0].first(kBthBytes));
  joiner.joined()[masked_bytes_ + 4] = kOnes;  // FECN, BECN
  if (const auto behind = pieces[0].subspan(kBthBytes); !behind.empty()) joiner.add(behind);
  for (const auto piece : pieces.subspan(1)) {
    if (!piece.empty()) joiner.add(piece);
  }
  return joiner.finish();
}

std::uint32_t IcrcFlow::compute(std::span<const std::byte> bth_to_pad) const noexcept { return compute(std::span(&bth_to_pad, 1)); }

std::uint32_t IcrcFlow::difference(std::span<const std::byte> udp_payload) const noexcept {
  const std::size_t covered = udp_payload.size() - kIcrcBytes;
  return byte_swapped(load_be<std::uint32_t>(&udp_payload[covered])) ^ compute(udp_payload.first(covered));
}

bool IcrcFlow::is_valid(std::span<const std::byte> udp_payload) const noexcept {
  return udp_payload.size() >= kBthBytes + kIcrcBytes && difference(udp_payload) == 0;
}

bool IcrcFlow::is_valid(std::span<const std::byte> udp_payload, std::optional<std::uint16_t> identification, IdentificationEffects& effects) const noexcept {
  if (is_ipv6_) return is_valid(udp_payload);
  if (udp_payload.size() < kBthBytes + kIcrcBytes) return false;
  const std::uint32_t found = difference(udp_payload);
  if (identification) return found == effects.of(*identification, udp_payload.size());
  return effects.explain(found, udp_payload.size());
}

void IcrcFlow::seal(std::span<std::byte> udp_payload) const noexcept {
  assert(udp_payload.size() >= kBthBytes + kIcrcBytes);
  const std::size_t covered = udp_payload.size() - kIcrcBytes;
  store_icrc(&udp_payload[covered], compute(std::span<const std::byte>(udp_payload.first(covered))));
}

std::uint32_t icrc_of_l3_packet(std::span<const std::byte> l3, bool is_grh) noexcept {
  std::array<std::byte, kOnesBytes + 60 + kUdpBytes + kBthBytes> masked{};
  std::memset(masked.data(), 0xff, kOnesBytes);
  if (l3.empty()) return crc32(0, std::span(masked).first(kOnesBytes));
  std::byte* const ip = &masked[kOnesBytes];
  const bool is_ipv6 = is_grh || (static_cast<std::uint8_t>(l3[0]) >> 4) == 6;
  const std::size_t ip_bytes = is_ipv6 ? kIpv6Bytes : (static_cast<std::size_t>(l3[0]) & 0x0f) * 4;
  const std::size_t udp_bytes = is_grh ? 0 : kUdpBytes;
  const std::size_t headers = ip_bytes + udp_bytes + kBthBytes;
  if (ip_bytes < kIpv4Bytes || l3.size() < headers) return crc32(crc32(0, std::span(masked).first(kOnesBytes)), l3);
  std::memcpy(ip, l3.data(), headers);
  if (is_ipv6) {
    ip[0] |= std::byte{0x0f};
    ip[1] = ip[2] = ip[3] = ip[7] = kOnes;
  } else {
    ip[1] = ip[8] = ip[10] = ip[11] = kOnes;
  }
  if (!is_grh) ip[ip_bytes + 6] = ip[ip_bytes + 7] = kOnes;
  ip[ip_bytes + udp_bytes + 4] = kOnes;
  return crc32(crc32(0, std::span(masked).first(kOnesBytes + headers)), l3.subspan(headers));
}

}  // namespace ina::wire
