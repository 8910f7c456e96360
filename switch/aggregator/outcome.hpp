// outcome.hpp: what became of a packet that the aggregator was handed, and the reasons for which it drops packets.
// Used by the aggregator, by the ports around it and by whoever prints counters.
// Counts nothing: Aggregator does.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ina::aggregator {

enum class Drop : std::uint8_t {
  kNone,
  kForbiddenKind,      // result, partial, revoked or scale from a host
  kMalformedBind,      // no bind that PROTOCOL.md 3 knows
  kBindMismatch,       // a bind whose members, window, first seq or place size are not the group's
  kBindConflict,       // a bind for a connection that is bound with another content
  kNotActive,          // data of a group that is not active
  kBadIcrc,            // checked where the aggregator relies on the packet
  kUnknownMember,      // member number not below the group's members
  kForeignSource,      // source not as bound
  kWrongDestination,   // destination endpoint or DestQP not as bound
  kWrongEpoch,
  kWrongPsn,
  kWrongRkey,
  kWrongAddress,       // RETH address is not the place of seq
  kWrongDmaLength,
  kWrongLength,        // not the payload's, not a multiple of 8, none, or above the group's limit
  kUnsupported,        // no such operation on this lane type
  kWrongContributions,
  kWrongTrailer,
  kLatchMismatch,      // differs from the slot's length, operation or lane type
  kGap,                // seq after the next one: the transport goes back
  kOpenDuplicate,      // a duplicate of a chunk that is not released yet
  kQuietDuplicate,     // a duplicate that the switch's own NAK has asked for, of a result that is under way
  kTooOld,             // a duplicate from before the last 2W chunks
  kSlotBusy,           // fault: a newer seq for a slot that is not released
  kSlotOlder,          // fault: a slot that holds an older seq than a duplicate
  kAckUnreleased,      // an acknowledgement of a PSN that was never released
  kStaleNak,           // a NAK for what the receiver has acknowledged since
  kCount,
};

[[nodiscard]] const char* name(Drop) noexcept;  // "wrong-epoch"

enum class Action : std::uint8_t {
  kForward,  // the caller passes the packet on untouched
  kDrop,
  kAbsorb,  // taken: a contribution, or answered
};

struct Outcome {
  Action action = Action::kForward;
  Drop reason = Drop::kNone;
  std::uint32_t bound_group = 0;  // not 0: this group's number of binds seen has changed
};

[[nodiscard]] constexpr Outcome forwarded(std::uint32_t bound_group = 0) noexcept { return {Action::kForward, Drop::kNone, bound_group}; }
[[nodiscard]] constexpr Outcome dropped(Drop reason) noexcept { return {Action::kDrop, reason, 0}; }
[[nodiscard]] constexpr Outcome absorbed() noexcept { return {Action::kAbsorb, Drop::kNone, 0}; }

}  // namespace ina::aggregator
