#include "ina_config.h"

#include "switch/softswitch/settings.hpp"

#include <CLI/CLI.hpp>
#include <map>
#include <set>

namespace ina::softswitch {

namespace {

constexpr std::uint32_t kMinSlots = 4;  // the smallest group
constexpr std::uint32_t kMaxSlots = 1 << 20;
constexpr std::size_t kMaxPorts = 256;
constexpr std::uint32_t kMaxStatsSeconds = 86400;

void add_faults(CLI::App& app, FaultSettings& faults) {
  const auto add = [&](const char* name, double& to, const char* text) {
    app.add_option(name, to, text)->check(CLI::Range(0.0, 1.0))->type_name("P")->group("Fault injection");
  };
  add("--loss", faults.loss, "Probability 0..1 that a packet is lost, on its way in and again on its way out");
  add("--duplicate", faults.duplicate, "Probability that it is doubled");
  add("--reorder", faults.reorder, "Probability that a few later ones overtake it");
  add("--corrupt", faults.corrupt, "Probability that one of its bytes is damaged");
  app.add_option("--seed", faults.seed, "The same seed and the same packets give the same faults")->type_name("N")->group("Fault injection");
}

void check_ports(const std::vector<std::string>& ports) {
  if (ports.size() == 1) throw CLI::ValidationError("--port", "a switch in the wire needs two ports at least, as in --port eth1 --port eth2");
  if (ports.size() > kMaxPorts) throw CLI::ValidationError("--port", "a switch has " + std::to_string(kMaxPorts) + " ports at most");
  const std::set<std::string> names(ports.begin(), ports.end());
  if (names.size() != ports.size()) throw CLI::ValidationError("--port", "an interface is named twice");
}

}  // namespace

std::optional<Settings> parse_settings(int argc, char** argv, int& exit_code) {
  Settings settings;
  bool is_verbose = false;
  CLI::App app("ina-softswitch: adds up the vectors of MPI_Allreduce on their way between hosts, and forwards everything else", "ina-softswitch");
  app.set_version_flag("--version", "ina-softswitch " PACKAGE_VERSION);
  app.add_option("--listen", settings.listen, "HOST:PORT for the manager (TCP) and data (UDP), or unix:PATH for the manager alone")
      ->type_name("ADDRESS")
      ->capture_default_str();
  auto* data = app.add_option("--data", settings.data, "HOST:PORT for data if --listen is a path")->type_name("ADDRESS")->capture_default_str();
  auto* ports = app.add_option("--port", settings.ports, "A network interface to be a port of: with two or more the program is a switch in the wire between them, and no relay")
                          ->type_name("IF")
                          ->allow_extra_args(false);
  data->excludes(ports);
  const std::map<std::string, PortMode> modes{{"auto", PortMode::kAuto}, {"xdp", PortMode::kXdp}, {"packet", PortMode::kPacket}};
  std::string mode = "auto";
  app.add_option("--mode", mode, "How the ports get at packets: AF_XDP beside a kernel bridge, packet sockets, or what can be had, in this order")
      ->check(CLI::IsMember({"auto", "xdp", "packet"}))
      ->needs(ports)
      ->type_name("MODE")
      ->capture_default_str();
  app.add_option("--slots", settings.slots, "Slots of all groups together; a group of window W takes 2 W")
      ->check(CLI::Range(kMinSlots, kMaxSlots))
      ->type_name("N")
      ->capture_default_str();
  add_faults(app, settings.faults);
  app.add_option("--log-level", settings.log_level, "What is logged on standard error")
      ->check(CLI::IsMember({"error", "warn", "info", "debug", "off"}))
      ->type_name("LEVEL")
      ->capture_default_str();
  app.add_flag("-v,--verbose", is_verbose, "The same as --log-level debug");
  app.add_option("--stats", settings.stats_s, "Log the counters every SECONDS")->check(CLI::Range(1u, kMaxStatsSeconds))->type_name("SECONDS");
  app.add_flag("--embedded", settings.is_embedded, "End when standard input ends, and leave the terminal's signals to the job that started this program");
  try {
    app.parse(argc, argv);
    check_ports(settings.ports);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  settings.mode = modes.at(mode);
  if (is_verbose) settings.log_level = "debug";
  return settings;
}

}  // namespace ina::softswitch
