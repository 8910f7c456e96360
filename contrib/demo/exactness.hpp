// exactness.hpp: compares MPI_Allreduce on MPI_COMM_WORLD with what its bits must be.
// Used by ina-demo.
// Does not decide which path a call takes: it looks at the component's counters to tell.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "contrib/demo/counters.hpp"

namespace ina::demo {

struct ExactnessReport {
  int checked = 0;           // vectors compared
  int wrong = 0;             // of those, on this rank
  unsigned offloaded = 0;    // of those, by the switch
};

// plain: a communicator of the same ranks that ina does not serve.
[[nodiscard]] ExactnessReport check_exactness(const Counters&, MPI_Comm plain, std::uint64_t seed);

}  // namespace ina::demo
