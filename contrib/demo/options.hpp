// options.hpp: what the user asked ina-demo to do.
// Used by main. Parsed before MPI_Init, so that --help and --version need no mpirun.
// Does not print results.
#pragma once

#include <cstdint>
#include <optional>

namespace ina::demo {

struct Options {
  std::optional<std::uint64_t> seed;  // absent: drawn by rank 0
  bool measure_speed = true;
  bool needs_offload = true;  // fail when the switch did nothing
};

// What parse() found: options to run with, or the exit status to end with at once (its text is printed already).
struct Parsed {
  Options options;
  std::optional<int> exit_status;
};

[[nodiscard]] Parsed parse(int argc, char** argv);

}  // namespace ina::demo
