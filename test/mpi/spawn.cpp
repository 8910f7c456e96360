// Processes that are started later (MPI_Comm_spawn) are no processes of MPI_COMM_WORLD: communicators with them are declined, their own are served.
#include "test/mpi/mpi_test.hpp"

namespace {

void check(ina::test::Run& run, MPI_Comm comm, const char* what) {
  int mine = 1, sum = 0, size = 0;
  MPI_Comm_size(comm, &size);
  for (int i = 0; i < 20; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  run.expect(sum == size, what);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ina::test::Run run("spawn");
  MPI_Comm other, all;
  MPI_Comm_get_parent(&other);
  const bool is_child = other != MPI_COMM_NULL;
  if (!is_child) MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(other, is_child ? 1 : 0, &all);
  run.expect(ina::test::wait_until_offloaded(MPI_COMM_WORLD), "each MPI_COMM_WORLD is served");
  const std::uint64_t declined = ina::test::counter("declined_comm");
  check(run, all, "parents and children");
  run.expect(ina::test::counter("declined_comm") == declined + 20, "a communicator of both is declined");
  check(run, MPI_COMM_WORLD, "MPI_COMM_WORLD");
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&other);
  return run.finish();
}
