// A communicator without rank 0, which itself never reduces anything: its leader still learns where the job's embedded switch is.
#include "test/mpi/mpi_test.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ina::test::Run run("apart");
  MPI_Comm others;
  MPI_Comm_split(MPI_COMM_WORLD, run.rank() == 0 ? MPI_UNDEFINED : 1, run.rank(), &others);
  if (run.rank() != 0) {
    run.expect(ina::test::wait_until_offloaded(others), "the switch is reached");
    run.expect(ina::test::counter("declined_unreachable") == 0, "it was never called unreachable");
    MPI_Comm_free(&others);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return run.finish();
}
