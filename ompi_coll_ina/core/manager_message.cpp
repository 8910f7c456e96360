#include "ompi_coll_ina/core/manager_message.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "wire/ina_header.hpp"
#include "wire/limits.hpp"

namespace ina::core {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxText = 240;

std::optional<std::uint64_t> number_of(const json& object, const char* key, std::uint64_t most) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto value = found->get<std::uint64_t>();
  return value <= most ? std::optional(value) : std::nullopt;
}

std::optional<std::uint32_t> number_of(const json& object, const char* key) {
  const auto value = number_of(object, key, std::numeric_limits<std::uint32_t>::max());
  return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
}

// What a manager says is shown to users: control characters would reach their terminals.
std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return {};
  std::string text = found->get<std::string>().substr(0, kMaxText);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

template <typename Code>
std::uint16_t mask_of(const json& names, Code first, Code last) {
  std::uint16_t mask = 0;
  if (!names.is_array()) return mask;
  for (auto code = static_cast<unsigned>(first); code <= static_cast<unsigned>(last); ++code) {
    for (const json& name : names) {
      if (name.is_string() && name.get_ref<const std::string&>() == wire::name(static_cast<Code>(code))) mask = static_cast<std::uint16_t>(mask | (1U << code));
    }
  }
  return mask;
}

ManagerLine welcome_of(const json& body) {
  if (!body.is_object()) return ManagerGarbage{"welcome is no object"};
  Welcome welcome;
  welcome.manager = text_of(body, "manager");
  welcome.instance = text_of(body, "instance");
  welcome.relay = text_of(body, "relay");
  welcome.lease_grace_ms = number_of(body, "lease_grace_ms").value_or(0);
  const auto can = body.find("capabilities");
  if (welcome.instance.empty() || can == body.end() || !can->is_object()) return ManagerGarbage{"welcome without instance or capabilities"};
  const auto payload = number_of(*can, "payload");
  const auto members = number_of(*can, "members");
  if (!payload || !members || *payload < wire::kMinPayload) return ManagerGarbage{"capabilities without payload or members"};
  welcome.payload = *payload;
  welcome.members = *members;
  welcome.ops = mask_of(can->value("ops", json()), wire::Op::kSum, wire::Op::kXor);
  welcome.lane_types = mask_of(can->value("lanes", json()), wire::LaneType::kInt8, wire::LaneType::kFloat64);
  return welcome;
}

std::optional<Grant> grant_of(const json& result) {
  const auto group = number_of(result, "group");
  const auto epoch = number_of(result, "epoch");
  const auto window = number_of(result, "window");
  const auto first_seq = number_of(result, "first_seq");
  const auto payload = number_of(result, "payload");
  if (!group || !epoch || !window || !first_seq || !payload) return std::nullopt;
  Grant grant;
  grant.life = {.group = *group, .epoch = *epoch};
  grant.window = *window;
  grant.first_seq = *first_seq;
  grant.payload = *payload;
  grant.lease = text_of(result, "lease");
  return grant;
}

std::vector<std::uint32_t> numbers_of(const json& result, const char* key) {
  std::vector<std::uint32_t> numbers;
  const auto found = result.find(key);
  if (found == result.end() || !found->is_array()) return numbers;
  for (const json& each : *found) {
    if (each.is_number_unsigned() && each.get<std::uint64_t>() <= std::numeric_limits<std::uint32_t>::max()) numbers.push_back(each.get<std::uint32_t>());
  }
  return numbers;
}

ManagerLine event_of(const json& line, const std::string& event) {
  if (event != "active" && event != "failed") return IgnoredLine{};
  const auto group = number_of(line, "group");
  if (!group) return ManagerGarbage{"an event without a group"};
  GroupEvent told;
  told.group = *group;
  told.is_active = event == "active";
  told.text = text_of(line, "text");
  return told;
}

ManagerLine refusal_of(const json& line, const json& error) {
  ManagerRefusal refusal;
  refusal.id = number_of(line, "id", std::numeric_limits<std::uint64_t>::max());
  refusal.code = error.is_object() ? text_of(error, "code") : "";
  refusal.text = error.is_object() ? text_of(error, "text") : "";
  return refusal;
}

}  // namespace

ManagerLine decode_manager_line(std::string_view text) {
  const json line = json::parse(text, nullptr, false);
  if (line.is_discarded() || !line.is_object()) return ManagerGarbage{"not a JSON object"};
  if (const auto version = line.find("ina"); version != line.end() && (!version->is_number_unsigned() || version->get<std::uint64_t>() != 1))
    return ManagerGarbage{"another version of the protocol"};
  if (const auto welcome = line.find("welcome"); welcome != line.end()) return welcome_of(*welcome);
  if (const auto error = line.find("error"); error != line.end()) return refusal_of(line, *error);
  if (const auto event = line.find("event"); event != line.end() && event->is_string()) return event_of(line, event->get<std::string>());
  const auto result = line.find("result");
  if (result == line.end()) return IgnoredLine{};
  const auto id = number_of(line, "id", std::numeric_limits<std::uint64_t>::max());
  if (!id || !result->is_object()) return ManagerGarbage{"a result without id or content"};
  ManagerResult answer;
  answer.id = *id;
  answer.grant = grant_of(*result);
  answer.groups = numbers_of(*result, "groups");
  answer.active = numbers_of(*result, "active");
  return answer;
}

std::string hello_line(const std::string& client, const std::string& host, long pid) {
  const json line = {{"ina", 1}, {"hello", {{"client", client}, {"host", host}, {"pid", pid}}}};
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::string open_line(std::uint64_t id, std::uint32_t members, std::uint32_t window, std::uint32_t payload) {
  return json{{"id", id}, {"request", "open"}, {"members", members}, {"window", window}, {"payload", payload}}.dump() + '\n';
}

std::string close_line(std::uint64_t id, std::uint32_t group) { return json{{"id", id}, {"request", "close"}, {"group", group}}.dump() + '\n'; }

std::string resume_line(std::uint64_t id, const std::string& lease) {
  return json{{"id", id}, {"request", "resume"}, {"lease", lease}}.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

}  // namespace ina::core
