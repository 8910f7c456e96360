// messenger.hpp: messages between the ranks of a communicator as the software schedule needs them, non-blocking.
// Implemented over ina_host by the group's life, and by the tests' in-memory network. Used by Schedule.
// Does not allocate tags nor keep communicators alive: that is the owner's business.
#pragma once

#include <cstddef>

namespace ina::core {

// The semantics are those of ina_host: messages of one sender, communicator and tag do not overtake; the buffer is the host's until test() says done.
class Messenger {
 public:
  virtual ~Messenger() = default;
  // peers: the communicator. 0, or a negative number: the message cannot be sent (received), *request is untouched.
  [[nodiscard]] virtual int isend(void* peers, int peer, int tag, const std::byte* buffer, std::size_t bytes, void** request) noexcept = 0;
  [[nodiscard]] virtual int irecv(void* peers, int peer, int tag, std::byte* buffer, std::size_t bytes, void** request) noexcept = 0;
  // 1: done, *request is freed and NULL, *received is set for receives; 0: not yet; negative: failed, freed.
  [[nodiscard]] virtual int test(void** request, std::size_t* received) noexcept = 0;
  // Cancels a receive that has not matched and frees it; waits for one that has.
  virtual void cancel(void** request) noexcept = 0;
};

}  // namespace ina::core
