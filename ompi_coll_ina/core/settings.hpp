// settings.hpp: the component's settings, checked, in the core's own types.
// Made once by ina_core_create() from ina_settings; everything in the core reads them.
// Reads no environment: the border has been given its values.
#pragma once

#include <cstdint>
#include <string>

#include "ompi_coll_ina/core/ina_core.h"
#include "ompi_coll_ina/core/switch_address.hpp"

namespace ina::core {

enum class Select : std::uint8_t { kAuto, kAlways, kNever };

struct Settings {
  int verbose = 0;
  SwitchAddress switch_address;
  Select select = Select::kAuto;
  std::string transport;  // "auto": the leader chooses
  std::string softswitch;
  bool all_on_one_node = false;
  bool one_node = false;  // select auto does not rule communicators out whose ranks share a node
  std::uint64_t failover_ns = 250'000'000;
  int world_rank = 0;
  int world_size = 1;
  int world_tag = 0;
};

// Throws Error (bad setting).
[[nodiscard]] Settings make_settings(const ina_settings&);

}  // namespace ina::core
