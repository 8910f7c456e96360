// switch_address.hpp: where the switch is, as a user writes it: none, embedded, embedded:ADDRESS, HOST:PORT, unix:PATH (or auto).
// Used by Settings and by SwitchFinder.
// Does not resolve host names and does not look whether anyone is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ina::core {

struct SwitchAddress {
  enum class Kind : std::uint8_t { kNone, kEmbedded, kTcp, kUnix };
  Kind kind = Kind::kNone;
  std::string host;  // kTcp: name or number. kEmbedded: the address to listen on, empty: chosen
  std::uint16_t port = 0;
  std::string path;  // kUnix
  [[nodiscard]] std::string text() const;
  bool operator==(const SwitchAddress&) const = default;
};

// Throws Error (bad setting) that says what is wrong and what to write. "auto" is not an address: resolve_switch_address() deals with it.
[[nodiscard]] SwitchAddress parse_switch_address(std::string_view text);

struct SwitchSources {
  std::string_view setting;                // the MCA parameter
  std::optional<std::string> environment;  // INA_SWITCH
  std::string prefix;                      // PREFIX/etc/ina.conf
  std::string home;                        // HOME/.config/ina.conf, empty: none
};

// The setting, unless it is auto; then the environment, then the configuration files, else none. Throws Error, naming the place that is wrong.
[[nodiscard]] SwitchAddress resolve_switch_address(const SwitchSources&);

}  // namespace ina::core
