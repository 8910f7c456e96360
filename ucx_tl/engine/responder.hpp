// responder.hpp: the receiving half of a reliable connection: executes requests in PSN order and decides what is acknowledged and answered.
// Used by Qp. Every check is made before the first byte of memory is written, and again before any of it is read for an answer.
// Does not build packets: take_response() says which acknowledgement or answer is due.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "ucx_tl/engine/answer_queue.hpp"
#include "ucx_tl/engine/buffer_pool.hpp"
#include "ucx_tl/engine/clock.hpp"
#include "ucx_tl/engine/counters.hpp"
#include "ucx_tl/engine/memory_table.hpp"
#include "ucx_tl/engine/message.hpp"
#include "wire/roce.hpp"

namespace ina::engine {

// A message that arrived by SEND, complete. The buffer goes back to the pool once it was delivered.
struct ReceivedMessage {
  std::byte* buffer;
  std::uint32_t length;
};

// What responders of one engine share.
struct ReceiveResources {
  ReceiveResources(std::size_t buffers, std::uint32_t bytes) : pool(buffers, bytes), buffer_bytes(bytes) { messages.reserve(buffers); }
  BufferPool pool;
  std::uint32_t buffer_bytes;
  Nanoseconds acknowledge_delay = 30 * kMicrosecond;  // an acknowledgement may wait so long for more to acknowledge
  std::vector<ReceivedMessage> messages;  // in order of arrival; within the reserved capacity
};

class Responder {
 public:
  Responder(MemoryTable&, ReceiveResources&, Counters&);
  ~Responder();
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;

  void start(std::uint32_t expected_psn, std::uint32_t mtu) noexcept;
  // The memory table is held (shared) by the caller.
  void on_request(const wire::Packet&, Nanoseconds now) noexcept;

  struct Response {
    wire::Opcode opcode = wire::Opcode::kAcknowledge;
    std::uint8_t syndrome = wire::kSyndromeAck;
    std::uint32_t psn = 0;
    std::uint32_t msn = 0;
    const std::byte* payload = nullptr;  // of an answer to a READ, in registered memory
    Answer answer;                       // what this is one packet of; its `bytes` are those of the packet
  };
  // Something has to be acknowledged, perhaps later.
  [[nodiscard]] bool has_response() const noexcept { return !answers_.is_empty() || has_nak_ || acknowledge_now_ || unacknowledged_ != 0; }
  // When it has to be sent at the latest; 0: now.
  [[nodiscard]] Nanoseconds response_deadline() const noexcept;
  // What would have to be acknowledged later is due at once.
  void acknowledge_without_delay() noexcept { acknowledge_now_ = acknowledge_now_ || unacknowledged_ != 0; }
  // Answers come before acknowledgements, which are of something later. If is_answering(), the memory table is held (shared) by the caller from here
  // until the packet is gone.
  [[nodiscard]] std::optional<Response> take_response() noexcept;
  [[nodiscard]] bool is_answering() const noexcept { return !answers_.is_empty(); }
  // The response was not sent after all.
  void untake(const Response&) noexcept;

 private:
  // Distance from the missing packet up to which others are kept: a power of two.
  static constexpr std::uint32_t kMostAhead = 512;
  enum class InMessage : std::uint8_t { kNothing, kWrite, kSend };
  // How a request ends.
  enum class Outcome : std::uint8_t { kExecuted, kInvalid, kAccess, kNotReady };

  [[nodiscard]] Outcome execute(const wire::Packet&) noexcept;
  [[nodiscard]] bool fits_sequence(const wire::Packet&) const noexcept;
  [[nodiscard]] Outcome execute_read(const wire::Packet&) noexcept;
  [[nodiscard]] Outcome execute_atomic(const wire::Packet&) noexcept;
  void on_executed(const wire::Packet&, Nanoseconds now) noexcept;
  void on_duplicate(const wire::Packet&) noexcept;
  [[nodiscard]] std::optional<Response> take_answer() noexcept;
  void refuse_answer() noexcept;
  [[nodiscard]] std::uint32_t packets_of(std::uint32_t bytes) const noexcept { return bytes == 0 ? 1 : (bytes - 1) / mtu_ + 1; }
  [[nodiscard]] Outcome execute_write(const wire::Packet&, bool first, bool last) noexcept;
  [[nodiscard]] Outcome execute_send(const wire::Packet&, bool first, bool last) noexcept;
  [[nodiscard]] bool store_ahead(const wire::Packet&, std::uint32_t distance) noexcept;
  void take_what_is_ahead() noexcept;
  void report_gap(std::uint32_t psn) noexcept;
  void refuse(std::uint8_t syndrome, std::uint32_t psn) noexcept;

  MemoryTable& memory_;
  ReceiveResources& resources_;
  Counters& counters_;
  std::uint32_t mtu_ = kMinMtu;
  std::uint32_t expected_psn_ = 0;
  std::uint32_t msn_ = 0;

  InMessage in_message_ = InMessage::kNothing;
  std::uint64_t write_address_ = 0;
  std::uint32_t write_rkey_ = 0;
  std::uint32_t write_remaining_ = 0;
  // Packets of the WRITE in progress that came before one that is missing, and are in their place: by the low bits of their PSN.
  std::bitset<kMostAhead> ahead_;
  std::uint32_t ahead_count_ = 0;
  std::byte* send_buffer_ = nullptr;
  std::uint32_t send_length_ = 0;

  AnswerQueue answers_;
  // Atomics must not be executed twice: the answers to those that a peer may still ask for again.
  struct ExecutedAtomic {
    std::uint32_t psn = 0;
    std::uint64_t original = 0;
  };
  std::array<ExecutedAtomic, AnswerQueue::kMost> executed_atomics_;
  std::uint64_t executed_atomic_count_ = 0;  // ever; the place of the next one is this modulo the size

  std::uint32_t unacknowledged_ = 0;     // requests executed since the last acknowledgement
  Nanoseconds unacknowledged_since_ = 0;
  bool acknowledge_now_ = false;         // a duplicate asks for the acknowledgement that was lost
  bool has_nak_ = false;
  bool is_gap_reported_ = false;
  std::uint8_t nak_syndrome_ = 0;
  std::uint32_t gap_psn_ = 0;            // of the packet that showed the gap
  std::uint32_t behind_gap_ = 0;         // packets behind that one
  std::uint32_t refused_psn_ = 0;        // with a syndrome that refuses
  std::uint8_t fatal_syndrome_ = 0;      // not 0: nothing is executed any more
  std::uint32_t fatal_psn_ = 0;
};

}  // namespace ina::engine
