// ring_address.hpp: what a member tells its neighbours in a ring so that they can connect, as bytes.
// Used by the UCT ring. A peer's bytes: decoding trusts nothing.
// Does not interpret UCT's addresses and keys: they are opaque here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ina::core {

struct RingAddress {
  std::string transport;             // UCT transport name
  std::uint32_t places = 0;          // of the mailbox
  std::uint32_t place_bytes = 0;
  std::uint64_t mailbox = 0;         // address, for the left neighbour's PUTs
  std::uint64_t scratch = 0;         // address, for the right neighbour's backward bind
  std::vector<std::byte> device;     // UCT device address
  std::vector<std::byte> iface;      // UCT interface address
  std::vector<std::byte> right_ep;   // UCT endpoint address of the connection to the right neighbour
  std::vector<std::byte> left_ep;    // ... to the left neighbour
  std::vector<std::byte> mailbox_key;  // packed remote keys
  std::vector<std::byte> scratch_key;
  bool operator==(const RingAddress&) const = default;
};

inline constexpr std::size_t kMaxRingAddressBytes = 1024;

// Empty if it does not fit kMaxRingAddressBytes.
[[nodiscard]] std::vector<std::byte> encode(const RingAddress&);
// nullopt: of another version, truncated, longer than it says, or with a field that is longer than any transport's.
[[nodiscard]] std::optional<RingAddress> decode_ring_address(std::span<const std::byte> bytes);

}  // namespace ina::core
