// relay_path.hpp: the relay as a data path: its UDP socket, fault injection on both sides of it, and the relay.
// Used by the program where it has no ports.
// Knows nothing of the manager.
#pragma once

#include <memory>
#include <string>

#include "net/descriptor.hpp"
#include "switch/softswitch/data_path.hpp"
#include "switch/softswitch/datagram_port.hpp"
#include "switch/softswitch/faulty_outbox.hpp"
#include "switch/softswitch/relay.hpp"

namespace ina::softswitch {

class RelayPath final : public DataPath {
 public:
  RelayPath(aggregator::Aggregator&, net::Descriptor socket, const Relay::Settings&, const FaultSettings&, OnBind);

  [[nodiscard]] int descriptor() const noexcept override { return port_.fd(); }
  bool serve(Time now) override;
  void add_counters(Counters&) const override;
  [[nodiscard]] std::string description() const override { return "data port " + address_; }

 private:
  std::string address_;
  DatagramPort port_;
  std::unique_ptr<FaultInjector> inward_faults_;
  std::unique_ptr<FaultyOutbox> faulty_outbox_;
  std::unique_ptr<Relay> relay_;
};

}  // namespace ina::softswitch
