// relay.hpp: the UDP relay (PROTOCOL.md 5) around the aggregator: one datagram in, any number out.
// Used by the program's loop, by tests and by the fuzzer.
// Has no socket and no clock: datagrams and the time come with the call, what it sends goes to the outbox.
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "switch/aggregator/aggregator.hpp"
#include "switch/softswitch/interfaces.hpp"
#include "switch/softswitch/outbox.hpp"
#include "wire/identification.hpp"

namespace ina::softswitch {

struct RelayCounters {
  std::uint64_t forwarded = 0, absorbed = 0, made = 0;
  std::uint64_t registered = 0, refused = 0;
  // drops of the relay's own; those of the aggregator are Aggregator::drops()
  std::uint64_t undecodable = 0;      // no RoCE packet
  std::uint64_t bad_icrc = 0;
  std::uint64_t not_registered = 0;   // source
  std::uint64_t no_such_qpn = 0;      // destination
  std::uint64_t bad_message = 0;      // to the relay's own QPN, and no register message
  std::uint64_t receiver_gone = 0;    // made for an interface that has gone
};

class Relay final : private aggregator::Emitter {
 public:
  struct Settings {
    wire::UdpAddress own;
    std::uint64_t instance;
    std::uint16_t first_block = 0;
  };
  using OnBind = std::function<void(std::uint32_t group)>;

  Relay(aggregator::Aggregator& aggregator, Outbox& outbox, const Settings& settings, OnBind on_bind);

  // The bytes may be changed, and must stay until the outbox is flushed.
  void receive(const wire::UdpAddress& from, std::span<std::byte> bytes, Time now) noexcept;

  [[nodiscard]] const RelayCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] std::size_t interfaces() const noexcept { return interfaces_.count(); }

 private:
  void receive_message(const wire::UdpAddress& from, const wire::Packet&, std::span<const std::byte> bytes, Time now) noexcept;
  void answer(const wire::UdpAddress& to, const wire::RelayMessage&) noexcept;
  void forward(aggregator::Endpoint to, std::span<std::byte> bytes) noexcept;
  void emit(const aggregator::MadePacket&) noexcept override;
  void before_change(std::span<const std::byte> lanes) noexcept override { outbox_.before_change(lanes); }

  aggregator::Aggregator& aggregator_;
  Outbox& outbox_;
  wire::UdpAddress own_;
  OnBind on_bind_;
  Interfaces interfaces_;
  wire::IdentificationEffects identifications_;  // of what comes in
  RelayCounters counters_;
};

}  // namespace ina::softswitch
