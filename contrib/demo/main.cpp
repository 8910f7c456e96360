// ina-demo: shows that MPI_Allreduce is offloaded, that its results are exact, and what it costs.
#include "ina_config.h"

#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <random>

#include "contrib/demo/counters.hpp"
#include "contrib/demo/exactness.hpp"
#include "contrib/demo/options.hpp"
#include "contrib/demo/speed.hpp"

namespace ina::demo {
namespace {

// How long the set-up of a group may take before the demonstration goes on without it.
constexpr double kSetUpSeconds = 20.0;

// A communicator of all ranks that ina leaves alone.
[[nodiscard]] MPI_Comm make_plain_communicator() {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "ompi_comm_coll_preference", "^ina");
  MPI_Comm plain = MPI_COMM_NULL;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &plain);
  MPI_Info_free(&info);
  return plain;
}

[[nodiscard]] std::uint64_t agree_on_seed(const Options& options, MPI_Comm plain) {
  std::uint64_t seed = 0;
  if (options.seed.has_value()) {
    seed = *options.seed;
  } else {
    std::random_device device;
    seed = device();
  }
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, plain);
  return seed;
}

// Calls until every rank has seen an offloaded one. The first calls run in software while the group is set up.
[[nodiscard]] int wait_for_offload(const Counters& counters, MPI_Comm plain) {
  const double start = MPI_Wtime();
  int calls = 0;
  for (;;) {
    std::int32_t in = 1, out = 0;
    MPI_Allreduce(&in, &out, 1, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
    ++calls;
    const bool is_offloaded = counters.value("coll_ina_operations_offloaded") > 0;
    const bool goes_on = !counters.is_empty() && MPI_Wtime() - start < kSetUpSeconds;
    const std::array<int, 2> mine{is_offloaded ? 1 : 0, goes_on ? 1 : 0};
    std::array<int, 2> all{};
    MPI_Allreduce(mine.data(), all.data(), 2, MPI_INT, MPI_MIN, plain);
    if (all[0] == 1 || all[1] == 0) return calls;
  }
}

void print_counters(const Counters& counters) {
  std::printf("\ncounters of rank 0:\n");
  for (const std::string& name : counters.names()) {
    const unsigned long long value = counters.value(name);
    const bool always = name.ends_with("_offloaded") || name == "coll_ina_operations_declined";
    if (value > 0 || always) std::printf("  %-40s %llu\n", name.c_str(), value);
  }
}

[[nodiscard]] unsigned long long minimum_over_ranks(unsigned long long mine, MPI_Comm plain) {
  unsigned long long least = 0;
  MPI_Allreduce(&mine, &least, 1, MPI_UNSIGNED_LONG_LONG, MPI_MIN, plain);
  return least;
}

[[nodiscard]] int run(const Options& options) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm plain = make_plain_communicator();
  Counters counters;
  const std::uint64_t seed = agree_on_seed(options, plain);
  if (rank == 0) std::printf("ina-demo " PACKAGE_VERSION ": %d ranks, seed %llu\n", size, static_cast<unsigned long long>(seed));
  if (rank == 0 && counters.is_empty()) std::printf("path: plain Open MPI (the component ina is not loaded: see . PREFIX/share/ina/env)\n");

  const int calls = wait_for_offload(counters, plain);
  const bool is_offloaded = minimum_over_ranks(counters.value("coll_ina_operations_offloaded"), plain) > 0;
  if (rank == 0 && !counters.is_empty()) std::printf("path: %s after %d calls\n", is_offloaded ? "offloaded to the switch" : "software", calls);

  const ExactnessReport mine = check_exactness(counters, plain, seed);
  int wrong = 0;
  MPI_Allreduce(&mine.wrong, &wrong, 1, MPI_INT, MPI_SUM, plain);
  if (rank == 0) {
    std::printf("results: %d vectors compared on each rank, %u of them offloaded, %d wrong\n", mine.checked, mine.offloaded, wrong);
    std::printf("  integers: bit for bit as plain Open MPI; floats: offloaded ones bit for bit as a sequential sum\n"
                "  in the order of the ranks, those done in software within rounding\n");
  }
  if (options.measure_speed) measure_speed(MPI_COMM_WORLD, plain);
  if (rank == 0 && !counters.is_empty()) print_counters(counters);

  int status = wrong == 0 ? 0 : 1;
  if (options.needs_offload && minimum_over_ranks(mine.offloaded, plain) == 0) {
    if (rank == 0) std::fprintf(stderr, "ina-demo: no operation was offloaded: run with --mca coll_ina_verbose 1 to see why\n");
    status = 1;
  }
  if (rank == 0) std::printf("\n%s\n", status == 0 ? "ina-demo: passed" : "ina-demo: FAILED");
  std::fflush(stdout);
  counters.end();
  MPI_Comm_free(&plain);
  return status;
}

}  // namespace
}  // namespace ina::demo

int main(int argc, char** argv) {
  const ina::demo::Parsed parsed = ina::demo::parse(argc, argv);
  if (parsed.exit_status.has_value()) return *parsed.exit_status;
  MPI_Init(&argc, &argv);
  const int status = ina::demo::run(parsed.options);
  MPI_Finalize();
  return status;
}
