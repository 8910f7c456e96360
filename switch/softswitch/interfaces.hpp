// interfaces.hpp: the interfaces that have registered with the relay: address, QPN block, and the ICRC's invariant part both ways.
// Used by Relay.
// Does not send answers and does not read the clock: the time of a message comes with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "switch/aggregator/endpoint.hpp"
#include "wire/address.hpp"
#include "wire/icrc.hpp"
#include "wire/relay_message.hpp"

namespace ina::softswitch {

using Time = std::chrono::steady_clock::time_point;

class Interfaces {
 public:
  static constexpr std::chrono::seconds kSilence{60};  // after this a block may be given to another

  struct Interface {
    wire::UdpAddress address;
    std::uint64_t nonce;
    Time heard;
    std::uint32_t generation;  // which owner of the block this is: an Endpoint stands for block and generation
    wire::IcrcFlow inward;
    wire::IcrcFlow outward;
  };

  // first_block: where handing out begins, so that interfaces that outlived an earlier relay rarely find their block taken.
  Interfaces(const wire::UdpAddress& own, std::uint64_t instance, std::uint16_t first_block);

  // Answers a register message, or does what an unregister message says (no answer).
  [[nodiscard]] std::optional<wire::RelayMessage> take(const wire::UdpAddress& from, const wire::RelayMessage&, Time now);

  [[nodiscard]] const Interface* find(const wire::UdpAddress&) const noexcept;
  [[nodiscard]] const Interface* find(aggregator::Endpoint) const noexcept;  // nullptr if the block has another owner now
  [[nodiscard]] std::optional<aggregator::Endpoint> endpoint_of(const wire::UdpAddress&) const noexcept;
  [[nodiscard]] std::optional<aggregator::Endpoint> endpoint_of_qpn(std::uint32_t qpn) const noexcept;
  [[nodiscard]] std::size_t count() const noexcept { return blocks_of_.size(); }

 private:
  [[nodiscard]] wire::RelayMessage add(const wire::UdpAddress& from, const wire::RelayMessage&, Time now);
  [[nodiscard]] std::uint16_t choose_block(Time now) noexcept;  // 0: none
  void forget(std::uint16_t block) noexcept;
  [[nodiscard]] aggregator::Endpoint endpoint(std::uint16_t block) const noexcept {
    return aggregator::Endpoint{(blocks_[block].generation << wire::kQpnBlockBits) | block};
  }

  struct Block {
    std::optional<Interface> owner;
    std::uint32_t generation = 0;
  };
  wire::UdpAddress own_;
  std::uint64_t instance_;
  std::uint16_t next_block_;
  std::vector<Block> blocks_;
  std::unordered_map<wire::UdpAddress, std::uint16_t, wire::UdpAddressHash> blocks_of_;
};

}  // namespace ina::softswitch
