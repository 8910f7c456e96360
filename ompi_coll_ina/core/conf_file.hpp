// conf_file.hpp: ina.conf, lines of `key = value` and comments; the one key so far is `switch`.
// Used by resolve_switch_address().
// A file that is wrong is refused with its name and line, never half taken.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ompi_coll_ina/core/switch_address.hpp"

namespace ina::core {

struct ConfFile {
  std::optional<SwitchAddress> switch_address;  // empty as well where the file says auto
};

// Throws Error "NAME:LINE: what is wrong".
[[nodiscard]] ConfFile parse_conf(std::string_view text, const std::string& name);
// nullopt: there is no such file. Throws Error where it cannot be read or is wrong.
[[nodiscard]] std::optional<ConfFile> read_conf_file(const std::string& path);

}  // namespace ina::core
