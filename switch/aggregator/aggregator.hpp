// aggregator.hpp: the software aggregator: groups, and which of them a packet belongs to (PROTOCOL.md 4).
// Used by the ports around it (ina-softswitch), by tests, and by the manager through SwitchControl.
// Has no sockets, no clock and no log; nothing is allocated between activate() and remove().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "switch/aggregator/group.hpp"
#include "wire/limits.hpp"

namespace ina::aggregator {

struct AggregatorSettings {
  std::uint32_t slots = 8192;
  std::size_t payload = wire::kMaxPayload;
  std::uint16_t members = 256;
  std::uint32_t min_window = wire::kMinWindow;
  std::uint32_t max_window = 128;
};

using DropCounters = std::array<std::uint64_t, static_cast<std::size_t>(Drop::kCount)>;

class Aggregator final : public SwitchControl {
 public:
  explicit Aggregator(const AggregatorSettings& settings) : settings_(settings) {}

  // One packet. What it makes goes to the emitter during the call; what becomes of the packet itself is the answer.
  [[nodiscard]] Outcome receive(const Arrival&, Emitter&) noexcept;

  // Whether the ICRC of this packet from there matters here. All else is forwarded, whatever it says.
  [[nodiscard]] bool relies_on(const wire::Packet&, Endpoint source) const noexcept;
  [[nodiscard]] bool knows(std::uint32_t group) const noexcept { return groups_.contains(group); }
  // The largest chunk payload of groups that are prepared from now on.
  void set_payload(std::size_t payload) noexcept { settings_.payload = payload; }

  [[nodiscard]] const DropCounters& drops() const noexcept { return drops_; }
  [[nodiscard]] GroupCounters totals() const;  // of all groups, removed ones included
  [[nodiscard]] std::uint32_t slots_free() const noexcept { return settings_.slots - slots_held_; }

  [[nodiscard]] Capabilities capabilities() const override;
  [[nodiscard]] bool prepare(const GroupSpec&) override;
  [[nodiscard]] std::size_t binds_seen(std::uint32_t group) const override;
  [[nodiscard]] std::vector<std::uint16_t> unbound_connections(std::uint32_t group) const override;
  [[nodiscard]] bool activate(std::uint32_t group) override;
  void remove(std::uint32_t group) override;
  [[nodiscard]] GroupCounters counters(std::uint32_t group) const override;

 private:
  // ACKs name the QP of the sender only; with who sent them they name the connection. The source is part of the key so that a bind
  // can only ever claim acknowledgements of the endpoint that sent it.
  struct AckKey {
    Endpoint source;
    std::uint32_t qpn;
    bool operator==(const AckKey&) const = default;
  };
  struct AckKeyHash {
    std::size_t operator()(const AckKey& key) const noexcept {
      return std::hash<std::uint64_t>{}(((std::uint64_t{static_cast<std::uint32_t>(key.source)} << 24) ^ key.qpn) * 0x9e3779b97f4a7c15);
    }
  };
  struct Acknowledged {
    Group* group;
    std::uint16_t connection;
  };

  [[nodiscard]] Outcome dispatch(const Arrival&, Emitter&) noexcept;
  [[nodiscard]] Group* find(std::uint32_t group) noexcept;
  [[nodiscard]] const Group* find(std::uint32_t group) const noexcept;
  [[nodiscard]] bool is_acceptable(const GroupSpec&) const noexcept;

  AggregatorSettings settings_;
  std::uint32_t slots_held_ = 0;
  std::unordered_map<std::uint32_t, std::unique_ptr<Group>> groups_;
  std::unordered_map<AckKey, Acknowledged, AckKeyHash> acknowledged_;
  Group* last_found_ = nullptr;  // packets of one group come in runs
  DropCounters drops_{};
  GroupCounters removed_;  // counters of groups that are gone
};

}  // namespace ina::aggregator
