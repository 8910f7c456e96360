// outbox.hpp: where the relay puts datagrams that are to be sent.
// Implemented by DatagramPort (the socket), by FaultyOutbox in front of it, and by tests.
// Knows nothing of what is in them.
#pragma once

#include <cstddef>
#include <span>

#include "wire/address.hpp"

namespace ina::softswitch {

// A datagram in three pieces. head and tail are copied; body must stay as it is until flush() or before_change() of it returns.
struct Pieces {
  std::span<const std::byte> head;  // at most 64 bytes
  std::span<const std::byte> body;
  std::span<const std::byte> tail;  // at most 8 bytes
};

class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void send(const wire::UdpAddress& to, const Pieces&) noexcept = 0;
  virtual void flush() noexcept = 0;
  // These bytes are about to be overwritten: a datagram whose body begins there is sent first.
  virtual void before_change(std::span<const std::byte> body) noexcept = 0;
};

}  // namespace ina::softswitch
