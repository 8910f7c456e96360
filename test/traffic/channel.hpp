// channel.hpp: what both sides of uct_traffic tell each other beside the transport: addresses, and the end.
// Used by Side.
// Does not wait where the caller has to make progress meanwhile: try_receive returns what is complete.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "test/traffic/check.hpp"

namespace traffic {

using Bytes = std::vector<std::byte>;

class Channel {
 public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}

  // What does not fit into the socket yet goes out with later calls.
  void send(const Bytes& message) {
    const std::uint64_t length = message.size();
    const auto* const bytes = reinterpret_cast<const std::byte*>(&length);
    outgoing_.insert(outgoing_.end(), bytes, bytes + sizeof length);
    outgoing_.insert(outgoing_.end(), message.begin(), message.end());
    write_some();
  }

  [[nodiscard]] Bytes receive() {
    while (true) {
      if (auto message = try_receive()) return *message;
      pollfd wanted{.fd = descriptor_, .events = events(), .revents = 0};
      (void)poll(&wanted, 1, -1);
    }
  }

  [[nodiscard]] std::optional<Bytes> try_receive() {
    write_some();
    pollfd wanted{.fd = descriptor_, .events = POLLIN, .revents = 0};
    while (poll(&wanted, 1, 0) == 1) {
      std::array<std::byte, 65536> part;
      const ssize_t count = recv(descriptor_, part.data(), part.size(), MSG_DONTWAIT);
      if (count <= 0) {
        if (has_message()) break;
        fail("the other side is gone");
      }
      pending_.insert(pending_.end(), part.begin(), part.begin() + count);
    }
    if (!has_message()) return std::nullopt;
    const std::size_t length = first_length();
    const auto begin = pending_.begin() + sizeof(std::uint64_t);
    Bytes message(begin, begin + static_cast<std::ptrdiff_t>(length));
    pending_.erase(pending_.begin(), begin + static_cast<std::ptrdiff_t>(length));
    return message;
  }

  void flush() {
    while (!outgoing_.empty()) {
      pollfd wanted{.fd = descriptor_, .events = POLLOUT, .revents = 0};
      (void)poll(&wanted, 1, -1);
      write_some();
    }
  }

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] short events() const { return static_cast<short>(outgoing_.empty() ? POLLIN : POLLIN | POLLOUT); }

 private:
  [[nodiscard]] std::size_t first_length() const {
    std::uint64_t length = 0;
    std::memcpy(&length, pending_.data(), sizeof length);
    return length;
  }
  [[nodiscard]] bool has_message() const { return pending_.size() >= sizeof(std::uint64_t) && pending_.size() >= sizeof(std::uint64_t) + first_length(); }
  void write_some() {
    while (!outgoing_.empty()) {
      const ssize_t count = ::send(descriptor_, outgoing_.data(), outgoing_.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0 && errno == EAGAIN) return;
      check(count > 0, "the other side is gone");
      outgoing_.erase(outgoing_.begin(), outgoing_.begin() + count);
    }
  }

  int descriptor_;
  Bytes pending_;
  Bytes outgoing_;
};

}  // namespace traffic
