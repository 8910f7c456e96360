#include "ompi_coll_ina/core/settings.hpp"

#include "ompi_coll_ina/core/error.hpp"

namespace ina::core {

namespace {

constexpr int kMaxFailoverMs = 3'600'000;

std::string text_or(const char* text, const char* otherwise) { return text != nullptr ? text : otherwise; }

Select parse_select(const std::string& text) {
  if (text == "auto") return Select::kAuto;
  if (text == "always") return Select::kAlways;
  if (text == "never") return Select::kNever;
  throw Error(Status::kBadSetting, "coll_ina_select is '" + text.substr(0, 60) + "'; write auto, always or never");
}

std::string parse_transport(const std::string& text) {
  for (const char c : text) {
    const bool is_name = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (!is_name) throw Error(Status::kBadSetting, "coll_ina_transport is '" + text.substr(0, 60) + "'; write auto or a UCT transport, e.g. ina or rc_verbs");
  }
  if (text.size() > 30) throw Error(Status::kBadSetting, "coll_ina_transport is longer than any transport's name");
  return text.empty() ? "auto" : text;
}

}  // namespace

Settings make_settings(const ina_settings& from) {
  Settings to;
  to.verbose = from.verbose;
  to.select = parse_select(text_or(from.select, "auto"));
  to.transport = parse_transport(text_or(from.transport, "auto"));
  to.softswitch = text_or(from.softswitch, "ina-softswitch");
  to.all_on_one_node = from.all_on_one_node != 0;
  to.one_node = from.one_node != 0;
  if (from.failover_ms < 1 || from.failover_ms > kMaxFailoverMs)
    throw Error(Status::kBadSetting, "coll_ina_failover_ms is " + std::to_string(from.failover_ms) + "; write 1 to 3600000");
  to.failover_ns = static_cast<std::uint64_t>(from.failover_ms) * 1'000'000;
  to.world_rank = from.world_rank;
  to.world_size = from.world_size;
  to.world_tag = from.world_tag;
  const std::string setting = text_or(from.switch_address, "auto");
  SwitchSources sources{.setting = setting, .environment = std::nullopt, .prefix = text_or(from.prefix, ""), .home = text_or(from.home, "")};
  if (from.env_switch != nullptr) sources.environment = from.env_switch;
  to.switch_address = resolve_switch_address(sources);
  return to;
}

}  // namespace ina::core
