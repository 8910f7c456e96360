// operation.hpp: one thing that uct_traffic asks of the transport, from being drawn to being complete.
// Used by Side, which owns it.
// The model of the other side's memory is Side's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "test/traffic/port.hpp"

namespace traffic {

enum class Kind { kPutShort, kPutBcopy, kPutZcopy, kGetBcopy, kGetZcopy, kAmShort, kAmShortIov, kAmBcopy, kAmZcopy, kFetchAdd, kAdd, kCompareSwap, kFlush };

class Side;

struct Operation {
  Side* side = nullptr;
  Kind kind{};
  unsigned endpoint = 0;
  std::uint64_t number = 0;        // among those posted on this endpoint
  std::size_t offset = 0;          // in the other side's region
  std::byte* memory = nullptr;     // a slice: what is sent, or where what is read goes
  std::size_t length = 0;
  std::uint64_t header = 0;        // of an active message
  std::vector<uct_iov_t> pieces;
  bool needs_fence = false;
  uct_completion_t completion{};
  Bytes expected;                  // of a GET
  std::uint64_t operand = 0, compared = 0, result = 0, before = 0;  // of an atomic
};

// What happens on one endpoint, in this order.
struct Stream {
  uct_pending_req_t request{};               // first: UCX hands back its address
  Side* side = nullptr;
  unsigned index = 0;
  std::unique_ptr<Operation> waiting;        // drawn, not yet taken by the transport
  bool is_pending = false;                   // the transport will call for it
  std::uint64_t posted = 0;
  std::set<std::uint64_t> outstanding;       // numbers of operations whose completion is to come
  std::optional<Kind> last;
  std::uint32_t messages_sent = 0, messages_received = 0;
};

}  // namespace traffic
