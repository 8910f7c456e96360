#include "ompi_coll_ina/core/host.hpp"

#include <algorithm>

namespace ina::core {

void SendQueue::send(void* comm, int peer, int tag, std::vector<std::byte> bytes, std::shared_ptr<CommHold> hold) {
  sends_.push_back({.bytes = std::move(bytes), .request = nullptr, .hold = std::move(hold)});
  Send& last = sends_.back();
  if (host_.isend(comm, peer, tag, last.bytes.data(), last.bytes.size(), &last.request) == 0) return;
  sends_.pop_back();
  has_failed_ = true;
}

unsigned SendQueue::progress() noexcept {
  unsigned events = 0;
  for (Send& send : sends_) {
    std::size_t bytes = 0;
    const int status = host_.test(&send.request, &bytes);
    if (status == 0) continue;
    if (status < 0) has_failed_ = true;
    send.bytes.clear();
    send.request = nullptr;
    ++events;
  }
  if (events != 0) std::erase_if(sends_, [](const Send& send) { return send.request == nullptr; });
  return events;
}

}  // namespace ina::core
