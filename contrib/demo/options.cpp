#include "ina_config.h"

#include "contrib/demo/options.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace ina::demo {
namespace {

constexpr const char* kHelp =
    "Usage: mpirun -np N --mca coll ina --mca coll_ina_select always ina-demo [OPTION]...\n"
    "Checks MPI_Allreduce on random data: integers bit for bit against plain Open MPI, floats bit for bit\n"
    "against a sequential sum in the order of the ranks; then prints times beside those of plain Open MPI.\n"
    "\n"
    "  --seed N            random data as in the run that printed this seed\n"
    "  --no-speed          checks only\n"
    "  --allow-software    do not fail when nothing was offloaded\n"
    "  --help              this text\n"
    "  --version           the version\n"
    "\n"
    "Exit status: 0 all results right and operations offloaded; 1 a result was wrong or nothing was offloaded;\n"
    "2 wrong usage.\n";

[[nodiscard]] Parsed usage_error(const char* what, const char* argument) {
  std::fprintf(stderr, "ina-demo: %s %s (see ina-demo --help)\n", what, argument);
  return {.options = {}, .exit_status = 2};
}

[[nodiscard]] bool parse_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      std::fputs(kHelp, stdout);
      return {.options = {}, .exit_status = 0};
    }
    if (argument == "--version") {
      std::puts("ina-demo " PACKAGE_VERSION);
      return {.options = {}, .exit_status = 0};
    }
    if (argument == "--no-speed") {
      parsed.options.measure_speed = false;
    } else if (argument == "--allow-software") {
      parsed.options.needs_offload = false;
    } else if (argument == "--seed" || argument.starts_with("--seed=")) {
      const bool joined = argument != "--seed";
      if (!joined && i + 1 == argc) return usage_error("a number is missing after", "--seed");
      const char* const text = joined ? argv[i] + std::strlen("--seed=") : argv[++i];
      std::uint64_t seed = 0;
      if (!parse_number(text, seed)) return usage_error("not a number from 0 to 2^64 - 1:", text);
      parsed.options.seed = seed;
    } else {
      return usage_error("unknown argument", argv[i]);
    }
  }
  return parsed;
}

}  // namespace ina::demo
