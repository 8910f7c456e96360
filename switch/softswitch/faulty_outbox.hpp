// faulty_outbox.hpp: an outbox that lets every datagram through a fault injector first.
// Used by the program when it is to inject faults on its way out.
// Copies everything; without faults the relay writes to the port directly.
#pragma once

#include <cstring>
#include <deque>
#include <vector>

#include "switch/softswitch/fault_injector.hpp"
#include "switch/softswitch/outbox.hpp"

namespace ina::softswitch {

class FaultyOutbox final : public Outbox {
 public:
  FaultyOutbox(Outbox& behind, const FaultSettings& settings) : behind_(behind), injector_(settings) {}

  void send(const wire::UdpAddress& to, const Pieces& pieces) noexcept override {
    std::vector<std::byte> whole;
    for (const auto piece : {pieces.head, pieces.body, pieces.tail}) whole.insert(whole.end(), piece.begin(), piece.end());
    injector_.pass(to, whole, [&](const wire::UdpAddress& peer, std::span<std::byte> bytes) {
      unsent_.emplace_back(bytes.begin(), bytes.end());
      behind_.send(peer, {.head = {}, .body = unsent_.back(), .tail = {}});
    });
  }
  void flush() noexcept override {
    behind_.flush();
    unsent_.clear();
  }
  void before_change(std::span<const std::byte>) noexcept override {}  // everything is a copy
  [[nodiscard]] const FaultCounters& counters() const noexcept { return injector_.counters(); }

 private:
  Outbox& behind_;
  FaultInjector injector_;
  std::deque<std::vector<std::byte>> unsent_;  // what `behind_` refers to until it is flushed
};

}  // namespace ina::softswitch
