#include "switch/softswitch/relay_path.hpp"

namespace ina::softswitch {

RelayPath::RelayPath(aggregator::Aggregator& aggregator, net::Descriptor socket, const Relay::Settings& settings, const FaultSettings& faults, OnBind on_bind)
    : address_(settings.own.text()), port_(std::move(socket)) {
  Outbox* outbox = &port_;
  if (faults.any()) {
    inward_faults_ = std::make_unique<FaultInjector>(faults.with_side(0));
    faulty_outbox_ = std::make_unique<FaultyOutbox>(port_, faults.with_side(1));
    outbox = faulty_outbox_.get();
  }
  relay_ = std::make_unique<Relay>(aggregator, *outbox, settings, std::move(on_bind));
}

bool RelayPath::serve(Time now) {
  const std::uint64_t before = port_.counters().datagrams_in;
  port_.receive([&](const wire::UdpAddress& from, std::span<std::byte> bytes) {
    if (!inward_faults_) {
      relay_->receive(from, bytes, now);
      return;
    }
    // The copy lives no longer than the call, but the faulty outbox takes a copy of its own.
    inward_faults_->pass(from, bytes, [&](const wire::UdpAddress& peer, std::span<std::byte> copy) { relay_->receive(peer, copy, now); });
  });
  port_.flush();
  if (faulty_outbox_) faulty_outbox_->flush();
  return port_.counters().datagrams_in != before;
}

void RelayPath::add_counters(Counters& all) const {
  const PortCounters& port = port_.counters();
  const RelayCounters& relay = relay_->counters();
  all.insert(all.end(), {
      {"datagrams_in", port.datagrams_in}, {"datagrams_out", port.datagrams_out}, {"bytes_in", port.bytes_in}, {"bytes_out", port.bytes_out},
      {"receive_calls", port.receive_calls}, {"receive_calls_empty", port.receive_calls_empty}, {"send_calls", port.send_calls},
      {"not_sent", port.not_sent}, {"truncated", port.truncated},
      {"interfaces", relay_->interfaces()}, {"registered", relay.registered}, {"registrations_refused", relay.refused},
      {"forwarded", relay.forwarded}, {"absorbed", relay.absorbed}, {"made", relay.made},
      {"dropped_undecodable", relay.undecodable}, {"dropped_bad_icrc", relay.bad_icrc}, {"dropped_not_registered", relay.not_registered},
      {"dropped_no_such_qpn", relay.no_such_qpn}, {"dropped_bad_message", relay.bad_message}, {"dropped_receiver_gone", relay.receiver_gone},
  });
  if (inward_faults_) add_fault_counters(all, "in", inward_faults_->counters());
  if (faulty_outbox_) add_fault_counters(all, "out", faulty_outbox_->counters());
}

}  // namespace ina::softswitch
