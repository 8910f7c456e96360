// wire_port.hpp: the switch in the wire, for vectors: Ethernet frames in at a port, frames out at ports.
// Used by the runner of .stf files.
// Has heard of its hosts beforehand, one a port, as a switch has that has forwarded what they did before they bound.
#pragma once

#include <vector>

#include "switch/aggregator/aggregator.hpp"
#include "switch/softswitch/wire_switch.hpp"
#include "wire/address.hpp"
#include "wire/frame.hpp"

namespace ina::test {

struct Output {
  unsigned port;
  std::vector<std::byte> frame;
};

class WirePort final : private softswitch::FrameOutbox {
 public:
  void add_host(unsigned port, const wire::UdpAddress& ip, const wire::MacAddress& mac);
  [[nodiscard]] std::vector<Output> receive(unsigned port, std::vector<std::byte> frame);
  [[nodiscard]] aggregator::Aggregator& aggregator() noexcept { return aggregator_; }

 private:
  static constexpr softswitch::PortIndex kPorts = 16;
  void send(softswitch::PortIndex, const softswitch::FramePieces&) noexcept override;
  void before_change(std::span<const std::byte>) noexcept override {}

  aggregator::Aggregator aggregator_{{.slots = 1024}};
  softswitch::WireSwitch switch_{aggregator_, *this, kPorts, 1, [](std::uint32_t) {}};
  std::vector<Output> out_;
};

}  // namespace ina::test
