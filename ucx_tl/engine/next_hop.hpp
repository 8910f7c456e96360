// next_hop.hpp: which MAC address packets to an IP address go to, asked of the kernel's route and neighbour tables.
// Used by XdpIo through NextHopCache.
// Resolves nothing itself: an unknown neighbour is found by the kernel when a packet is sent by a socket of its own.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "ucx_tl/engine/clock.hpp"
#include "net/descriptor.hpp"
#include "wire/address.hpp"
#include "wire/frame.hpp"

namespace ina::engine {

struct NextHop {
  wire::MacAddress mac{};
  bool is_known = false;    // reached over our device, and the neighbour's MAC address is there
  bool is_certain = false;  // the kernel has heard from the neighbour lately, or needs not
};

class NextHopSource {
 public:
  virtual ~NextHopSource() = default;
  [[nodiscard]] virtual NextHop find(const wire::UdpAddress& to) noexcept = 0;
};

// The kernel's tables, by rtnetlink: two messages each way for a question.
class RouteTable final : public NextHopSource {
 public:
  RouteTable(unsigned device_index, const wire::UdpAddress& local);  // throws Error
  [[nodiscard]] NextHop find(const wire::UdpAddress& to) noexcept override;

 private:
  struct Gateway {
    wire::UdpAddress address;
  };
  [[nodiscard]] std::optional<wire::UdpAddress> find_gateway(const wire::UdpAddress& to) noexcept;
  [[nodiscard]] NextHop find_neighbour(const wire::UdpAddress& of) noexcept;
  // The answer's message; empty: none.
  [[nodiscard]] std::span<const std::byte> ask(std::span<const std::byte> question, std::uint16_t answer_type) noexcept;

  unsigned device_index_;
  wire::UdpAddress local_;
  net::Descriptor netlink_;
  std::uint32_t sequence_ = 0;
  alignas(8) std::array<std::byte, 4096> answer_{};
};

// Remembers answers for a second, so that changes are noticed; an unknown neighbour is asked for again much sooner.
class NextHopCache {
 public:
  static constexpr Nanoseconds kValid = kSecond;
  static constexpr Nanoseconds kRetry = 5 * kMillisecond;
  explicit NextHopCache(NextHopSource& source) : source_(source), entries_(new Entry[kEntries]) {}

  // nullptr: this packet is to be sent by a socket of the kernel's, because the neighbour is not known, or to let the kernel find out
  // that it is still there.
  [[nodiscard]] const wire::MacAddress* find(const wire::UdpAddress& to, Nanoseconds now) noexcept;

 private:
  static constexpr std::size_t kEntries = 1024;
  struct Entry {
    std::array<std::uint8_t, 16> ip{};
    NextHop hop;
    Nanoseconds until = 0;
  };
  NextHopSource& source_;
  std::unique_ptr<Entry[]> entries_;
};

}  // namespace ina::engine
