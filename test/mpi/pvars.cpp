// The performance variables: every one is there, counts from MPI_Init whenever its handle was allocated, and adds up.
#include <vector>

#include "test/mpi/mpi_test.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ina::test::Run run("pvars");
  using ina::test::counter;
  int mine = 1, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  // The first handle is allocated only now.
  run.expect(counter("operations_declined") + counter("operations_offloaded") >= 1, "the first operation is counted");
  run.expect(ina::test::wait_until_offloaded(MPI_COMM_WORLD), "the switch is reached");
  if (run.rank() == 0) run.expect(counter("slots_held") > 0, "the leader holds slots");
  run.expect(counter("failovers") == 0, "no failover");
  const std::uint64_t operations = counter("operations_offloaded"), bytes = counter("bytes_offloaded"), declined = counter("operations_declined");
  std::vector<double> v(1000, 1.0);
  for (int i = 0; i < 10; ++i) MPI_Allreduce(MPI_IN_PLACE, v.data(), 1000, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  run.expect(counter("operations_offloaded") == operations + 10, "ten operations", static_cast<long>(counter("operations_offloaded") - operations));
  run.expect(counter("bytes_offloaded") == bytes + 80000, "80,000 bytes", static_cast<long>(counter("bytes_offloaded") - bytes));
  run.expect(counter("operations_declined") == declined, "none declined");
  std::uint64_t reasons = 0;
  for (const char* reason : {"type", "op", "no_switch", "unreachable", "no_slots", "setup", "one_node", "comm", "missing", "failover", "cost"}) {
    reasons += counter(std::string("declined_") + reason);
  }
  run.expect(reasons == counter("operations_declined"), "the reasons add up");
  return run.finish();
}
