// emitter.hpp: where packets go that the aggregator makes: results and NAKs.
// Implemented by the ports around the aggregator, which batch, add the ICRC and send.
// Does not carry forwarded packets: those the caller of Aggregator::receive still has, and the outcome tells it to pass them on.
#pragma once

#include <cstddef>
#include <span>

#include "switch/aggregator/endpoint.hpp"

namespace ina::aggregator {

// The bytes from the BTH to the pad in three pieces. head and tail are valid during the call only. lanes refer to slot memory: they are
// not overwritten while the receiver needs the packet (PROTOCOL.md 2), but compute the ICRC during the call, so that a copy that is
// sent after a removal or by a hostile sender's doing cannot pass for a result.
struct MadePacket {
  Endpoint source;  // the end of the connection in whose name it is sent
  Endpoint destination;
  std::span<const std::byte> head;
  std::span<const std::byte> lanes;
  std::span<const std::byte> tail;
};

class Emitter {
 public:
  virtual ~Emitter() = default;
  virtual void emit(const MadePacket&) noexcept = 0;
};

}  // namespace ina::aggregator
