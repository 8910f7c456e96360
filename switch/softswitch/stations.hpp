// stations.hpp: the ends of connections that bind packets have shown: IP address, VLAN and port of each, and the headers of what is sent to it.
// Used by WireSwitch.
// Knows only what the aggregator has accepted: strangers take no room here.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "switch/aggregator/aggregator.hpp"
#include "switch/softswitch/bridge.hpp"
#include "wire/frame.hpp"
#include "wire/icrc.hpp"

namespace ina::softswitch {

// The VLAN of a frame; 0: none.
[[nodiscard]] std::uint16_t vlan_id(const wire::Frame&) noexcept;

class Stations {
 public:
  static constexpr aggregator::Endpoint kNobody{0xffffffff};

  // How packets look that reach a QP: as its neighbour's own, which the bind was.
  struct Connection {
    wire::Frame frame;  // headers alone
    wire::IcrcFlow icrc;
    std::uint32_t group;
  };

  // Who sent this frame: nobody if the address is not bound, or bound at another port.
  [[nodiscard]] aggregator::Endpoint source(const wire::Frame&, PortIndex from) const noexcept;
  [[nodiscard]] aggregator::Endpoint destination(const wire::Frame&) const noexcept;
  // For a bind packet: what both ends are called if it is accepted. New ones are kept by accept() only.
  struct Ends {
    aggregator::Endpoint source, destination;
  };
  [[nodiscard]] Ends prepare(const wire::Frame&);
  // The aggregator has learnt this bind of this group: its sender sits at this port.
  void accept(const wire::Frame&, const Ends&, PortIndex from, std::uint32_t group, std::uint32_t dest_qpn);
  // The aggregator has not.
  void withdraw() noexcept;

  [[nodiscard]] const Connection* connection(aggregator::Endpoint destination, std::uint32_t qpn) const noexcept;
  // Where it sits.
  [[nodiscard]] PortIndex port(aggregator::Endpoint endpoint) const noexcept { return ports_[static_cast<std::uint32_t>(endpoint)]; }

  // Forgets connections of groups for which is_known(group) is false.
  template <typename IsKnown>
  void purge(const IsKnown& is_known) {
    std::erase_if(groups_, [&](const auto& each) {
      if (is_known(each.first)) return false;
      for (const std::uint64_t key : each.second) {
        const auto found = connections_.find(key);
        if (found != connections_.end() && found->second.group == each.first) connections_.erase(found);
      }
      return true;
    });
  }
  [[nodiscard]] bool has_group(std::uint32_t group) const noexcept { return groups_.contains(group); }
  [[nodiscard]] std::size_t connections() const noexcept { return connections_.size(); }

 private:
  struct Key {
    wire::UdpAddress ip;  // port: the VLAN
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept { return wire::UdpAddressHash{}(key.ip); }
  };
  [[nodiscard]] static Key key_of(const wire::UdpAddress&, const wire::Frame&) noexcept;
  [[nodiscard]] aggregator::Endpoint find(const Key&) const noexcept;
  [[nodiscard]] aggregator::Endpoint find_or_add(const Key&);
  [[nodiscard]] static std::uint64_t connection_key(aggregator::Endpoint destination, std::uint32_t qpn) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(destination)} << 24 | qpn;
  }

  std::unordered_map<Key, aggregator::Endpoint, KeyHash> endpoints_;
  std::vector<PortIndex> ports_;  // by endpoint
  std::vector<Key> added_;  // since prepare()
  std::unordered_map<std::uint64_t, Connection> connections_;
  std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> groups_;
};

}  // namespace ina::softswitch
