// corruption.hpp: damages an encoded message in every small way that a table of tests wants to see survived.
// Used by the tests of the codecs.
// Does not know what is right: the caller's check does.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ina::test {

// Calls check(bytes) for every truncation of `message`, each in an allocation of exactly that size, so that a sanitizer sees
// every byte read behind the end.
template <typename Check>
void for_every_truncation(std::span<const std::byte> message, Check&& check) {
  for (std::size_t size = 0; size < message.size(); ++size) {
    const std::vector<std::byte> bytes(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size));
    check(std::span<const std::byte>(bytes));
  }
}

// Calls check(bytes, position) for every other value of every byte.
template <typename Check>
void for_every_corruption(std::span<const std::byte> message, Check&& check) {
  std::vector<std::byte> bytes(message.begin(), message.end());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const std::byte right = bytes[at];
    for (unsigned value = 0; value < 256; ++value) {
      bytes[at] = static_cast<std::byte>(value);
      if (bytes[at] != right) check(std::span<const std::byte>(bytes), at);
    }
    bytes[at] = right;
  }
}

}  // namespace ina::test
