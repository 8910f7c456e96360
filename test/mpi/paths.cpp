// Select auto: sizes and types in a row, blocking and not. Every result is right, all ranks take the same path at every operation, and a sum of doubles of one size
// changes its path and its bits once at most. --slower=US makes rank 1 late now and then.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "test/mpi/mpi_test.hpp"

namespace {

using ina::test::counter;

// Values whose sum depends on the order in which they are added.
double value_of(int rank, std::size_t i) { return static_cast<double>(ina::test::mix(7, static_cast<std::uint64_t>(rank), i) % 1'000'003) / 1009.0; }

class Paths {
 public:
  Paths(ina::test::Run& run, long slower_us) : run_(run), slower_us_(slower_us) {}

  void integers(std::size_t count, bool is_blocking) {
    std::vector<int> v(count);
    for (std::size_t i = 0; i < count; ++i) v[i] = static_cast<int>(i) + run_.rank();
    reduce(v.data(), count, MPI_INT, MPI_SUM, is_blocking);
    const int ranks = run_.size();
    for (std::size_t i = 0; i < count; ++i) run_.expect(v[i] == ranks * static_cast<int>(i) + ranks * (ranks - 1) / 2, "an integer sum is right", static_cast<long>(i));
  }

  void doubles(std::size_t count, bool is_blocking) {
    std::vector<double> v(count);
    for (std::size_t i = 0; i < count; ++i) v[i] = value_of(run_.rank(), i);
    const bool by_switch = reduce(v.data(), count, MPI_DOUBLE, MPI_SUM, is_blocking);
    for (std::size_t i = 0; i < count; i += 17) {
      double expected = 0;
      for (int rank = 0; rank < run_.size(); ++rank) expected += value_of(rank, i);
      run_.expect(v[i] > expected - 1e-6 && v[i] < expected + 1e-6, "a sum of doubles is right", static_cast<long>(i));
    }
    note_path(count, by_switch, v);
  }

  // Once the group is there: from then on the plan decides.
  void begin() {
    is_offloading_ = true;
    history_.clear();
  }
  [[nodiscard]] int offloaded_sizes() const {
    int sizes = 0;
    for (const auto& [count, path] : history_) sizes += path.by_switch ? 1 : 0;
    return sizes;
  }

 private:
  struct History {
    bool by_switch = false;
    int changes = 0;
    std::vector<double> bits;  // of the last blocking sum by the switch
  };

  bool reduce(void* v, std::size_t count, MPI_Datatype type, MPI_Op op, bool is_blocking) {
    if (slower_us_ > 0 && run_.rank() == 1 && ++operations_ % 7 == 0) usleep(static_cast<useconds_t>(slower_us_));
    const std::uint64_t before = counter("operations_offloaded"), declined = counter("operations_declined");
    if (is_blocking) {
      MPI_Allreduce(MPI_IN_PLACE, v, static_cast<int>(count), type, op, MPI_COMM_WORLD);
    } else {
      MPI_Request request;
      MPI_Iallreduce(MPI_IN_PLACE, v, static_cast<int>(count), type, op, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    const int by_switch = static_cast<int>(counter("operations_offloaded") - before);
    run_.expect(by_switch + static_cast<int>(counter("operations_declined") - declined) == 1, "an operation goes one way", by_switch);
    int of_rank_0 = by_switch;
    MPI_Bcast(&of_rank_0, 1, MPI_INT, 0, MPI_COMM_WORLD);
    run_.expect(by_switch == of_rank_0, "all ranks go the same way", static_cast<long>(count));
    return by_switch != 0;
  }

  void note_path(std::size_t count, bool by_switch, const std::vector<double>& result) {
    if (!is_offloading_) return;
    History& history = history_[count];
    if (history.by_switch != by_switch) ++history.changes;
    history.by_switch = by_switch;
    run_.expect(history.changes <= 1, "a sum of doubles changes its path once at most", static_cast<long>(count));
    if (!by_switch) return;
    if (!history.bits.empty())
      run_.expect(std::memcmp(history.bits.data(), result.data(), count * sizeof(double)) == 0, "the switch's bits are always the same", static_cast<long>(count));
    history.bits = result;
  }

  ina::test::Run& run_;
  const long slower_us_;
  long operations_ = 0;
  bool is_offloading_ = false;
  std::map<std::size_t, History> history_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ina::test::Run run("paths");
  Paths paths(run, ina::test::option(argc, argv, "slower", 0));
  run.expect(ina::test::wait_until_offloaded(MPI_COMM_WORLD), "the switch is reached");
  paths.begin();
  const long rounds = ina::test::option(argc, argv, "rounds", 40);
  for (long round = 0; round < rounds; ++round) {
    for (const std::size_t count : {1U, 10U, 500U, 9000U}) {
      paths.doubles(count, round % 3 != 2);
      paths.integers(count * 5, round % 4 != 3);
    }
  }
  const std::uint64_t by_cost = counter("declined_cost");
  // Nothing but the last trials' rounds is left: a path was chosen for each size.
  const std::uint64_t before = counter("operations_offloaded");
  constexpr int kMore = 30;
  for (int i = 0; i < kMore; ++i) paths.doubles(500, true);
  const std::uint64_t more = counter("operations_offloaded") - before;
  run.expect(more == 0 || more == kMore, "one path was chosen", static_cast<long>(more));
  if (run.rank() == 0) std::printf("paths: %d sizes of doubles by the switch, %llu operations in software for the cost\n", paths.offloaded_sizes(), static_cast<unsigned long long>(by_cost));
  return run.finish();
}
