// mpi_test.hpp: what the MPI test programs share: checks that say where they failed, the component's counters, and waiting for the switch.
// Used by test/mpi/*.cpp, which run under mpirun with the component from the build folder.
// Does not start anything: the scripts do.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace ina::test {

// Rank and size of MPI_COMM_WORLD; counts failed checks. Construct after MPI_Init.
class Run {
 public:
  explicit Run(const char* name);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

  void expect(bool fact, const char* what, long detail = 0);
  // Ends the program: 0 if all ranks passed everything. Calls MPI_Finalize unless told that the caller has.
  [[nodiscard]] int finish();
  // Failures of this rank so far; for programs that finalize themselves.
  [[nodiscard]] int failures() const { return failures_; }

 private:
  const char* name_;
  int rank_ = 0;
  int size_ = 0;
  int failures_ = 0;
};

// Value since MPI_Init of the component's performance variable coll_ina_NAME; 0 where the component is not loaded.
[[nodiscard]] std::uint64_t counter(const std::string& name);

// Allreduces of one int until this rank's operations are offloaded, on all ranks. False: not within the time.
[[nodiscard]] bool wait_until_offloaded(MPI_Comm comm, double seconds = 20);

// A pseudo-random number that depends on its arguments alone: every rank can compute every rank's vector.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t seed, std::uint64_t rank, std::uint64_t index) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + rank * 0xbf58476d1ce4e5b9u + index * 0x94d049bb133111ebu + 1;
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// --NAME=VALUE among the program's arguments, or the default.
[[nodiscard]] long option(int argc, char** argv, const char* name, long otherwise);

}  // namespace ina::test
