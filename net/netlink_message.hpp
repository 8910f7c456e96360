// netlink_message.hpp: rtnetlink messages: a request is put together, an answer or event is taken apart.
// Used by whoever asks the kernel for routes, neighbours and links, changes links, or listens to what happens to them.
// Opens no socket; follows no nested attributes by itself.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace ina::net {

// A message with a fixed part and attributes.
class NetlinkRequest {
 public:
  template <typename Fixed>
  NetlinkRequest(std::uint16_t type, std::uint16_t flags, std::uint32_t sequence, const Fixed& fixed) noexcept {
    header_.nlmsg_type = type;
    header_.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
    header_.nlmsg_seq = sequence;
    append(&fixed, sizeof fixed);
  }
  void add(std::uint16_t type, const void* value, std::size_t bytes) noexcept {
    const rtattr attribute{.rta_len = static_cast<unsigned short>(sizeof(rtattr) + bytes), .rta_type = type};
    append(&attribute, sizeof attribute);
    append(value, bytes);
  }
  // A fixed part inside an attribute.
  template <typename Fixed>
  void append(const Fixed& fixed) noexcept {
    append(&fixed, sizeof fixed);
  }
  // What is added until end() gets this place is inside this attribute.
  [[nodiscard]] std::size_t begin(std::uint16_t type) noexcept {
    const std::size_t at = size_;
    add(type, nullptr, 0);
    return at;
  }
  void end(std::size_t at) noexcept {
    const auto bytes = static_cast<unsigned short>(size_ - at);
    std::memcpy(&bytes_[at + offsetof(rtattr, rta_len)], &bytes, sizeof bytes);
  }
  [[nodiscard]] std::span<const std::byte> bytes() noexcept {
    header_.nlmsg_len = static_cast<std::uint32_t>(size_);
    std::memcpy(bytes_.data(), &header_, sizeof header_);
    return {bytes_.data(), size_};
  }

 private:
  void append(const void* from, std::size_t bytes) noexcept {
    assert(size_ + NLMSG_ALIGN(bytes) <= bytes_.size());
    if (bytes != 0) std::memcpy(&bytes_[size_], from, bytes);
    size_ += NLMSG_ALIGN(bytes);
  }
  nlmsghdr header_{};
  std::size_t size_ = sizeof(nlmsghdr);
  std::array<std::byte, 256> bytes_{};
};

// Calls visit(type, value) for every attribute, one behind the other.
template <typename Visit>
void for_each_nested(std::span<const std::byte> attributes, const Visit& visit) {
  std::size_t at = 0;
  while (at + sizeof(rtattr) <= attributes.size()) {
    rtattr attribute;
    std::memcpy(&attribute, &attributes[at], sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > attributes.size() - at) return;
    visit(attribute.rta_type, attributes.subspan(at + sizeof attribute, attribute.rta_len - sizeof attribute));
    at += RTA_ALIGN(attribute.rta_len);
  }
}

// The same for those behind the message's fixed part.
template <typename Visit>
void for_each_attribute(std::span<const std::byte> message, std::size_t fixed_bytes, const Visit& visit) {
  const std::size_t at = NLMSG_ALIGN(sizeof(nlmsghdr) + fixed_bytes);
  if (at < message.size()) for_each_nested(message.subspan(at), visit);
}

template <typename Fixed>
[[nodiscard]] std::optional<Fixed> fixed_part(std::span<const std::byte> message) noexcept {
  if (message.size() < sizeof(nlmsghdr) + sizeof(Fixed)) return std::nullopt;
  Fixed fixed;
  std::memcpy(&fixed, &message[sizeof(nlmsghdr)], sizeof fixed);
  return fixed;
}

}  // namespace ina::net
