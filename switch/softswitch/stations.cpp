#include "switch/softswitch/stations.hpp"

namespace ina::softswitch {

namespace {

constexpr std::uint16_t kVlanIdMask = 0xfff;

}  // namespace

std::uint16_t vlan_id(const wire::Frame& frame) noexcept { return frame.vlan.value_or(0) & kVlanIdMask; }

Stations::Key Stations::key_of(const wire::UdpAddress& address, const wire::Frame& frame) noexcept {
  Key key{address};
  key.ip.port = vlan_id(frame);
  return key;
}

aggregator::Endpoint Stations::find(const Key& key) const noexcept {
  const auto found = endpoints_.find(key);
  return found == endpoints_.end() ? kNobody : found->second;
}

aggregator::Endpoint Stations::source(const wire::Frame& frame, PortIndex from) const noexcept {
  const aggregator::Endpoint found = find(key_of(frame.ip.source, frame));
  return found != kNobody && port(found) == from ? found : kNobody;
}

aggregator::Endpoint Stations::destination(const wire::Frame& frame) const noexcept { return find(key_of(frame.ip.destination, frame)); }

aggregator::Endpoint Stations::find_or_add(const Key& key) {
  const auto [found, is_new] = endpoints_.try_emplace(key, static_cast<aggregator::Endpoint>(ports_.size()));
  if (is_new) {
    ports_.push_back(Bridge::kUnknown);
    added_.push_back(key);
  }
  return found->second;
}

Stations::Ends Stations::prepare(const wire::Frame& frame) {
  added_.clear();
  return {find_or_add(key_of(frame.ip.source, frame)), find_or_add(key_of(frame.ip.destination, frame))};
}

void Stations::withdraw() noexcept {
  for (const Key& key : added_) endpoints_.erase(key);
  ports_.resize(ports_.size() - added_.size());
  added_.clear();
}

void Stations::accept(const wire::Frame& frame, const Ends& ends, PortIndex from, std::uint32_t group, std::uint32_t dest_qpn) {
  ports_[static_cast<std::uint32_t>(ends.source)] = from;
  Connection connection{.frame = frame, .icrc = wire::IcrcFlow(frame.ip.source, frame.ip.destination), .group = group};
  connection.frame.l3 = connection.frame.udp_payload = {};
  connection.frame.ip.identification = 0;
  connection.frame.ip.dont_fragment = true;
  connection.frame.ip.udp_checksum = 0;
  const std::uint64_t key = connection_key(ends.destination, dest_qpn);
  connections_.insert_or_assign(key, connection);
  groups_[group].push_back(key);
}

const Stations::Connection* Stations::connection(aggregator::Endpoint destination, std::uint32_t qpn) const noexcept {
  const auto found = connections_.find(connection_key(destination, qpn));
  return found == connections_.end() ? nullptr : &found->second;
}

}  // namespace ina::softswitch
