// life_message.hpp: the messages by which the members of a group carry its life from set-up to quiesce, and their codec.
// Used by Channel (bytes) and by GroupLife (meaning). They travel between processes, not on a communicator, so that a life may outlive its communicator.
// Does not check whether a message fits the state of a life: GroupLife does.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace ina::core {

// One life of one group. The epoch is random and never used again.
struct LifeKey {
  std::uint32_t group = 0;
  std::uint32_t epoch = 0;
  auto operator<=>(const LifeKey&) const = default;
};

// What both neighbours of the sender need to connect: Ring::address().
struct AddressMessage {
  std::vector<std::byte> address;
};
// To the leader: this member has bound (ok), or why it cannot. max_payload: what its own interface could carry, 0 if it has none.
struct VoteMessage {
  bool ok = false;
  std::uint32_t max_payload = 0;
  std::string reason;
};
// The sender lacks a result: what have you put, what have you got?
struct ProbeMessage {
  std::uint32_t round = 0;
};
struct StatusMessage {
  std::uint32_t round = 0;
  std::uint32_t contributed_end = 0;
  std::uint32_t result_end = 0;
};
// The sender has frozen this life. has: seq after its last result. posted: operations of the communicator that it has accepted.
// ended_at: first operation that is no longer of this life by an earlier decision, 0 if there was none.
struct ReportMessage {
  std::uint32_t has = 0;
  std::uint64_t posted = 0;
  std::uint64_t ended_at = 0;
  std::string reason;
};
// The result of one chunk for a member that lacks it. lost: the sender does not have it any more, which no member can recover from.
struct HandoverMessage {
  std::uint32_t seq = 0;
  bool lost = false;
  std::vector<std::byte> lanes;
};
// Quiesce. To the leader: the sender needs this life no more (finished); its endpoints are gone (destroyed).
// From the leader: all have finished, destroy your endpoints (destroy); all have destroyed them, free the memory (forget).
struct QuiesceMessage {
  enum class Step : std::uint8_t { kFinished = 1, kDestroy = 2, kDestroyed = 3, kForget = 4 };
  Step step = Step::kFinished;
};
// Between processes, of no life: where does rank 0 of MPI_COMM_WORLD have its embedded switch? The sender uses it until it releases it.
struct WhereIsSwitchMessage {
  enum class Why : std::uint8_t { kAsk = 1, kLost = 2, kRelease = 3 };  // lost: the address known to the sender does not answer
  Why why = Why::kAsk;
};
// An empty address: there is none, for this reason.
struct SwitchIsAtMessage {
  std::string address;
  std::string reason;
};

using LifeBody = std::variant<AddressMessage, VoteMessage, ProbeMessage, StatusMessage, ReportMessage, HandoverMessage, QuiesceMessage,
                              WhereIsSwitchMessage, SwitchIsAtMessage>;

struct LifeMessage {
  LifeKey life;
  std::uint16_t member = 0;  // the sender's number in the group
  LifeBody body;
};

inline constexpr std::size_t kMaxLifeMessage = 8192;
inline constexpr std::size_t kMaxAddress = 1024;
inline constexpr std::size_t kMaxReason = 240;

// At most kMaxLifeMessage bytes.
[[nodiscard]] std::vector<std::byte> encode(const LifeMessage&);
// nullopt: another version, an unknown kind, a wrong length or value.
[[nodiscard]] std::optional<LifeMessage> decode_life_message(std::span<const std::byte>);

}  // namespace ina::core
