// message_network.hpp: in-memory messages between the ranks of one communicator, with seeded delays and failures.
// Used by the tests of the software schedule.
// Keeps MPI's order: messages of one sender, receiver and tag do not overtake.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include "ompi_coll_ina/core/messenger.hpp"

namespace ina::test {

class MessageNetwork {
 public:
  explicit MessageNetwork(std::uint64_t seed, int size) : random_(seed) {
    for (int rank = 0; rank < size; ++rank) ranks_.push_back(std::make_unique<Rank>(*this, rank));
  }
  [[nodiscard]] core::Messenger& of(int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  // Requests that nobody has tested to their end.
  [[nodiscard]] std::size_t outstanding() const { return outstanding_; }

  // Matches one send with its receive, chosen at random. False: there is none.
  bool step() {
    std::vector<Channel*> ready;
    for (auto& [key, channel] : channels_) {
      if (!channel.sends.empty() && !channel.receives.empty()) ready.push_back(&channel);
    }
    if (ready.empty()) return false;
    Channel& channel = *ready[std::uniform_int_distribution<std::size_t>(0, ready.size() - 1)(random_)];
    Request* send = channel.sends.front();
    Request* receive = channel.receives.front();
    channel.sends.pop_front();
    channel.receives.pop_front();
    assert(send->bytes <= receive->bytes);
    std::memcpy(receive->to, send->from, send->bytes);
    receive->bytes = send->bytes;
    const bool is_lost = fail_after == 0;
    if (fail_after > 0) --fail_after;
    send->status = receive->status = is_lost ? -1 : 1;
    return true;
  }

  // Everything that is outstanding reports failure, as when a peer has died.
  void fail_all() {
    for (auto& [key, channel] : channels_) {
      for (auto* queue : {&channel.sends, &channel.receives}) {
        for (Request* request : *queue) request->status = -1;
        queue->clear();
      }
    }
  }

  int fail_after = -1;  // matches from now until they report failure; -1: never

 private:
  struct Request {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::size_t bytes = 0;
    int status = 0;
  };
  struct Channel {
    std::deque<Request*> sends, receives;
  };
  class Rank final : public core::Messenger {
   public:
    Rank(MessageNetwork& network, int rank) : network_(network), rank_(rank) {}
    int isend(void* peers, int peer, int tag, const std::byte* buffer, std::size_t bytes, void** request) noexcept override {
      *request = network_.post(network_.channels_[{peers, rank_, peer, tag}].sends, {.from = buffer, .bytes = bytes});
      return 0;
    }
    int irecv(void* peers, int peer, int tag, std::byte* buffer, std::size_t bytes, void** request) noexcept override {
      *request = network_.post(network_.channels_[{peers, peer, rank_, tag}].receives, {.to = buffer, .bytes = bytes});
      return 0;
    }
    int test(void** request, std::size_t* received) noexcept override {
      auto* posted = static_cast<Request*>(*request);
      const int status = posted->status;
      if (status == 0) return 0;
      *received = posted->bytes;
      network_.free(request);
      return status;
    }
    void cancel(void** request) noexcept override {
      for (auto& [key, channel] : network_.channels_) std::erase(channel.receives, static_cast<Request*>(*request));
      network_.free(request);
    }

   private:
    MessageNetwork& network_;
    int rank_;
  };

  Request* post(std::deque<Request*>& queue, const Request& request) {
    queue.push_back(new Request(request));
    ++outstanding_;
    return queue.back();
  }
  void free(void** request) {
    delete static_cast<Request*>(*request);
    *request = nullptr;
    --outstanding_;
  }

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::map<std::tuple<void*, int, int, int>, Channel> channels_;
  std::size_t outstanding_ = 0;
};

}  // namespace ina::test
