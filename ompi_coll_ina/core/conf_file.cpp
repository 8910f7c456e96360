#include "ompi_coll_ina/core/conf_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "ompi_coll_ina/core/error.hpp"

namespace ina::core {

namespace {

constexpr std::size_t kMaxBytes = 65536;

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view kBlank = " \t\r";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

[[noreturn]] void refuse(const std::string& name, std::size_t line, const std::string& why) {
  throw Error(Status::kBadSetting, name + ":" + std::to_string(line) + ": " + why);
}

void take_line(std::string_view line, const std::string& name, std::size_t number, ConfFile& to) {
  line = trimmed(line.substr(0, line.find('#')));
  if (line.empty()) return;
  const auto equals = line.find('=');
  if (equals == std::string_view::npos) refuse(name, number, "expected `key = value`");
  const std::string_view key = trimmed(line.substr(0, equals));
  const std::string_view value = trimmed(line.substr(equals + 1));
  if (key != "switch") refuse(name, number, "unknown key '" + std::string(key.substr(0, 60)) + "': the one key is switch");
  if (to.switch_address) refuse(name, number, "switch is given twice");
  if (value == "auto") return;
  try {
    to.switch_address = parse_switch_address(value);
  } catch (const Error& error) {
    refuse(name, number, error.what());
  }
}

}  // namespace

ConfFile parse_conf(std::string_view text, const std::string& name) {
  if (text.find('\0') != std::string_view::npos) throw Error(Status::kBadSetting, name + ": not a text file");
  ConfFile conf;
  std::size_t number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    take_line(text.substr(0, end), name, ++number, conf);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return conf;
}

std::optional<ConfFile> read_conf_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw Error(Status::kBadSetting, "cannot read " + path + ": " + std::strerror(errno));
  }
  std::string text(kMaxBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) throw Error(Status::kBadSetting, "cannot read " + path + ": " + std::strerror(errno));
  if (text.size() > kMaxBytes) throw Error(Status::kBadSetting, path + ": longer than 65,536 bytes");
  return parse_conf(text, path);
}

}  // namespace ina::core
