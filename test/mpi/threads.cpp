// MPI_THREAD_MULTIPLE: every thread reduces over a communicator of its own at the same time.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "test/mpi/mpi_test.hpp"

namespace {

void work(MPI_Comm comm, int thread, long rounds, std::atomic<int>& wrong) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (long round = 0; round < rounds; ++round) {
    const std::size_t count = round % 10 == 9 ? 5000 : 1 + static_cast<std::size_t>(round % 3);
    std::vector<std::int32_t> v(count, rank + thread + static_cast<int>(round));
    const std::int32_t expected = size * (size - 1) / 2 + size * (thread + static_cast<int>(round));
    if (round % 2 == 0) {
      MPI_Allreduce(MPI_IN_PLACE, v.data(), static_cast<int>(count), MPI_INT32_T, MPI_SUM, comm);
    } else {
      MPI_Request request;
      MPI_Iallreduce(MPI_IN_PLACE, v.data(), static_cast<int>(count), MPI_INT32_T, MPI_SUM, comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (v.front() != expected || v.back() != expected) ++wrong;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  ina::test::Run run("threads");
  if (provided != MPI_THREAD_MULTIPLE) {
    if (run.rank() == 0) std::printf("threads: this Open MPI has no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 77;
  }
  constexpr int kThreads = 4;
  const long rounds = ina::test::option(argc, argv, "rounds", 60);
  std::vector<MPI_Comm> comms(kThreads);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, comms[static_cast<std::size_t>(i)], i, rounds, std::ref(wrong));
  for (std::thread& thread : threads) thread.join();
  run.expect(wrong == 0, "all sums are right", wrong);
  if (ina::test::option(argc, argv, "offloaded", 1) != 0) run.expect(ina::test::counter("operations_offloaded") > 0, "some were offloaded");
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return run.finish();
}
