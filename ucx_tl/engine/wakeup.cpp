#include "ucx_tl/engine/wakeup.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "ucx_tl/engine/error.hpp"

namespace ina::engine {

Wakeup::Wakeup(int packet_descriptor) {
  set_ = epoll_create1(EPOLL_CLOEXEC);
  event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  for (const int member : {packet_descriptor, event_}) {
    epoll_event wanted{.events = EPOLLIN, .data = {.fd = member}};
    if (set_ >= 0 && member >= 0 && epoll_ctl(set_, EPOLL_CTL_ADD, member, &wanted) == 0) continue;
    const std::string reason = std::strerror(errno);
    close_all();
    throw Error(Failure::kSystem, "cannot make an event descriptor: " + reason);
  }
}

Wakeup::~Wakeup() { close_all(); }

void Wakeup::close_all() noexcept {
  if (set_ >= 0) close(set_);
  if (event_ >= 0) close(event_);
}

void Wakeup::signal() noexcept {
  if (is_signalled_) return;
  const std::uint64_t one = 1;
  is_signalled_ = write(event_, &one, sizeof one) == sizeof one;
}

void Wakeup::clear() noexcept {
  if (!is_signalled_) return;
  std::uint64_t count = 0;
  is_signalled_ = read(event_, &count, sizeof count) != sizeof count;
}

}  // namespace ina::engine
