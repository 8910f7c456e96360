// schedule.hpp: a non-blocking allreduce in software over lanes: recursive doubling for small vectors, Rabenseifner's algorithm for large ones.
// Used after a fault, and for operations that have to be deferred or are non-blocking.
// Does not choose tags or ranks, and never progresses the host: its owner calls progress() until it is done.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "ompi_coll_ina/core/lanes.hpp"
#include "ompi_coll_ina/core/messenger.hpp"
#include "wire/elements.hpp"
#include "wire/ina_header.hpp"

namespace ina::core {

struct ScheduleSpec {
  int rank;
  int size;     // any number from 1
  int tag;      // no other operation between these ranks uses it meanwhile
  void* peers;  // the communicator, for Messenger
};

// Every rank runs the same schedule over the same lanes [first, end) and ends with the same bits: where two partial results meet, the one of lower ranks is
// the left operand on both sides. The vector is worked off in segments, so that memory is bounded and an input that was overwritten before `first` is never read.
class Schedule {
 public:
  // lanes and messenger outlive the schedule; lanes may be in place. Throws std::bad_alloc. first == end is done at once.
  // The operation must exist for the lane type.
  Schedule(const ScheduleSpec&, Lanes&, wire::Op, std::size_t first, std::size_t end, Messenger&);
  // Cancels a receive that is outstanding. Where the host still owns a buffer for a send, the buffer is left to it for ever: wait for is_done() or has_failed().
  ~Schedule();
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // Returns the number of steps made. Never blocks; the first call posts the first messages.
  int progress() noexcept;
  // All lanes have been scattered.
  [[nodiscard]] bool is_done() const noexcept { return phase_ == Phase::kDone; }
  // A message failed or had another size than this schedule's; no message is outstanding any more.
  [[nodiscard]] bool has_failed() const noexcept { return phase_ == Phase::kFailed; }

 private:
  enum class Phase : std::uint8_t {
    kSegment,    // gather the next segment
    kFold,       // the first ranks of a size that is no power of two pair up: lend the vector, or take the partner's in
    kDoubling,   // small: exchange everything with rank ^ mask
    kHalving,    // large: exchange halves of the own block with rank ^ mask, farthest first
    kGathering,  // large: exchange reduced blocks, nearest first
    kUnfold,     // give the result back to the partner, or receive it; then the segment is stored
    kFailing,    // wait until the host gives the buffers back
    kDone,
    kFailed,
  };
  struct Block {
    std::size_t begin, end;  // lanes of the segment
    [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
  };
  static constexpr int kMaxSteps = 31;

  [[nodiscard]] bool are_messages_done() noexcept;
  void step() noexcept;
  void begin_segment() noexcept;
  void after_fold() noexcept;
  void start_doubling() noexcept;
  void after_doubling() noexcept;
  void start_halving() noexcept;
  void after_halving() noexcept;
  void start_gathering() noexcept;
  void after_gathering() noexcept;
  void start_unfold() noexcept;
  void store_segment() noexcept;
  void send(int peer, Block) noexcept;
  void receive(int peer, std::byte* to, std::size_t lanes) noexcept;
  void combine_received(int peer, Block) noexcept;
  void fail() noexcept;

  [[nodiscard]] bool is_lent() const noexcept { return spec_.rank < 2 * folded_ && spec_.rank % 2 == 0; }
  [[nodiscard]] bool is_borrower() const noexcept { return spec_.rank < 2 * folded_ && spec_.rank % 2 == 1; }
  [[nodiscard]] int partner() const noexcept;
  [[nodiscard]] std::byte* at(std::size_t lane) noexcept { return accumulator_.get() + lane * lane_bytes_; }
  [[nodiscard]] bool is_small() const noexcept;

  const ScheduleSpec spec_;
  Lanes& lanes_;
  Messenger& messenger_;
  const wire::CombineInto combine_;
  const std::size_t lane_bytes_;
  const std::size_t segment_lanes_;
  const std::size_t end_;
  std::size_t next_;              // first lane of the segment
  std::size_t segment_ = 0;       // lanes of the segment
  int power_;                     // largest power of two <= size
  int folded_;                    // size - power: pairs that fold
  int position_;                  // rank among the power_ that exchange
  int mask_ = 0;
  int depth_ = 0;                 // blocks that are halved
  Block block_{};                 // the lanes that this rank holds reduced
  std::array<Block, kMaxSteps> parents_{};
  Phase phase_;
  std::unique_ptr<std::byte[]> accumulator_;
  std::unique_ptr<std::byte[]> received_;
  void* send_ = nullptr;
  void* receive_ = nullptr;
  std::size_t expected_bytes_ = 0;
};

}  // namespace ina::core
