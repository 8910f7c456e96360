// send_batch.hpp: a batch of messages out of a socket that does not block.
// Used by the ports that send by sendmmsg().
// Waits for nothing and tries nothing again: what the kernel does not take is lost, as in a switch whose queue is full.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <span>

namespace ina::softswitch {

struct SendCounts {
  std::uint64_t& calls;
  std::uint64_t& sent;
  std::uint64_t& not_sent;
};

inline void send_batch(int socket, std::span<mmsghdr> messages, const SendCounts& counts) noexcept {
  while (!messages.empty()) {
    ++counts.calls;
    const int sent = ::sendmmsg(socket, messages.data(), static_cast<unsigned>(messages.size()), MSG_DONTWAIT);
    if (sent > 0) {
      counts.sent += static_cast<std::uint64_t>(sent);
      messages = messages.subspan(static_cast<std::size_t>(sent));
    } else if (errno != EINTR) {
      ++counts.not_sent;  // this one only: the error belongs to it
      messages = messages.subspan(1);
    }
  }
}

}  // namespace ina::softswitch
