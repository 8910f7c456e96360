// options.hpp: what the measuring program was asked to measure.
// Used by its main function, before MPI_Init.
// Does not know MPI.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "contrib/benchmark/pattern.hpp"

namespace ina::benchmark {

struct Options {
  std::vector<std::size_t> sizes;  // bytes
  std::string type = "float";
  Operation operation = Operation::kSum;
  double seconds = 0.5;       // of timed calls a size
  int min_iterations = 3;
  int max_iterations = 2000;
  std::size_t back_to_back = 0;  // up to this size there is no barrier between calls: a sample is the mean of a batch
  bool settles = false;          // warms up for as long as ina may compare its paths
};

// Returns an empty text, or what is wrong with the arguments.
[[nodiscard]] std::string parse(int argc, char** argv, Options& options);

extern const char* const kUsage;

}  // namespace ina::benchmark
