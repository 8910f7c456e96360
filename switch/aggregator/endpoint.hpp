// endpoint.hpp: how an aggregator names the places that packets come from and go to, and the packet that it is handed.
// Used by the aggregator and by the ports around it (UDP relay, bump in the wire), which alone know what an Endpoint stands for.
// Holds no addresses: a relay interns registered interfaces, a switch in the wire interns addresses together with their port.
#pragma once

#include <cstdint>

#include "wire/roce.hpp"

namespace ina::aggregator {

enum class Endpoint : std::uint32_t {};

struct Arrival {
  const wire::Packet& packet;
  Endpoint source;       // who sent it
  Endpoint destination;  // where it goes if it is forwarded
  bool icrc_is_valid;
};

}  // namespace ina::aggregator
