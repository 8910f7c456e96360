#include "ompi_coll_ina/core/switch_address.hpp"

#include <charconv>

#include "ompi_coll_ina/core/conf_file.hpp"
#include "ompi_coll_ina/core/error.hpp"

namespace ina::core {

namespace {

constexpr std::size_t kMaxUnixPath = 107;  // of sockaddr_un
constexpr const char* kForms = "write embedded, none, HOST:PORT (e.g. 10.0.0.1:5050 or [fd00::1]:5050) or unix:PATH";

[[noreturn]] void refuse(std::string_view text, const char* why) {
  throw Error(Status::kBadSetting, "switch address '" + std::string(text.substr(0, 120)) + "': " + why + "; " + kForms);
}

bool is_host_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
}

std::string host_of(std::string_view text, std::string_view host) {
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) refuse(text, "the host is missing");
  if (host.size() > 253) refuse(text, "the host is too long");
  for (const char c : host) {
    if (!is_host_character(c)) refuse(text, "a character that no host name has");
  }
  if (!is_bracketed && host.find(':') != std::string_view::npos) refuse(text, "an IPv6 address needs brackets");
  return std::string(host);
}

SwitchAddress parse_tcp(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) refuse(text, "the port is missing");
  const std::string_view port_text = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
  if (error != std::errc{} || end != port_text.data() + port_text.size() || port == 0) refuse(text, "the port is not a number from 1 to 65535");
  SwitchAddress address;
  address.kind = SwitchAddress::Kind::kTcp;
  address.host = host_of(text, text.substr(0, colon));
  address.port = port;
  return address;
}

}  // namespace

std::string SwitchAddress::text() const {
  switch (kind) {
    case Kind::kNone: return "none";
    case Kind::kEmbedded: return host.empty() ? "embedded" : "embedded:" + host;
    case Kind::kTcp: return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
    case Kind::kUnix: return "unix:" + path;
  }
  return "none";
}

SwitchAddress parse_switch_address(std::string_view text) {
  SwitchAddress address;
  if (text == "none") return address;
  if (text == "embedded") {
    address.kind = SwitchAddress::Kind::kEmbedded;
    return address;
  }
  if (text.starts_with("embedded:")) {
    address.kind = SwitchAddress::Kind::kEmbedded;
    const std::string_view host = text.substr(9);
    address.host = host.find(':') == std::string_view::npos || host.starts_with('[') ? host_of(text, host) : host_of(text, "[" + std::string(host) + "]");
    return address;
  }
  if (text.starts_with("unix:")) {
    address.kind = SwitchAddress::Kind::kUnix;
    address.path = text.substr(5);
    if (address.path.empty()) refuse(text, "the path is missing");
    if (address.path.size() > kMaxUnixPath) refuse(text, "the path is longer than the 107 bytes that a UNIX socket may have");
    return address;
  }
  if (text.empty()) refuse(text, "it is empty");
  return parse_tcp(text);
}

SwitchAddress resolve_switch_address(const SwitchSources& sources) {
  if (sources.setting != "auto") return parse_switch_address(sources.setting);
  if (sources.environment && !sources.environment->empty() && *sources.environment != "auto") {
    try {
      return parse_switch_address(*sources.environment);
    } catch (const Error& error) {
      throw Error(Status::kBadSetting, std::string("environment variable INA_SWITCH: ") + error.what());
    }
  }
  for (const std::string& path : {sources.prefix.empty() ? "" : sources.prefix + "/etc/ina.conf", sources.home.empty() ? "" : sources.home + "/.config/ina.conf"}) {
    if (path.empty()) continue;
    const auto conf = read_conf_file(path);
    if (conf && conf->switch_address) return *conf->switch_address;
  }
  return {};
}

}  // namespace ina::core
