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

struct Piece {
  const std::byte* address;
  std::size_t bytes;
};

enum class MessageKind : std::uint8_t { kWrite, kSend };

struct Message {
  MessageKind kind = MessageKind::kWrite;
  std::uint8_t piece_count = 0;
  std::uint32_t rkey = 0;             // write
  std::uint64_t remote_address = 0;   // write
  std::array<Piece, kMaxPieces> pieces{};
  std::uint32_t length = 0;           // sum over the pieces
  std::byte* buffer = nullptr;        // of the engine's pool: holds the payload, given back after the completion
  void* token = nullptr;              // handed to EventSink::on_completed; nullptr: nobody wants to know
  // Set by Requester.
  std::uint32_t first_psn = 0;
  std::uint32_t packets = 0;
};

// Longest message: any window of PSNs stays well below half of the PSN space even at the smallest MTU.
inline constexpr std::uint32_t kMaxMessageBytes = 1u << 28;
inline constexpr std::uint32_t kMinMtu = 256;
inline constexpr std::uint32_t kMaxMtu = 4096;

}  // namespace ina::engine
