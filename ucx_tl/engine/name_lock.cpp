#include "ucx_tl/engine/name_lock.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace ina::engine {
namespace {

// More waiters than this look again after a millisecond.
constexpr int kBacklog = 4096;

// Until the holder is gone, which ends the connection to it, or the time is over.
void wait_for_end(const sockaddr_un& address, socklen_t length, int milliseconds) noexcept {
  const net::Descriptor waiter(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  pollfd ended{.fd = waiter.get(), .events = POLLIN, .revents = 0};
  if (!waiter || connect(waiter.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    ended.fd = -1;  // it is about to listen, or has just ended
    milliseconds = 1;
  }
  (void)poll(&ended, 1, milliseconds);
}

}  // namespace

unsigned abstract_address(const std::string& name, sockaddr_un& to) noexcept {
  to = {};
  to.sun_family = AF_UNIX;
  if (name.size() + 1 > sizeof to.sun_path) return 0;
  std::memcpy(to.sun_path + 1, name.data(), name.size());
  return static_cast<unsigned>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

NameLock::NameLock(const std::string& name, Nanoseconds at_most) {
  sockaddr_un address;
  const socklen_t length = abstract_address(name, address);
  if (length == 0) return;
  SteadyClock clock;
  const Nanoseconds end = clock.now() + at_most;
  for (Nanoseconds now = clock.now(); now < end; now = clock.now()) {
    net::Descriptor mine(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!mine) return;
    if (bind(mine.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0 && listen(mine.get(), kBacklog) == 0) {
      holder_ = std::move(mine);
      return;
    }
    if (errno != EADDRINUSE) return;
    wait_for_end(address, length, static_cast<int>((end - now) / kMillisecond + 1));
  }
}

}  // namespace ina::engine
