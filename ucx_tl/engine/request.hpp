// request.hpp: what a request's opcode asks for, and which place in a message it has.
// Used by Responder.
// Knows no headers: wire/roce.hpp has them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/roce.hpp"

namespace ina::engine {

// What an opcode asks for, and its place in a message. kNothing: no request that we know.
enum class Request : std::uint8_t { kNothing, kSend, kWrite, kRead, kAtomic };
struct Meaning {
  Request request = Request::kNothing;
  bool begins = false;
  bool ends = false;
  bool immediate = false;
  bool invalidate = false;
};

inline constexpr auto kMeanings = [] {
  std::array<Meaning, 0x20> meanings{};
  const auto set = [&](wire::Opcode opcode, Meaning meaning) { meanings[static_cast<std::size_t>(opcode)] = meaning; };
  set(wire::Opcode::kSendFirst, {.request = Request::kSend, .begins = true});
  set(wire::Opcode::kSendMiddle, {.request = Request::kSend});
  set(wire::Opcode::kSendLast, {.request = Request::kSend, .ends = true});
  set(wire::Opcode::kSendLastImmediate, {.request = Request::kSend, .ends = true, .immediate = true});
  set(wire::Opcode::kSendLastInvalidate, {.request = Request::kSend, .ends = true, .invalidate = true});
  set(wire::Opcode::kSendOnly, {.request = Request::kSend, .begins = true, .ends = true});
  set(wire::Opcode::kSendOnlyImmediate, {.request = Request::kSend, .begins = true, .ends = true, .immediate = true});
  set(wire::Opcode::kSendOnlyInvalidate, {.request = Request::kSend, .begins = true, .ends = true, .invalidate = true});
  set(wire::Opcode::kWriteFirst, {.request = Request::kWrite, .begins = true});
  set(wire::Opcode::kWriteMiddle, {.request = Request::kWrite});
  set(wire::Opcode::kWriteLast, {.request = Request::kWrite, .ends = true});
  set(wire::Opcode::kWriteLastImmediate, {.request = Request::kWrite, .ends = true, .immediate = true});
  set(wire::Opcode::kWriteOnly, {.request = Request::kWrite, .begins = true, .ends = true});
  set(wire::Opcode::kWriteOnlyImmediate, {.request = Request::kWrite, .begins = true, .ends = true, .immediate = true});
  set(wire::Opcode::kReadRequest, {.request = Request::kRead, .begins = true, .ends = true});
  set(wire::Opcode::kFetchAdd, {.request = Request::kAtomic, .begins = true, .ends = true});
  set(wire::Opcode::kCompareSwap, {.request = Request::kAtomic, .begins = true, .ends = true});
  return meanings;
}();

[[nodiscard]] inline const Meaning& meaning_of(wire::Opcode opcode) noexcept { return kMeanings[static_cast<std::size_t>(opcode) % kMeanings.size()]; }

}  // namespace ina::engine
