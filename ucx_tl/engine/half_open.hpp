// half_open.hpp: how many connections each host has begun and never used, so that one host cannot take all QPs of an interface.
// Used by Connector, for passive connections.
// Counts beginnings only, so that using and closing a connection costs nothing: the caller counts anew when asked to.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "ucx_tl/engine/clock.hpp"
#include "wire/address.hpp"

namespace ina::engine {

class HalfOpen {
 public:
  // limit: of one IP address, whatever the port.
  explicit HalfOpen(std::uint32_t limit) noexcept : limit_(limit) {}

  [[nodiscard]] bool has_room_for(const wire::UdpAddress& host) const noexcept {
    const auto found = begun_.find(host_of(host));
    return found == begun_.end() || found->second < limit_;
  }
  void add(const wire::UdpAddress& host) {  // throws std::bad_alloc
    ++begun_[host_of(host)];
    ++since_counted_;
  }
  // Who has no room may have used or closed what he began; one that begins again and again does not make us count all the time.
  [[nodiscard]] bool wants_count(const wire::UdpAddress& host, Nanoseconds now) const noexcept {
    return now >= next_count_ && (since_counted_ >= limit_ || !has_room_for(host));
  }
  // Then: add() for each connection that is half open now.
  void begin_count(Nanoseconds now) noexcept {
    begun_.clear();
    next_count_ = now + kBetweenCounts;
  }
  void end_count() noexcept { since_counted_ = 0; }

 private:
  static constexpr Nanoseconds kBetweenCounts = 100 * kMillisecond;
  [[nodiscard]] static wire::UdpAddress host_of(wire::UdpAddress address) noexcept {
    address.port = 0;
    return address;
  }

  std::uint32_t limit_;
  std::uint32_t since_counted_ = 0;
  Nanoseconds next_count_ = 0;
  std::unordered_map<wire::UdpAddress, std::uint32_t, wire::UdpAddressHash> begun_;
};

}  // namespace ina::engine
