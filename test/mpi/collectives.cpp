// Every other collective function is there and right when ina is the only component that the user names.
// --offloaded=1: allreduces among them must go through the switch.
#include <mpi.h>
// after mpi.h
#include <mpi-ext.h>

#include <vector>

#include "test/mpi/mpi_test.hpp"

namespace {

using ina::test::Run;

std::vector<int> ones(int n) { return std::vector<int>(static_cast<std::size_t>(n), 1); }
std::vector<int> steps(int n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = i;
  return v;
}

void blocking(Run& run) {
  const int n = run.size(), rank = run.rank();
  const std::vector<int> counts = ones(n), displacements = steps(n), mine = steps(n);
  std::vector<MPI_Datatype> types(static_cast<std::size_t>(n), MPI_INT);
  std::vector<int> offsets(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) offsets[static_cast<std::size_t>(i)] = i * static_cast<int>(sizeof(int));
  std::vector<int> all(static_cast<std::size_t>(n), -1);
  int one = rank, out = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(&one, 1, MPI_INT, 0, MPI_COMM_WORLD);
  run.expect(one == 0, "bcast");
  one = rank;
  MPI_Allgather(&one, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  run.expect(all == steps(n), "allgather");
  MPI_Allgatherv(&one, 1, MPI_INT, all.data(), counts.data(), displacements.data(), MPI_INT, MPI_COMM_WORLD);
  run.expect(all == steps(n), "allgatherv");
  MPI_Alltoall(mine.data(), 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  run.expect(all == std::vector<int>(static_cast<std::size_t>(n), rank), "alltoall");
  MPI_Alltoallv(mine.data(), counts.data(), displacements.data(), MPI_INT, all.data(), counts.data(), displacements.data(), MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoallw(mine.data(), counts.data(), offsets.data(), types.data(), all.data(), counts.data(), offsets.data(), types.data(), MPI_COMM_WORLD);
  run.expect(all == std::vector<int>(static_cast<std::size_t>(n), rank), "alltoallw");
  MPI_Gather(&one, 1, MPI_INT, all.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Gatherv(&one, 1, MPI_INT, all.data(), counts.data(), displacements.data(), MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Scatter(mine.data(), 1, MPI_INT, &out, 1, MPI_INT, 0, MPI_COMM_WORLD);
  run.expect(out == rank, "scatter");
  MPI_Scatterv(mine.data(), counts.data(), displacements.data(), MPI_INT, &out, 1, MPI_INT, 0, MPI_COMM_WORLD);
  run.expect(out == rank, "scatterv");
  MPI_Reduce(&one, &out, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  run.expect(rank != 0 || out == n * (n - 1) / 2, "reduce");
  MPI_Reduce_scatter(mine.data(), &out, counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  run.expect(out == rank * n, "reduce_scatter");
  MPI_Reduce_scatter_block(mine.data(), &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  run.expect(out == rank * n, "reduce_scatter_block");
  MPI_Scan(&one, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  run.expect(out == rank * (rank + 1) / 2, "scan");
  MPI_Exscan(&one, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  run.expect(rank == 0 || out == rank * (rank - 1) / 2, "exscan");
}

void non_blocking(Run& run) {
  const int n = run.size(), rank = run.rank();
  std::vector<int> all(static_cast<std::size_t>(n), -1), mine = steps(n), from(static_cast<std::size_t>(n), -1);
  int one = rank, sum = -1, prefix = -1;
  MPI_Request requests[5];
  MPI_Iallgather(&one, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD, &requests[0]);
  MPI_Ialltoall(mine.data(), 1, MPI_INT, from.data(), 1, MPI_INT, MPI_COMM_WORLD, &requests[1]);
  MPI_Ireduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Iscan(&one, &prefix, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[3]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[4]);
  MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
  run.expect(all == steps(n) && prefix == rank * (rank + 1) / 2 && (rank != 0 || sum == n * (n - 1) / 2), "non-blocking collectives");
}

void persistent(Run& run) {
  int one = run.rank(), sum = -1;
  MPI_Request request;
  MPIX_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int i = 0; i < 5; ++i) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    run.expect(sum == run.size() * (run.size() - 1) / 2, "persistent allreduce");
    sum = -1;
  }
  MPI_Request_free(&request);
}

constexpr int kAllreduces = 20;

void allreduces(Run& run) {
  for (int i = 0; i < kAllreduces; ++i) {
    int one = run.rank() + i, sum = -1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    run.expect(sum == run.size() * (run.size() - 1) / 2 + i * run.size(), "allreduce", i);
  }
}

void neighbors(Run& run) {
  int n = run.size(), periodic = 1;
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &ring);
  int one = run.rank(), both[2] = {-1, -1};
  MPI_Neighbor_allgather(&one, 1, MPI_INT, both, 1, MPI_INT, ring);
  run.expect(both[0] == (run.rank() + n - 1) % n && both[1] == (run.rank() + 1) % n, "neighbor_allgather");
  int mine = 1, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, ring);
  run.expect(sum == n, "allreduce on a topology");
  MPI_Comm_free(&ring);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Run run("collectives");
  const bool must_offload = ina::test::option(argc, argv, "offloaded", 0) != 0;
  if (must_offload) run.expect(ina::test::wait_until_offloaded(MPI_COMM_WORLD), "the switch is reached");
  const std::uint64_t before = ina::test::counter("operations_offloaded");
  blocking(run);
  non_blocking(run);
  persistent(run);
  allreduces(run);
  if (must_offload) run.expect(ina::test::counter("operations_offloaded") >= before + kAllreduces, "the allreduces are offloaded");
  neighbors(run);
  return run.finish();
}
