// More than 2^31 bytes in place on two ranks, by the switch.
#include <sys/sysinfo.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "test/mpi/mpi_test.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  ina::test::Run run("big");
  const std::size_t count = static_cast<std::size_t>(ina::test::option(argc, argv, "count", (1L << 28) + 1027));  // of 8 bytes
  struct sysinfo memory {};
  sysinfo(&memory);
  const std::size_t needed = count * sizeof(std::int64_t) * static_cast<std::size_t>(run.size());
  int is_short = (memory.freeram + memory.bufferram) * memory.mem_unit < needed + (std::size_t{1} << 30) ? 1 : 0;
  MPI_Bcast(&is_short, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (is_short != 0) {
    if (run.rank() == 0) std::printf("big: skipped, %zu MiB of free memory are needed\n", (needed >> 20) + 1024);
    MPI_Finalize();
    return 77;
  }
  const bool must_offload = ina::test::option(argc, argv, "offloaded", 1) != 0;
  if (must_offload) run.expect(ina::test::wait_until_offloaded(MPI_COMM_WORLD), "the switch is reached");
  std::unique_ptr<std::int64_t[]> v(new std::int64_t[count]);
  for (std::size_t i = 0; i < count; ++i) v[i] = static_cast<std::int64_t>(i) * (run.rank() + 1);
  const std::uint64_t before = ina::test::counter("operations_offloaded");
  MPI_Allreduce(MPI_IN_PLACE, v.get(), static_cast<int>(count), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (must_offload) run.expect(ina::test::counter("operations_offloaded") == before + 1, "it was offloaded");
  const std::int64_t factor = run.size() * (run.size() + 1) / 2;
  for (std::size_t i = 0; i < count; ++i) {
    if (v[i] != static_cast<std::int64_t>(i) * factor) {
      run.expect(false, "an element", static_cast<long>(i));
      break;
    }
  }
  return run.finish();
}
