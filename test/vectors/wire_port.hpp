// wire_port.hpp: a bump in the wire around the aggregator, for vectors: Ethernet frames in at a port, frames out at ports.
// Used by the runner of .stf files.
// Knows its hosts beforehand, one a port; learns UDP source ports from binds, as a switch must.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "switch/aggregator/aggregator.hpp"
#include "wire/frame.hpp"

namespace ina::test {

struct Output {
  unsigned port;
  std::vector<std::byte> frame;
};

class WirePort final : private aggregator::Emitter {
 public:
  void add_host(unsigned port, const wire::UdpAddress& ip, const wire::MacAddress& mac);
  [[nodiscard]] std::vector<Output> receive(unsigned port, std::vector<std::byte> frame);
  [[nodiscard]] aggregator::Aggregator& aggregator() noexcept { return aggregator_; }

 private:
  struct Host {
    wire::UdpAddress ip;  // port 0
    wire::MacAddress mac;
  };
  // The host that has this IP address, if the frame came in at its port (0: any).
  [[nodiscard]] aggregator::Endpoint endpoint(wire::UdpAddress ip, unsigned port) const;
  void emit(const aggregator::MadePacket&) noexcept override;

  std::map<unsigned, Host> hosts_;
  std::map<std::pair<aggregator::Endpoint, std::uint32_t>, std::uint16_t> source_ports_;  // by destination and QPN there
  aggregator::Aggregator aggregator_{{.slots = 1024}};
  std::vector<Output> out_;
};

}  // namespace ina::test
