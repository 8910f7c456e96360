// byte_cursor.hpp: writing and reading the messages that members of a group send to each other, big endian, with every length checked.
// Used by the codecs of decisions and of life messages.
// Not for the packet path: it may allocate.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/bytes.hpp"

namespace ina::core {

class ByteWriter {
 public:
  template <std::unsigned_integral T>
  ByteWriter& put(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    wire::store_be<T>(bytes_.data() + at, value);
    return *this;
  }
  // Length (16 bits), then the bytes. Longer input is cut: callers bound what must not be.
  ByteWriter& put_bytes(std::span<const std::byte> value) {
    value = value.first(value.size() < 65535 ? value.size() : 65535);
    put(static_cast<std::uint16_t>(value.size()));
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  ByteWriter& put_text(std::string_view text, std::size_t most) {
    return put_bytes(std::as_bytes(std::span(text.substr(0, most))));
  }
  [[nodiscard]] std::vector<std::byte> take() noexcept { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// After a read beyond the end every further read gives zeros and ok() is false for good.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}
  template <std::unsigned_integral T>
  [[nodiscard]] T get() noexcept {
    if (rest_.size() < sizeof(T)) return fail<T>();
    const T value = wire::load_be<T>(rest_.data());
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  [[nodiscard]] std::span<const std::byte> get_bytes(std::size_t most) noexcept {
    const std::size_t length = get<std::uint16_t>();
    if (length > rest_.size() || length > most) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const auto value = rest_.first(length);
    rest_ = rest_.subspan(length);
    return value;
  }
  [[nodiscard]] std::string get_text(std::size_t most) {
    std::string text;
    for (const std::byte byte : get_bytes(most)) {
      const auto character = static_cast<unsigned char>(byte);
      text.push_back(character >= 0x20 && character != 0x7f ? static_cast<char>(character) : '?');
    }
    return text;
  }
  [[nodiscard]] bool ok() const noexcept { return ok_; }
  // Everything was read, nothing beyond the end.
  [[nodiscard]] bool finished() const noexcept { return ok_ && rest_.empty(); }

 private:
  template <typename T>
  T fail() noexcept {
    ok_ = false;
    rest_ = {};
    return T{};
  }
  std::span<const std::byte> rest_;
  bool ok_ = true;
};

}  // namespace ina::core
