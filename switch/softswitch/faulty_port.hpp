// faulty_port.hpp: a port that lets every frame through a fault injector, on its way in and on its way out.
// Used by WirePath when it is to inject faults.
// Copies everything; without faults the port is used directly.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "switch/softswitch/fault_injector.hpp"
#include "switch/softswitch/frame_port.hpp"

namespace ina::softswitch {

class FaultyPort final : public FramePort {
 public:
  using Injector = LabelledFaultInjector<Offload>;

  // The injectors outlive this port.
  FaultyPort(std::unique_ptr<FramePort> behind, Injector& inward, Injector& outward) : behind_(std::move(behind)), inward_(inward), outward_(outward) {}

  [[nodiscard]] std::span<const ArrivedFrame> receive() noexcept override {
    arrived_.clear();
    in_.clear();
    for (const ArrivedFrame& frame : behind_->receive()) {
      inward_.pass(frame.offload, frame.bytes, [&](const Offload& offload, std::span<std::byte> bytes) {
        in_.emplace_back(bytes.begin(), bytes.end());
        arrived_.push_back({.bytes = in_.back(), .offload = offload});
      });
    }
    return arrived_;
  }
  void send(const FramePieces& pieces) noexcept override {
    std::vector<std::byte> whole;
    for (const auto piece : {pieces.head, pieces.body, pieces.tail}) whole.insert(whole.end(), piece.begin(), piece.end());
    outward_.pass(pieces.offload, whole, [&](const Offload& offload, std::span<std::byte> bytes) {
      out_.emplace_back(bytes.begin(), bytes.end());
      behind_->send({.head = {}, .body = out_.back(), .tail = {}, .offload = offload});
    });
  }
  void flush() noexcept override {
    behind_->flush();
    out_.clear();
  }
  void before_change(std::span<const std::byte>) noexcept override {}  // everything is a copy
  [[nodiscard]] std::span<const int> descriptors() const noexcept override { return behind_->descriptors(); }
  [[nodiscard]] bool takes_all_frames() const noexcept override { return behind_->takes_all_frames(); }
  [[nodiscard]] FramePortCounters counters() const noexcept override { return behind_->counters(); }

 private:
  std::unique_ptr<FramePort> behind_;
  Injector& inward_;
  Injector& outward_;
  std::deque<std::vector<std::byte>> in_, out_;
  std::vector<ArrivedFrame> arrived_;
};

}  // namespace ina::softswitch
