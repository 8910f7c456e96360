#include "switch/manager/request.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

namespace ina::manager {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 8;               // the protocol needs 3
constexpr std::size_t kMaxTextBytes = 255; // of a name that a host gives itself
constexpr std::size_t kShownBytes = 40;    // of a host's text in an error

// Brackets outside strings may nest kMaxDepth deep, and there are no control characters: nlohmann takes a zero byte for the end.
[[nodiscard]] bool is_shallow(std::string_view line) noexcept {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t') return false;
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) return false;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return true;
}

[[nodiscard]] std::optional<json> parse_object(std::string_view line) {
  if (!is_shallow(line)) return std::nullopt;
  json value = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return std::nullopt;
  return value;
}

[[nodiscard]] Refusal not_an_object() { return {kBadLine, "the line is not a JSON object, or nests too deep"}; }

[[nodiscard]] std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
  if (text.size() > kShownBytes) text.replace(kShownBytes, std::string::npos, "...");
  return text;
}

// Reads members of one object; remembers the first that is missing or of the wrong type.
class Reader {
 public:
  Reader(const json& object, std::string_view what) : object_(object), what_(what) {}

  [[nodiscard]] std::uint64_t number(const char* name, std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) {
    const auto found = object_.find(name);
    if (found == object_.end()) {
      refuse(std::string("needs ") + name);
      return 0;
    }
    if (!found->is_number_unsigned() || found->get<std::uint64_t>() > max) {
      refuse(std::string(name) + " must be a whole number from 0 to " + std::to_string(max) + ", not " + shown(*found));
      return 0;
    }
    return found->get<std::uint64_t>();
  }

  [[nodiscard]] std::string text(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) {
      refuse(std::string("needs ") + name);
      return {};
    }
    if (!found->is_string() || found->get_ref<const std::string&>().size() > kMaxTextBytes) {
      refuse(std::string(name) + " must be a string of at most " + std::to_string(kMaxTextBytes) + " bytes, not " + shown(*found));
      return {};
    }
    return found->get<std::string>();
  }

  [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }
  [[nodiscard]] const std::optional<Refusal>& refusal() const noexcept { return refusal_; }

 private:
  void refuse(const std::string& why) {
    if (!refusal_) refusal_ = Refusal{kBadRequest, std::string(what_) + ": " + why};
  }

  const json& object_;
  std::string_view what_;
  std::optional<Refusal> refusal_;
};

[[nodiscard]] std::variant<Request, BadRequest> read_body(const RequestId& id, const json& object, const std::string& kind) {
  Reader reader(object, kind);
  Request request{.id = id, .body = StatusRequest{}};
  if (kind == "open") {
    request.body = OpenRequest{.members = reader.number("members"), .window = reader.number("window"), .payload = reader.number("payload")};
  } else if (kind == "close") {
    request.body = CloseRequest{static_cast<std::uint32_t>(reader.number("group", std::numeric_limits<std::uint32_t>::max()))};
  } else if (kind == "resume") {
    request.body = ResumeRequest{reader.text("lease")};
  } else if (kind == "status") {
    if (reader.has("after"))
      request.body = StatusRequest{static_cast<std::uint32_t>(reader.number("after", std::numeric_limits<std::uint32_t>::max()))};
  } else {
    return BadRequest{id, {kBadRequest, "unknown request " + shown(json(kind))}, false};
  }
  if (reader.refusal()) return BadRequest{id, *reader.refusal(), false};
  return request;
}

}  // namespace

std::variant<Hello, Refusal> parse_hello(std::string_view line) {
  const std::optional<json> object = parse_object(line);
  if (!object) return not_an_object();
  const auto version = object->find("ina");
  if (version == object->end()) return Refusal{kBadRequest, "the first line needs ina, the version of the protocol"};
  if (*version != 1 || !version->is_number_integer())
    return Refusal{kVersion, "this manager speaks version 1 of the protocol, not " + shown(*version)};
  const auto hello = object->find("hello");
  if (hello == object->end() || !hello->is_object()) return Refusal{kBadRequest, "the first line needs hello, an object"};
  Hello result;
  Reader reader(*hello, "hello");
  if (reader.has("client")) result.client = reader.text("client");
  if (reader.has("host")) result.host = reader.text("host");
  if (reader.has("pid")) result.pid = reader.number("pid");
  if (reader.refusal()) return *reader.refusal();
  return result;
}

std::variant<Request, BadRequest> parse_request(std::string_view line) {
  const std::optional<json> object = parse_object(line);
  if (!object) return BadRequest{std::nullopt, not_an_object(), true};
  const auto id = object->find("id");
  if (id == object->end() || !id->is_number_integer())
    return BadRequest{std::nullopt, {kBadRequest, "a request needs id, a whole number"}, false};
  const RequestId id_text = id->dump();
  const auto kind = object->find("request");
  if (kind == object->end() || !kind->is_string())
    return BadRequest{id_text, {kBadRequest, "a request needs request, a string"}, false};
  return read_body(id_text, *object, kind->get_ref<const std::string&>());
}

}  // namespace ina::manager
