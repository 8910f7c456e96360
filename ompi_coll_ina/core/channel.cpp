#include "ompi_coll_ina/core/channel.hpp"

#include <span>

namespace ina::core {

void Channel::open() {
  if (is_open_) return;
  is_open_ = true;
  for (Receive& receive : receives_) receive.buffer.resize(kMaxLifeMessage);
  for (Receive& receive : receives_) post(receive);
}

void Channel::close() noexcept {
  if (!is_open_) return;
  is_open_ = false;
  for (Receive& receive : receives_) {
    if (receive.request != nullptr) host_.cancel(&receive.request);
    receive.request = nullptr;
  }
}

void Channel::post(Receive& receive) noexcept {
  if (host_.irecv(INA_WORLD, INA_ANY_SOURCE, tag_, receive.buffer.data(), receive.buffer.size(), &receive.request) == 0) return;
  receive.request = nullptr;
  has_failed_ = true;
}

void Channel::send(int world_rank, const LifeMessage& message) {
  open();
  if (world_rank == world_rank_) {
    to_self_.push_back(message);
  } else {
    sends_.send(INA_WORLD, world_rank, tag_, encode(message), nullptr);
  }
}

// Receives are posted in a circle, so messages match them in that order; handling them in it keeps each sender's order.
unsigned Channel::receive() {
  unsigned events = 0;
  while (is_open_ && receives_[oldest_].request != nullptr) {
    Receive& receive = receives_[oldest_];
    std::size_t bytes = 0;
    int source = 0;
    const int status = host_.test(&receive.request, &bytes, &source);
    if (status == 0) break;
    ++events;
    oldest_ = (oldest_ + 1) % kReceives;
    if (status < 0) {
      has_failed_ = true;
      break;
    }
    auto message = decode_life_message(std::span(receive.buffer).first(bytes < receive.buffer.size() ? bytes : receive.buffer.size()));
    post(receive);
    if (message) {
      handler_(source, std::move(*message));
    } else {
      ++refused_;
    }
  }
  return events;
}

unsigned Channel::progress() {
  unsigned events = sends_.progress();
  for (std::size_t left = to_self_.size(); left != 0; --left) {
    LifeMessage message = std::move(to_self_.front());
    to_self_.pop_front();
    handler_(world_rank_, std::move(message));
    ++events;
  }
  return events + receive();
}

}  // namespace ina::core
