// virtual_settings.hpp: settings of a manager whose time and randomness a test holds.
// Used by the manager's tests.
// Starts nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "switch/manager/settings.hpp"

namespace ina::manager {

struct VirtualSettings {
  TimePoint now{std::chrono::hours(1)};
  std::mt19937 generator{20260101};
  std::vector<std::string> warnings;

  [[nodiscard]] ManagerSettings settings() {
    ManagerSettings s;
    s.instance = "0123456789abcdef";
    s.program = "test 1.0";
    s.relay = "127.0.0.1:5050";
    s.clock = [this] { return now; };
    s.random = [this](std::span<std::byte> to) {
      for (std::byte& byte : to) byte = static_cast<std::byte>(generator());
    };
    s.log = [this](LogLevel level, std::string_view text) {
      if (level <= LogLevel::kWarn) warnings.emplace_back(text);
    };
    return s;
  }
};

}  // namespace ina::manager
