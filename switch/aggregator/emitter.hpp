// emitter.hpp: where packets go that the aggregator makes: results and NAKs.
// Implemented by the ports around the aggregator, which batch, add the ICRC and send.
// Does not carry forwarded packets: those the caller of Aggregator::receive still has, and the outcome tells it to pass them on.
#pragma once

#include <cstddef>
#include <span>

#include "switch/aggregator/endpoint.hpp"

namespace ina::aggregator {

// The bytes from the BTH to the pad in three pieces. head and tail are valid during the call only. lanes refer to slot memory: it stays
// as it is until before_change() names it, or until the group is removed. Compute the ICRC during the call, so that a copy that is sent
// later by some mistake cannot pass for a result.
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
  // These lanes are about to be overwritten: whoever still refers to them sends now. A result that nobody needs any more may be among
  // them, since a repetition is answered although its sender has gone on meanwhile.
  virtual void before_change(std::span<const std::byte> /*lanes*/) noexcept {}
};

}  // namespace ina::aggregator
