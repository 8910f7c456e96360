// allreduce_cost: what an allreduce costs a whole job, on rank 0 in lines "name value" for test/perf/run.
// Usage: mpirun ... allreduce_cost BYTES REPETITIONS
#include <dlfcn.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "contrib/demo/counters.hpp"
#include "ucx_tl/uct_ina_counters.h"

namespace {

constexpr double kSetUpSeconds = 20.0;

struct Packets {
  unsigned long long packets = 0;
  unsigned long long system_calls = 0;
};

// The transport is loaded by the component, if at all.
Packets packets_so_far() {
  void* const library = dlopen("libuct_ina.so", RTLD_NOLOAD | RTLD_LAZY);
  if (library == nullptr) return {};
  const auto query = reinterpret_cast<decltype(&uct_ina_query_counters)>(dlsym(library, "uct_ina_query_counters"));
  Packets sum;
  if (query != nullptr) {
    uct_ina_counters_t counters{};
    query(&counters);
    sum = {.packets = counters.packets_sent + counters.packets_received, .system_calls = counters.system_calls};
  }
  dlclose(library);
  return sum;
}

// Memory of this process that no other shares, in KiB.
unsigned long long private_kib() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("RssAnon:")) return std::strtoull(line.c_str() + 8, nullptr, 10);
  }
  return 0;
}

unsigned long long sum_over_ranks(unsigned long long mine) {
  unsigned long long sum = 0;
  MPI_Reduce(&mine, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  return sum;
}

unsigned long long most_of_ranks(unsigned long long mine) {
  unsigned long long most = 0;
  MPI_Reduce(&mine, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  return most;
}

void wait_for_offload(const ina::demo::Counters& counters) {
  const double start = MPI_Wtime();
  for (;;) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int goes_on = !counters.is_empty() && counters.value("coll_ina_operations_offloaded") == 0 && MPI_Wtime() - start < kSetUpSeconds;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (goes_on == 0) return;
  }
}

// Returns how many elements were wrong. The data differ from call to call, so that an old result is found out.
int reduce(std::vector<float>& in, std::vector<float>& out, int round, int rank, int size) {
  std::fill(in.begin(), in.end(), static_cast<float>(round + rank));
  MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  const float expected = static_cast<float>(size * round + size * (size - 1) / 2);
  return static_cast<int>(std::count_if(out.begin(), out.end(), [expected](float value) { return value != expected; }));
}

int run(std::size_t bytes, int repetitions) {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ina::demo::Counters counters;
  wait_for_offload(counters);
  std::vector<float> in(bytes / sizeof(float)), out(in.size());
  int wrong = reduce(in, out, 0, rank, size);

  const Packets before = packets_so_far();
  std::vector<double> times;
  for (int round = 1; round <= repetitions; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    wrong += reduce(in, out, round, rank, size);
    times.push_back((MPI_Wtime() - start) * 1e6);
  }
  const Packets after = packets_so_far();
  std::nth_element(times.begin(), times.begin() + repetitions / 2, times.end());

  const auto packets = sum_over_ranks(after.packets - before.packets);
  const auto system_calls = sum_over_ranks(after.system_calls - before.system_calls);
  const auto memory = most_of_ranks(private_kib());
  const auto errors = sum_over_ranks(static_cast<unsigned long long>(wrong));
  if (rank == 0) {
    std::printf("us %.1f\noffloaded %llu\nretransmissions %llu\npackets %llu\nsystem_calls %llu\nprivate_kib %llu\nwrong %llu\n",
                times[static_cast<std::size_t>(repetitions / 2)], counters.value("coll_ina_operations_offloaded"),
                counters.value("coll_ina_retransmissions"), packets, system_calls, memory, errors);
  }
  counters.end();
  return errors == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::atoll(argv[1]) < 4 || std::atoi(argv[2]) < 1) {
    std::fputs("usage: mpirun ... allreduce_cost BYTES REPETITIONS\n", stderr);
    return 2;
  }
  MPI_Init(&argc, &argv);
  const int status = run(static_cast<std::size_t>(std::atoll(argv[1])), std::atoi(argv[2]));
  MPI_Finalize();
  return status;
}
