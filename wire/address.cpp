// address.cpp: numeric UDP addresses by inet_pton and inet_ntop, no resolver.
#include "wire/address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>

namespace ina::wire {
namespace {

// ::ffff:a.b.c.d: on the wire such packets are IPv4, so the address is.
bool is_mapped(const std::uint8_t* ip) noexcept {
  static constexpr std::uint8_t kPrefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(ip, kPrefix, sizeof kPrefix) == 0;
}

std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return port;
}

bool parse_ip(std::string_view text, int family, std::uint8_t* to) noexcept {
  char zero_terminated[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof zero_terminated || text.find('\0') != std::string_view::npos) return false;
  std::memcpy(zero_terminated, text.data(), text.size());
  zero_terminated[text.size()] = '\0';
  return inet_pton(family, zero_terminated, to) == 1;
}

UdpAddress ipv6_address(const std::uint8_t* ip, std::uint16_t port) noexcept {
  UdpAddress address{.port = port};
  address.is_ipv6 = !is_mapped(ip);
  if (address.is_ipv6) {
    std::memcpy(address.ip.data(), ip, 16);
  } else {
    std::memcpy(address.ip.data(), ip + 12, 4);
  }
  return address;
}

}  // namespace

socklen_t UdpAddress::to_sockaddr(sockaddr_storage& to) const noexcept {
  to = {};
  if (is_ipv6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    std::memcpy(&address.sin6_addr, ip.data(), 16);
    std::memcpy(&to, &address, sizeof address);
    return sizeof address;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  std::memcpy(&address.sin_addr, ip.data(), 4);
  std::memcpy(&to, &address, sizeof address);
  return sizeof address;
}

std::optional<UdpAddress> UdpAddress::from_sockaddr(const sockaddr_storage& from) noexcept {
  if (from.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &from, sizeof in);
    UdpAddress address{.port = ntohs(in.sin_port)};
    std::memcpy(address.ip.data(), &in.sin_addr, 4);
    return address;
  }
  if (from.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &from, sizeof in);
    return ipv6_address(in.sin6_addr.s6_addr, ntohs(in.sin6_port));
  }
  return std::nullopt;
}

std::string UdpAddress::ip_text() const {
  char numeric[INET6_ADDRSTRLEN] = "";
  inet_ntop(is_ipv6 ? AF_INET6 : AF_INET, ip.data(), numeric, sizeof numeric);
  return numeric;
}

std::string UdpAddress::text() const {
  const std::string host = ip_text();
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::optional<UdpAddress> UdpAddress::parse(std::string_view text) noexcept {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  std::array<std::uint8_t, 16> ip{};
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    if (!parse_ip(host.substr(1, host.size() - 2), AF_INET6, ip.data())) return std::nullopt;
    return ipv6_address(ip.data(), *port);
  }
  if (!parse_ip(host, AF_INET, ip.data())) return std::nullopt;
  return UdpAddress{.ip = ip, .port = *port};
}

std::size_t UdpAddressHash::operator()(const UdpAddress& address) const noexcept {
  std::uint64_t words[2];
  std::memcpy(words, address.ip.data(), sizeof words);
  // Multiply and fold: senders of a site differ in few low bits only.
  std::uint64_t hash = words[0] ^ (words[1] * 0x9e3779b97f4a7c15ULL) ^ (std::uint64_t{address.port} << 48) ^ (address.is_ipv6 ? 1 : 0);
  hash *= 0xff51afd7ed558ccdULL;
  hash ^= hash >> 32;
  hash *= 0xc4ceb9fe1a85ec53ULL;
  return static_cast<std::size_t>(hash ^ (hash >> 29));
}

}  // namespace ina::wire
