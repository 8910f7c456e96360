// stream.hpp: the data path of one life of one group at one member (PROTOCOL.md 2): chunks out, results in, in seq order, any number of operations in a row.
// Used by GroupLife. Knows nothing of MPI, of the manager or of agreements.
// Does not detect silence: it tells what it has, the group's life decides what that means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "ompi_coll_ina/core/fabric.hpp"
#include "ompi_coll_ina/core/lanes.hpp"
#include "wire/ina_header.hpp"

namespace ina::core {

struct StreamSpec {
  std::uint32_t group;
  std::uint32_t epoch;
  std::uint16_t member;
  std::optional<std::uint16_t> left = std::nullopt;  // the member whose connection ends here; none: the one before
  std::uint16_t members;
  std::uint32_t window;     // W
  std::uint32_t first_seq;  // F
  std::size_t payload;      // payload limit, bytes
};

// One vector that goes through the stream. Owned by the caller, who keeps it until done() or until the stream is destroyed.
class StreamOperation {
 public:
  StreamOperation(wire::Op op, Lanes& lanes) noexcept;
  // All results have been scattered.
  [[nodiscard]] bool is_done() const noexcept;
  // Lanes [0, covered_lanes()) of the output are results; the rest of the output is untouched. What a failover must still compute lies behind it.
  [[nodiscard]] std::size_t covered_lanes() const noexcept;
  // First seq and number of chunks, once posted.
  [[nodiscard]] std::uint32_t first_seq() const noexcept;
  [[nodiscard]] std::uint64_t chunk_count() const noexcept;

 private:
  friend class Stream;
  struct Progress { std::size_t sent_lanes = 0; std::size_t covered_lanes = 0; std::uint32_t first_seq = 0; std::uint64_t chunks = 0; };
  wire::Op op_;
  Lanes* lanes_;
  Progress progress_;
  StreamOperation* next_ = nullptr;
};

class Stream {
 public:
  // ring: connected, of at least 2W places of bit_ceil(payload) bytes and 2W source buffers; outlives the stream. Poisons the mailbox: construct before the neighbours
  // learn the ring's address is not required, but before bind().
  Stream(const StreamSpec&, Ring& ring);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Geometry that a group of these numbers needs.
  [[nodiscard]] static RingSpec ring_spec(std::uint32_t window, std::size_t payload) noexcept;

  // Posts the two bind packets as far as the transport takes them; again from progress until they are out.
  void bind() noexcept;
  // Both binds are acknowledged end to end.
  [[nodiscard]] bool is_bound() const noexcept;

  // Appends an operation. Nothing is sent before progress(). lanes.lane_count() > 0.
  void post(StreamOperation&) noexcept;
  // Sends what the window permits, takes what has arrived. Returns chunks sent plus results taken. Does not call Fabric::progress().
  unsigned progress() noexcept;

  // Serial numbers: every seq before contributed_end() has been put; every seq before result_end() has its result handed over (F: none).
  [[nodiscard]] std::uint32_t contributed_end() const noexcept;
  [[nodiscard]] std::uint32_t result_end() const noexcept;
  // Seq after the last one of the last posted operation.
  [[nodiscard]] std::uint32_t posted_end() const noexcept;
  [[nodiscard]] bool is_idle() const noexcept;  // result_end() == posted_end()
  // A packet without the proof of aggregation stands where a result should, or a connection is in error.
  [[nodiscard]] bool has_fault() const noexcept;
  [[nodiscard]] const char* fault_reason() const noexcept;  // "bypassed", "connection"; nullptr

  // From now on neither looks at the mailbox nor sends (DESIGN: freeze). progress() does nothing.
  void freeze() noexcept;
  // After freeze(): the lanes of the result of seq if they still stand in the mailbox (the last W before result_end() do).
  [[nodiscard]] std::optional<std::span<const std::byte>> result_lanes(std::uint32_t seq) const noexcept;
  // After freeze(): the result of seq == result_end() has come by message; scatters it and advances. Lanes beyond the chunk's are refused (false).
  [[nodiscard]] bool hand_over(std::uint32_t seq, std::span<const std::byte> lanes) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ina::core
