// message.hpp: what a user of the engine asks a QP to transmit.
// Filled by the UCT glue, kept by Requester until the peer has acknowledged the last packet.
// Owns no memory: pieces stay the user's until completion; a buffer goes back to its pool by the engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/roce.hpp"

namespace ina::engine {

inline constexpr std::size_t kMaxPieces = 8;

// Memory of the user. It is read, of a READ or an atomic written: see MessageKind.
struct Piece {
  const std::byte* address;
  std::size_t bytes;
  [[nodiscard]] std::byte* destination() const noexcept { return const_cast<std::byte*>(address); }
};

// All kinds are executed at the peer in the order in which they were posted, and complete in that order. One exception, InfiniBand's: a READ may see what a
// later WRITE wrote, since it is read again where its answer is lost. Message::fence closes that.
enum class MessageKind : std::uint8_t {
  kWrite,        // the pieces go to remote_address. Length 0 without pieces is allowed: it changes nothing, and its completion tells that the peer is there
  kSend,         // the pieces become a message for the peer's EventSink
  kRead,         // from remote_address into the pieces, which must be writable. They may be written from post() to the completion, not after it
  kFetchAdd,     // 64 bits at remote_address (aligned to 8): adds `operand`
  kCompareSwap,  // 64 bits at remote_address (aligned to 8): becomes `operand` if it equals `compare`
                 // Atomics have length 8. The old value is stored in pieces[0] (8 bytes, any alignment), or nowhere if piece_count is 0.
};
// The peer answers with data: a plain acknowledgement says nothing about it.
[[nodiscard]] constexpr bool is_answered_with_data(MessageKind kind) noexcept { return kind >= MessageKind::kRead; }

struct Message {
  MessageKind kind = MessageKind::kWrite;
  std::uint8_t piece_count = 0;
  bool fence = false;                 // wait until every READ and atomic posted before has completed
  std::uint32_t rkey = 0;             // all but send
  std::uint64_t remote_address = 0;   // all but send
  std::uint64_t operand = 0;          // atomics
  std::uint64_t compare = 0;          // compare and swap
  std::array<Piece, kMaxPieces> pieces{};
  std::uint32_t length = 0;           // sum over the pieces; of an atomic 8
  std::byte* buffer = nullptr;        // of the engine's pool: holds the payload, given back when on_completed() has returned
  void* token = nullptr;              // handed to EventSink::on_completed; nullptr: nobody wants to know
  // Set by Requester.
  std::uint32_t first_psn = 0;
  std::uint32_t packets = 0;
};

// Longest message: any window of PSNs stays well below half of the PSN space even at the smallest MTU.
inline constexpr std::uint32_t kMaxMessageBytes = 1u << 28;
inline constexpr std::uint32_t kMinMtu = 256;
inline constexpr std::uint32_t kMaxMtu = 8960;           // what a jumbo frame of 9000 bytes holds
inline constexpr std::uint32_t kMaxInfinibandMtu = 4096;  // more is known to endpoints of ours only

}  // namespace ina::engine
