// speed.hpp: times of MPI_Allreduce on two communicators of the same ranks, taken in turns.
// Used by ina-demo.
// Does not claim anything about a network: ranks of one machine exchange memory, not packets, on the plain communicator.
#pragma once

#include <mpi.h>

namespace ina::demo {

// Prints a table on rank 0.
void measure_speed(MPI_Comm served, MPI_Comm plain);

}  // namespace ina::demo
