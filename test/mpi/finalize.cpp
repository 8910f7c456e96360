// MPI_Finalize in every state: --state=N. An attribute of MPI_COMM_SELF's that the program set still reduces while MPI_Finalize deletes it.
//   0 nothing was ever reduced   1 one operation (set-up just begins)   2 set-up under way   3 offloaded, nothing freed
//   4 offloaded on several communicators, some freed just before   5 one rank comes late
#include <unistd.h>

#include <cstdio>
#include <vector>

#include "test/mpi/mpi_test.hpp"

namespace {

int failures = 0;

int reduce_once(MPI_Comm comm) {
  int mine = 1, sum = 0, size = 0;
  MPI_Comm_size(comm, &size);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum == size ? 0 : 1;
}

int on_delete(MPI_Comm, int, void*, void*) {
  failures += reduce_once(MPI_COMM_WORLD);
  return MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ina::test::Run run("finalize");
  const long state = ina::test::option(argc, argv, "state", 3);
  int key = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  if (state == 1) failures += reduce_once(MPI_COMM_WORLD);
  if (state == 2) {
    for (int i = 0; i < 9; ++i) failures += reduce_once(MPI_COMM_WORLD);
  }
  std::vector<MPI_Comm> comms;
  if (state >= 3) {
    run.expect(ina::test::wait_until_offloaded(MPI_COMM_WORLD), "the switch is reached");
    for (int i = 0; i < 6; ++i) {
      MPI_Comm comm;
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      for (int k = 0; k < 1 << i; ++k) failures += reduce_once(comm);
      comms.push_back(comm);
    }
  }
  if (state >= 4) {
    for (std::size_t i = 0; i < comms.size(); i += 2) MPI_Comm_free(&comms[i]);
  }
  if (state == 5 && run.rank() == run.size() - 1) usleep(1500000);
  const int rank = run.rank();
  const int before = run.failures();
  MPI_Finalize();
  if (failures + before > 0) std::fprintf(stderr, "finalize: rank %d: state %ld failed\n", rank, state);
  if (rank == 0) std::printf("finalize: state %ld %s\n", state, failures + before == 0 ? "passed" : "FAILED");
  return failures + before == 0 ? 0 : 1;
}
