#include "switch/softswitch/interfaces.hpp"

namespace ina::softswitch {

using wire::RelayKind;
using wire::RelayMessage;
using wire::RelayRefusal;

Interfaces::Interfaces(const wire::UdpAddress& own, std::uint64_t instance, std::uint16_t first_block)
    : own_(own),
      instance_(instance),
      next_block_(static_cast<std::uint16_t>(wire::kFirstQpnBlock + first_block % wire::kLastQpnBlock)),
      blocks_(std::size_t{wire::kLastQpnBlock} + 1) {
  blocks_of_.reserve(wire::kLastQpnBlock);
}

std::optional<RelayMessage> Interfaces::take(const wire::UdpAddress& from, const RelayMessage& message, Time now) {
  const auto known = blocks_of_.find(from);
  const bool is_same = known != blocks_of_.end() && blocks_[known->second].owner->nonce == message.nonce;
  if (message.kind == RelayKind::kUnregister) {
    if (is_same) forget(known->second);
    return std::nullopt;
  }
  if (message.kind != RelayKind::kRegister) return std::nullopt;
  if (is_same && (message.block == 0 || message.block == known->second)) {
    blocks_[known->second].owner->heard = now;
    return RelayMessage{.kind = RelayKind::kRegistered, .block = known->second, .nonce = message.nonce, .instance = instance_};
  }
  // Another nonce: the interface that had this address is gone. The same nonce with another block contradicts what was answered.
  if (known != blocks_of_.end() && !is_same) forget(known->second);
  if (is_same) {
    return RelayMessage{.kind = RelayKind::kRefused, .block = message.block, .reason = RelayRefusal::kTaken, .nonce = message.nonce,
                        .instance = instance_};
  }
  return add(from, message, now);
}

RelayMessage Interfaces::add(const wire::UdpAddress& from, const RelayMessage& message, Time now) {
  RelayMessage answer{.kind = RelayKind::kRefused, .block = message.block, .nonce = message.nonce, .instance = instance_};
  std::uint16_t block = message.block;
  if (block == 0) {
    block = choose_block(now);
    if (block == 0) {
      answer.reason = RelayRefusal::kNoBlock;
      return answer;
    }
  } else if (block > wire::kLastQpnBlock || blocks_[block].owner) {
    answer.reason = RelayRefusal::kTaken;
    return answer;
  }
  if (blocks_[block].owner) forget(block);
  const std::uint32_t generation = ++blocks_[block].generation;
  blocks_[block].owner.emplace(Interface{.address = from,
                                         .nonce = message.nonce,
                                         .heard = now,
                                         .generation = generation,
                                         .inward = wire::IcrcFlow(from, own_),
                                         .outward = wire::IcrcFlow(own_, from)});
  blocks_of_[from] = block;
  answer.kind = RelayKind::kRegistered;
  answer.block = block;
  return answer;
}

// A block that nobody ever had, else one that was given back, else the one that has been silent for the longest time.
std::uint16_t Interfaces::choose_block(Time now) noexcept {
  std::uint16_t unused = 0;
  std::uint16_t silent = 0;
  for (std::uint16_t i = 0; i < wire::kLastQpnBlock; ++i) {
    const auto block = static_cast<std::uint16_t>((next_block_ - 1 + i) % wire::kLastQpnBlock + 1);
    const auto& owner = blocks_[block].owner;
    if (!owner && blocks_[block].generation == 0) {
      next_block_ = static_cast<std::uint16_t>(block % wire::kLastQpnBlock + 1);
      return block;
    }
    if (!owner) {
      if (unused == 0) unused = block;
    } else if (now - owner->heard >= kSilence && (silent == 0 || owner->heard < blocks_[silent].owner->heard)) {
      silent = block;
    }
  }
  return unused != 0 ? unused : silent;
}

void Interfaces::forget(std::uint16_t block) noexcept {
  blocks_of_.erase(blocks_[block].owner->address);
  blocks_[block].owner.reset();
}

const Interfaces::Interface* Interfaces::find(const wire::UdpAddress& address) const noexcept {
  const auto found = blocks_of_.find(address);
  return found == blocks_of_.end() ? nullptr : &*blocks_[found->second].owner;
}

const Interfaces::Interface* Interfaces::find(aggregator::Endpoint endpoint) const noexcept {
  const auto value = static_cast<std::uint32_t>(endpoint);
  const auto& owner = blocks_[value & wire::kLastQpnBlock].owner;
  const std::uint32_t mask = UINT32_MAX >> wire::kQpnBlockBits;
  return owner && (owner->generation & mask) == value >> wire::kQpnBlockBits ? &*owner : nullptr;
}

std::optional<aggregator::Endpoint> Interfaces::endpoint_of(const wire::UdpAddress& address) const noexcept {
  const auto found = blocks_of_.find(address);
  if (found == blocks_of_.end()) return std::nullopt;
  return endpoint(found->second);
}

std::optional<aggregator::Endpoint> Interfaces::endpoint_of_qpn(std::uint32_t qpn) const noexcept {
  const auto block = static_cast<std::uint16_t>((qpn & wire::kQpnMask) >> wire::kQpnBlockBits);
  if (!blocks_[block].owner) return std::nullopt;
  return endpoint(block);
}

}  // namespace ina::softswitch
