#include "contrib/demo/speed.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace ina::demo {
namespace {

struct Size {
  std::size_t bytes;
  int repetitions;
};
constexpr std::array<Size, 6> kSizes{{{8, 200}, {1024, 200}, {16384, 100}, {262144, 30}, {1048576, 15}, {4194304, 7}}};

// Microseconds that the slowest rank took for one call.
[[nodiscard]] double time_once(MPI_Comm comm, const std::vector<float>& in, std::vector<float>& out, MPI_Comm plain) {
  MPI_Barrier(plain);
  const double start = MPI_Wtime();
  MPI_Allreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_FLOAT, MPI_SUM, comm);
  const double mine = (MPI_Wtime() - start) * 1e6;
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, plain);
  return slowest;
}

[[nodiscard]] double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void measure_speed(MPI_Comm served, MPI_Comm plain) {
  int rank = 0;
  MPI_Comm_rank(plain, &rank);
  if (rank == 0) std::printf("\n%12s %14s %14s %12s   (float32 sum, median of the slowest rank)\n", "bytes", "ina us", "plain us", "plain/ina");
  for (const Size& size : kSizes) {
    const std::vector<float> in(size.bytes / sizeof(float), 1.0F);
    std::vector<float> out(in.size());
    std::vector<double> by_ina, by_plain;
    for (int i = 0; i < size.repetitions; ++i) {
      by_ina.push_back(time_once(served, in, out, plain));
      by_plain.push_back(time_once(plain, in, out, plain));
    }
    const double ina_us = median(by_ina), plain_us = median(by_plain);
    if (rank == 0) std::printf("%12zu %14.1f %14.1f %12.2f\n", size.bytes, ina_us, plain_us, plain_us / ina_us);
  }
}

}  // namespace ina::demo
