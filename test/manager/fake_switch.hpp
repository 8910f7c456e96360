// fake_switch.hpp: a switch that does what a manager asks and remembers it.
// Used by the manager's tests and its fuzzer.
// Handles no packet: binds are what a test says they are.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "switch/aggregator/switch_control.hpp"

namespace ina::manager {

class FakeSwitch : public aggregator::SwitchControl {
 public:
  struct Known {
    aggregator::GroupSpec spec;
    std::set<std::pair<std::uint16_t, bool>> binds;  // connection, is forward
    bool is_active = false;
  };

  aggregator::Capabilities can{.ops = {wire::Op::kSum, wire::Op::kMax},
                               .lane_types = {wire::LaneType::kInt32, wire::LaneType::kFloat64},
                               .payload = 4096,
                               .members = 256,
                               .slots = 1024,
                               .min_window = 16,
                               .max_window = 128,
                               .member_order_floats = true,
                               .aids = {"gap-nak"}};
  std::map<std::uint32_t, Known> known;
  std::vector<std::uint32_t> removed;
  std::uint32_t largest_window = 4096;  // prepare() refuses more
  bool can_activate = true;

  [[nodiscard]] aggregator::Capabilities capabilities() const override { return can; }
  [[nodiscard]] bool prepare(const aggregator::GroupSpec& spec) override {
    if (spec.window > largest_window) return false;
    return known.emplace(spec.group, Known{spec, {}, false}).second;
  }
  [[nodiscard]] std::size_t binds_seen(std::uint32_t group) const override { return known.at(group).binds.size(); }
  [[nodiscard]] std::vector<std::uint16_t> unbound_connections(std::uint32_t group) const override {
    const Known& k = known.at(group);
    std::vector<std::uint16_t> unbound;
    for (std::uint16_t c = 0; c < k.spec.members; ++c)
      if (!k.binds.contains({c, true}) || !k.binds.contains({c, false})) unbound.push_back(c);
    return unbound;
  }
  [[nodiscard]] bool activate(std::uint32_t group) override {
    Known& k = known.at(group);
    if (!can_activate || k.binds.size() != std::size_t{2} * k.spec.members) return false;
    k.is_active = true;
    return true;
  }
  void remove(std::uint32_t group) override {
    known.erase(group);
    removed.push_back(group);
  }
  [[nodiscard]] aggregator::GroupCounters counters(std::uint32_t) const override { return {.contributions = 5, .results = 1}; }

  void bind(std::uint32_t group, std::uint16_t connection, bool is_forward) { known.at(group).binds.insert({connection, is_forward}); }
  void bind_all(std::uint32_t group) {
    for (std::uint16_t c = 0; c < known.at(group).spec.members; ++c) {
      bind(group, c, true);
      bind(group, c, false);
    }
  }
};

}  // namespace ina::manager
