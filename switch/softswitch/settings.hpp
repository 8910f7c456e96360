// settings.hpp: what a user can choose when ina-softswitch starts.
// Filled by parse_settings() from the command line; read by the program.
// Numbers that no user can know better are constants where they are used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "switch/softswitch/fault_injector.hpp"
#include "switch/softswitch/port_opener.hpp"

namespace ina::softswitch {

struct Settings {
  std::string listen = "127.0.0.1:5050";
  std::string data = "127.0.0.1:0";
  std::vector<std::string> ports;  // interfaces to be in the wire between; none: the relay is served
  PortMode mode = PortMode::kAuto;  // of the ports
  std::uint32_t slots = 8192;
  FaultSettings faults;
  std::string log_level = "info";
  std::uint32_t stats_s = 0;  // 0: none
  bool is_embedded = false;
};

// nullopt: the program ends at once with this exit code; what is to be said has been printed.
[[nodiscard]] std::optional<Settings> parse_settings(int argc, char** argv, int& exit_code);

}  // namespace ina::softswitch
