// decision.hpp: what the leader of a communicator decides at a checkpoint operation, and its codec.
// Used by Communicator: the leader sends the k-th decision inside its own post of the k-th checkpoint operation, all others receive it there.
// Says nothing about when a checkpoint is: CheckpointClock does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ompi_coll_ina/core/life_message.hpp"
#include "ompi_coll_ina/core/path_plan.hpp"

namespace ina::core {

enum class DecisionKind : std::uint8_t {
  kStay = 1,    // nothing changes; reason: why operations run in software, where they do
  kNever = 2,   // software for good, no checkpoint follows
  kSetUp = 3,   // a group has been granted: connect, bind and vote
  kAbort = 4,   // the set-up of `life` is given up
  kCommit = 5,  // from this operation on the stream of `life` is used
  kStop = 6,    // from this operation on it is not
};

struct Decision {
  DecisionKind kind = DecisionKind::kStay;
  std::uint8_t reason = 0;  // enum ina_decline
  LifeKey life;             // set up, abort, commit, stop
  PlanBits plan;            // from this operation on, while a group is committed
  // Set up only.
  std::uint32_t window = 0;
  std::uint32_t first_seq = 0;
  std::uint32_t payload = 0;
  std::uint16_t ops = 0;         // bit n: the switch does wire::Op n
  std::uint16_t lane_types = 0;  // bit n: it adds wire::LaneType n
  std::string instance;          // of the manager: another one needs another interface
  std::string relay;             // empty: the switch is in the wire
  std::string manager;           // numeric HOST:PORT; where there is no relay, the device is the one that leads there. Empty: a UNIX socket
  std::string transport;
  bool operator==(const Decision&) const = default;
};

inline constexpr std::size_t kMaxDecision = 768;

[[nodiscard]] std::vector<std::byte> encode(const Decision&);
// nullopt: another version, a wrong length, kind, reason or geometry.
[[nodiscard]] std::optional<Decision> decode_decision(std::span<const std::byte>);

}  // namespace ina::core
