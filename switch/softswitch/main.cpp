// main.cpp: starts ina-softswitch: settings, logging, one line on standard output that says where it listens, the loop.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>

#include "switch/softswitch/program.hpp"
#include "switch/softswitch/settings.hpp"

namespace {

void start_logging(const std::string& level) {
  auto logger = spdlog::stderr_logger_st("ina-softswitch");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %n[%P]: %l: %v");
  logger->set_level(spdlog::level::from_str(level == "error" ? "err" : level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  try {
    const auto settings = ina::softswitch::parse_settings(argc, argv, exit_code);
    if (!settings) return exit_code;
    start_logging(settings->log_level);
    std::signal(SIGPIPE, SIG_IGN);
    // A session of its own: the terminal's signals and the job's process group are for the job. It fails if there is one already.
    if (settings->is_embedded) (void)::setsid();
    ina::softswitch::Program program(*settings);
    std::printf("listening on %s\n", program.address().c_str());
    if (std::fflush(stdout) != 0) {
      std::fprintf(stderr, "ina-softswitch: cannot write to standard output\n");
      return 1;
    }
    spdlog::info("{}, {} slots", program.data_description(), settings->slots);
    program.run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ina-softswitch: %s\n", error.what());
    return 1;
  }
}
