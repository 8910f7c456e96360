// relay_world.hpp: a relay with registered members of a ring, and what it sends, without a socket.
// Used by tests and the fuzzer of the relay.
// Has no clock: tests say what time it is.
#pragma once

#include <stdexcept>
#include <vector>

#include "switch/softswitch/relay.hpp"
#include "test/aggregator/ring.hpp"
#include "wire/icrc.hpp"

namespace ina::test {

inline wire::UdpAddress address(const char* text) { return *wire::UdpAddress::parse(text); }

class CollectingOutbox final : public softswitch::Outbox {
 public:
  struct Sent {
    wire::UdpAddress to;
    Bytes bytes;
  };
  void send(const wire::UdpAddress& to, const softswitch::Pieces& pieces) noexcept override {
    Sent sent{to, {}};
    for (const auto piece : {pieces.head, pieces.body, pieces.tail}) sent.bytes.insert(sent.bytes.end(), piece.begin(), piece.end());
    all.push_back(std::move(sent));
  }
  void flush() noexcept override {}
  void before_change(std::span<const std::byte>) noexcept override {}
  std::vector<Sent> all;
};

class RelayWorld {
 public:
  static constexpr std::uint64_t kInstance = 0x1122334455667788;

  [[nodiscard]] static wire::UdpAddress host(std::uint16_t member) {
    wire::UdpAddress at = address("10.0.0.1:4791");
    at.ip[3] = static_cast<std::uint8_t>(10 + member);
    return at;
  }

  // A packet with a valid ICRC from `from` to the relay.
  void receive(const wire::UdpAddress& from, Bytes bytes) {
    wire::IcrcFlow(from, own).seal(bytes);
    receive_as_is(from, std::move(bytes));
  }
  void receive_as_is(const wire::UdpAddress& from, Bytes bytes) {
    outbox.all.clear();
    relay.receive(from, bytes, now);
  }
  [[nodiscard]] static Bytes message(const wire::RelayMessage& body, std::uint32_t queue_key = wire::kRelayQueueKey) {
    wire::Packet packet{};
    packet.bth = {.opcode = wire::Opcode::kUdSendOnly, .dest_qpn = wire::kRelayQpn};
    packet.deth = {.queue_key = queue_key, .source_qpn = wire::kRelayQpn};
    return encode(packet, wire::encode_relay_message(body));
  }
  // The relay's answer to a register message.
  wire::RelayMessage register_interface(const wire::UdpAddress& from, std::uint64_t nonce, std::uint16_t block = 0) {
    receive(from, message({.kind = wire::RelayKind::kRegister, .block = block, .nonce = nonce}));
    if (outbox.all.size() != 1) throw std::runtime_error("no answer");
    return *wire::decode_relay_message(wire::decode_packet(outbox.all[0].bytes)->payload);
  }
  // Blocks 1, 2, ... as Ring has them.
  void register_members(std::uint16_t members) {
    for (std::uint16_t member = 0; member < members; ++member) {
      if (register_interface(host(member), 100u + member).block != member + 1) throw std::runtime_error("another block");
    }
  }
  void start(const Ring& ring) {
    register_members(ring.spec.members);
    if (!aggregator.prepare(ring.spec)) throw std::runtime_error("not prepared");
    for (std::uint16_t i = 0; i < ring.spec.members; ++i) {
      receive(host(i), ring.forward_bind(i));
      receive(host(static_cast<std::uint16_t>((i + 1) % ring.spec.members)), ring.backward_bind(i));
    }
    if (!aggregator.activate(ring.spec.group)) throw std::runtime_error("not activated");
  }

  wire::UdpAddress own = address("10.0.0.1:5050");
  softswitch::Time now{};
  aggregator::Aggregator aggregator{{.slots = 1024}};
  CollectingOutbox outbox;
  std::vector<std::uint32_t> bound;
  softswitch::Relay relay{aggregator, outbox, {.own = own, .instance = kInstance}, [this](std::uint32_t group) { bound.push_back(group); }};
};

}  // namespace ina::test
