#include "contrib/benchmark/options.hpp"

#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace ina::benchmark {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

bool parse_number(const std::string& text, double least, double most, double& number) {
  char* end = nullptr;
  errno = 0;
  const double parsed = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || errno != 0 || !(parsed >= least && parsed <= most)) return false;
  number = parsed;
  return true;
}

bool parse_count(const std::string& text, int& count) {
  double number = 0;
  if (!parse_number(text, 1, 1e6, number) || number != static_cast<int>(number)) return false;
  count = static_cast<int>(number);
  return true;
}

bool parse_bytes(const std::string& text, std::size_t least, std::size_t& bytes) {
  double number = 0;
  if (!parse_number(text, static_cast<double>(least), static_cast<double>(kMostBytes), number)) return false;
  bytes = static_cast<std::size_t>(number);
  return number == static_cast<double>(bytes);
}

bool parse_sizes(const std::string& text, std::vector<std::size_t>& sizes) {
  std::istringstream list(text);
  for (std::string item; std::getline(list, item, ',');) {
    std::size_t bytes = 0;
    if (!parse_bytes(item, 1, bytes)) return false;
    sizes.push_back(bytes);
  }
  return !sizes.empty();
}

bool parse_operation(const std::string& text, Operation& operation) {
  if (text == "sum") operation = Operation::kSum;
  else if (text == "min") operation = Operation::kMin;
  else if (text == "max") operation = Operation::kMax;
  else return false;
  return true;
}

bool parse_type(const std::string& text, std::string& type) {
  type = text;
  return text == "float" || text == "double" || text == "int32" || text == "int64";
}

bool parse_one(std::string_view name, const std::string& value, Options& options) {
  if (name == "--sizes") return parse_sizes(value, options.sizes);
  if (name == "--type") return parse_type(value, options.type);
  if (name == "--op") return parse_operation(value, options.operation);
  if (name == "--seconds") return parse_number(value, 1e-3, 3600, options.seconds);
  if (name == "--min-iterations") return parse_count(value, options.min_iterations);
  if (name == "--max-iterations") return parse_count(value, options.max_iterations);
  if (name == "--back-to-back") return parse_bytes(value, 0, options.back_to_back);
  return false;
}

}  // namespace

const char* const kUsage =
    "usage: mpirun ... measure --sizes BYTES[,BYTES...] [--type float|double|int32|int64] [--op sum|min|max] [--seconds S]\n"
    "                          [--min-iterations N] [--max-iterations N] [--back-to-back BYTES] [--settle]\n";

std::string parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--settle") {
      options.settles = true;
      continue;
    }
    if (i + 1 == argc) return name + ": unknown, or its value is missing";
    if (!parse_one(name, argv[++i], options)) return name + " " + argv[i] + ": no such option, or no such value";
  }
  if (options.sizes.empty()) return "--sizes is missing";
  if (options.min_iterations > options.max_iterations) return "--min-iterations is more than --max-iterations";
  const std::size_t element = options.type == "double" || options.type == "int64" ? 8 : 4;
  for (const std::size_t bytes : options.sizes) {
    if (bytes % element != 0) return "--sizes: " + std::to_string(bytes) + " bytes are no whole number of " + options.type + " elements";
  }
  return {};
}

}  // namespace ina::benchmark
