// uct_traffic: two processes do random things to each other over a transport of UCX, and check every byte against a model.
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "test/traffic/side.hpp"

namespace traffic {
namespace {

constexpr const char* kUsage =
    "usage: uct_traffic [--transport NAME] [--device NAME] [--seed N] [--operations N] [--endpoints N] [--largest BYTES] [--limit SECONDS]\n"
    "                   [--to-iface] [--sleep] [--namespaces SERVER,CLIENT]\n";

Options parse(int argc, char** argv) {
  Options options;
  const option names[] = {{"transport", 1, nullptr, 't'}, {"device", 1, nullptr, 'd'},  {"seed", 1, nullptr, 's'},     {"operations", 1, nullptr, 'n'},
                          {"endpoints", 1, nullptr, 'e'}, {"largest", 1, nullptr, 'l'}, {"limit", 1, nullptr, 'a'},    {"to-iface", 0, nullptr, 'i'},
                          {"sleep", 0, nullptr, 'w'},     {"namespaces", 1, nullptr, 'N'}, {nullptr, 0, nullptr, 0}};
  for (int found; (found = getopt_long(argc, argv, "", names, nullptr)) != -1;) {
    const std::string value = optarg == nullptr ? "" : optarg;
    switch (found) {
      case 't': options.transport = value; break;
      case 'd': options.device = value; break;
      case 's': options.seed = std::strtoull(value.c_str(), nullptr, 10); break;
      case 'n': options.operations = std::strtoull(value.c_str(), nullptr, 10); break;
      case 'e': options.endpoints = static_cast<unsigned>(std::strtoul(value.c_str(), nullptr, 10)); break;
      case 'l': options.largest = std::strtoull(value.c_str(), nullptr, 10); break;
      case 'a': options.limit_s = static_cast<unsigned>(std::strtoul(value.c_str(), nullptr, 10)); break;
      case 'i': options.to_iface = true; break;
      case 'w': options.sleeps = true; break;
      case 'N':
        options.server_namespace = value.substr(0, value.find(','));
        options.client_namespace = value.substr(value.find(',') + 1);
        break;
      default: std::fputs(kUsage, stderr); std::exit(2);
    }
  }
  if (optind != argc || options.endpoints < 1 || options.endpoints > 255 || options.largest < 8 || options.largest > 500000) {
    std::fputs(kUsage, stderr);
    std::exit(2);
  }
  return options;
}

void enter(const std::string& name) {
  if (name.empty()) return;
  const int descriptor = open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  check(descriptor >= 0 && setns(descriptor, CLONE_NEWNET) == 0, "cannot enter the namespace " + name);
  close(descriptor);
}

// Before anything of UCX: its state does not go across fork.
pid_t start(const Options& options, unsigned index, const std::array<int, 2>& control) {
  const pid_t child = fork();
  check(child >= 0, "cannot fork");
  if (child != 0) return child;
  close(control[1 - index]);
  alarm(options.limit_s);
  enter(index == 0 ? options.server_namespace : options.client_namespace);
  {
    Side side(options, index, control[index]);
    side.run();
  }
  std::exit(0);
}

int run(const Options& options) {
  std::array<int, 2> control{};
  check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control.data()) == 0, "cannot make a socket pair");
  std::array<pid_t, 2> children{start(options, 0, control), start(options, 1, control)};
  for (int descriptor : control) close(descriptor);
  int failures = 0;
  for (pid_t child : children) {
    int status = 0;
    check(waitpid(child, &status, 0) == child, "cannot wait");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    ++failures;
    if (WIFSIGNALED(status)) std::fprintf(stderr, "uct_traffic: a side was ended by signal %d%s\n", WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ": it hung" : "");
  }
  std::printf("seed %" PRIu64 ": %s\n", options.seed, failures == 0 ? "every byte is right" : "FAILED");
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace traffic

int main(int argc, char** argv) { return traffic::run(traffic::parse(argc, argv)); }
