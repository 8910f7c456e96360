// ina-report: what became of a program's allreduces, printed by rank 0 at MPI_Finalize.
// Preloaded into any MPI program (LD_PRELOAD=PREFIX/lib/ina/libina_report.so): it stands before the program's calls by
// MPI's profiling interface. Changes no result: it counts, and reads the component's counters.
#include <mpi.h>

#include <cstdio>
#include <optional>

#include "contrib/demo/counters.hpp"

namespace {

struct PathCount {
  unsigned long long calls = 0;
  unsigned long long offloaded = 0;
};

std::optional<ina::demo::Counters> counters;
PathCount on_world, on_others;

unsigned long long operations_offloaded() { return counters ? counters->value("coll_ina_operations_offloaded") : 0; }

}  // namespace

extern "C" {

#define INA_EXPORT __attribute__((visibility("default")))

INA_EXPORT int MPI_Init(int* argc, char*** argv) {
  const int status = PMPI_Init(argc, argv);
  counters.emplace();
  return status;
}

INA_EXPORT int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int status = PMPI_Init_thread(argc, argv, required, provided);
  counters.emplace();
  return status;
}

INA_EXPORT int MPI_Allreduce(const void* source, void* destination, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const unsigned long long before = operations_offloaded();
  const int status = PMPI_Allreduce(source, destination, count, type, op, comm);
  PathCount& path = comm == MPI_COMM_WORLD ? on_world : on_others;
  ++path.calls;
  if (operations_offloaded() != before) ++path.offloaded;
  return status;
}

INA_EXPORT int MPI_Finalize() {
  int rank = -1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::fprintf(stderr,
                 "ina-report: %s; MPI_COMM_WORLD: %llu allreduces, %llu offloaded; "
                 "other communicators: %llu allreduces, %llu offloaded\n",
                 counters && !counters->is_empty() ? "component loaded" : "component not loaded", on_world.calls,
                 on_world.offloaded, on_others.calls, on_others.offloaded);
  }
  counters.reset();
  return PMPI_Finalize();
}

}  // extern "C"
