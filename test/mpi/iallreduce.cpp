// 64 outstanding MPI_Iallreduces over 8 communicators complete from progress alone, mixed with blocking ones, before and after offloading starts.
#include <vector>

#include "test/mpi/mpi_test.hpp"

namespace {

constexpr int kComms = 8;
constexpr int kEach = 8;

struct Operation {
  MPI_Request request;
  std::vector<std::int64_t> mine, sum;
};

void start(Operation& op, MPI_Comm comm, std::uint64_t seed, int rank, std::size_t count, bool in_place) {
  op.mine.resize(count);
  op.sum.resize(count);
  for (std::size_t i = 0; i < count; ++i) op.mine[i] = static_cast<std::int64_t>(ina::test::mix(seed, static_cast<std::uint64_t>(rank), i));
  const void* source = op.mine.data();
  if (in_place) {
    op.sum = op.mine;
    source = MPI_IN_PLACE;
  }
  MPI_Iallreduce(source, op.sum.data(), static_cast<int>(count), MPI_INT64_T, MPI_SUM, comm, &op.request);
}

bool is_right(const Operation& op, std::uint64_t seed, int size) {
  for (std::size_t i = 0; i < op.sum.size(); ++i) {
    std::uint64_t expected = 0;
    for (int rank = 0; rank < size; ++rank) expected += ina::test::mix(seed, static_cast<std::uint64_t>(rank), i);
    if (static_cast<std::uint64_t>(op.sum[i]) != expected) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ina::test::Run run("iallreduce");
  MPI_Comm comms[kComms];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const long rounds = ina::test::option(argc, argv, "rounds", 12);
  for (long round = 0; round < rounds; ++round) {
    std::vector<Operation> operations(kComms * kEach);
    for (int k = 0; k < kEach; ++k) {
      for (int c = 0; c < kComms; ++c) {
        const int at = k * kComms + c;
        const std::size_t count = (at % 7 == 0) ? 3001 : static_cast<std::size_t>(1 + at % 5);
        start(operations[static_cast<std::size_t>(at)], comms[c], static_cast<std::uint64_t>(round * 1000 + at), run.rank(), count, at % 3 == 0);
      }
    }
    // Some complete by testing, in an order of their own; a blocking one on the same communicator goes behind them.
    if (round % 2 == 0) {
      int mine = 1, sum = 0;
      MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[round % kComms]);
      run.expect(sum == run.size(), "a blocking operation behind non-blocking ones");
    }
    std::vector<MPI_Request> requests;
    for (Operation& op : operations) requests.push_back(op.request);
    for (int is_complete = 0; is_complete == 0;) MPI_Testall(static_cast<int>(requests.size()), requests.data(), &is_complete, MPI_STATUSES_IGNORE);
    for (std::size_t at = 0; at < operations.size(); ++at) {
      run.expect(is_right(operations[at], static_cast<std::uint64_t>(round * 1000) + at, run.size()), "a sum", static_cast<long>(at));
    }
  }
  if (ina::test::option(argc, argv, "offloaded", 1) != 0) run.expect(ina::test::counter("operations_offloaded") > 0, "some were offloaded");
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return run.finish();
}
