// address.hpp: a UDP address (IPv4 or IPv6), its text form and its sockaddr.
// Used wherever packets have a sender and a receiver, and for HOST:PORT settings.
// Does not resolve names: that is a blocking call and belongs to set-up code (resolve.hpp).
#pragma once

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ina::wire {

struct UdpAddress {
  std::array<std::uint8_t, 16> ip{};  // IPv4: the first four bytes
  std::uint16_t port = 0;             // host order
  bool is_ipv6 = false;
  auto operator<=>(const UdpAddress&) const = default;

  [[nodiscard]] socklen_t to_sockaddr(sockaddr_storage& to) const noexcept;
  [[nodiscard]] static std::optional<UdpAddress> from_sockaddr(const sockaddr_storage& from) noexcept;
  [[nodiscard]] std::string text() const;     // "10.0.0.1:5050", "[fd00::1]:5050"
  [[nodiscard]] std::string ip_text() const;  // "10.0.0.1", "fd00::1"
  // Numeric addresses only, the form of text(). nullopt if it is anything else.
  [[nodiscard]] static std::optional<UdpAddress> parse(std::string_view text) noexcept;
};

struct UdpAddressHash {
  [[nodiscard]] std::size_t operator()(const UdpAddress&) const noexcept;
};

}  // namespace ina::wire
