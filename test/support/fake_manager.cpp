#include "test/support/fake_manager.hpp"

#include <algorithm>
#include <cstring>

namespace ina::test {

namespace {

using nlohmann::json;

class MemoryConnection final : public core::Connection {
 public:
  explicit MemoryConnection(std::shared_ptr<FakeManager::Pipe> pipe) : pipe_(std::move(pipe)) {}
  ~MemoryConnection() override {
    if (pipe_) pipe_->is_open = false;
  }
  State advance() noexcept override {
    if (!pipe_) return State::kFailed;
    return pipe_->is_open || !pipe_->to_host.empty() ? State::kOpen : State::kFailed;
  }
  std::string failure() const override { return pipe_ ? "the connection was closed" : "connection refused"; }
  std::ptrdiff_t read(std::span<char> to) noexcept override {
    if (pipe_->to_host.empty()) return pipe_->is_open ? 0 : -1;
    const std::size_t bytes = std::min(to.size(), pipe_->to_host.size());
    std::memcpy(to.data(), pipe_->to_host.data(), bytes);
    pipe_->to_host.erase(0, bytes);
    return static_cast<std::ptrdiff_t>(bytes);
  }
  std::ptrdiff_t write(std::string_view from) noexcept override {
    if (!pipe_->is_open) return -1;
    pipe_->to_manager += from;
    return static_cast<std::ptrdiff_t>(from.size());
  }

 private:
  std::shared_ptr<FakeManager::Pipe> pipe_;
};

}  // namespace

std::unique_ptr<core::Connection> FakeManager::connect() {
  ++connections_made;
  if (!is_reachable) return std::make_unique<MemoryConnection>(nullptr);
  auto pipe = std::make_shared<Pipe>();
  pipe->lease = std::to_string(random_());
  pipes_.push_back(pipe);
  return std::make_unique<MemoryConnection>(pipe);
}

void FakeManager::restart() {
  drop_connections();
  groups_.clear();
  orphans_.clear();
  instance_ = std::to_string(random_());
}

void FakeManager::drop_connections() {
  for (const auto& pipe : pipes_) pipe->is_open = false;
}

std::uint32_t FakeManager::slots_used() const {
  std::uint32_t used = 0;
  for (const auto& [number, group] : groups_) used += 2 * group.window;
  return used;
}

void FakeManager::say(Pipe& pipe, const json& line) { pipe.to_host += raw_answer.empty() ? line.dump() + "\n" : raw_answer; }

void FakeManager::turn(std::uint64_t now) {
  now_ = now;
  for (const auto& pipe : pipes_) {
    for (auto end = pipe->to_manager.find('\n'); end != std::string::npos; end = pipe->to_manager.find('\n')) {
      const std::string line = pipe->to_manager.substr(0, end);
      pipe->to_manager.erase(0, end + 1);
      if (!is_silent) take(*pipe, line);
    }
    if (!pipe->is_open) orphans_.emplace(pipe->lease, now + std::uint64_t{lease_grace_ms} * 1'000'000);
  }
  std::erase_if(pipes_, [](const auto& pipe) { return !pipe->is_open; });
  for (const auto& [lease, deadline] : orphans_) {
    if (now >= deadline) std::erase_if(groups_, [&](const auto& each) { return each.second.lease == lease; });
  }
  std::erase_if(orphans_, [&](const auto& each) { return now >= each.second; });
  if (network_ == nullptr || !activates || is_silent) return;
  for (auto& [number, group] : groups_) {
    if (group.is_active || network_->binds_seen(group.group, group.epoch) != 2u * group.members) continue;
    group.is_active = true;
    for (const auto& pipe : pipes_) {
      if (pipe->lease == group.lease) say(*pipe, {{"event", "active"}, {"group", number}});
    }
  }
}

void FakeManager::fail_groups(const std::string& text) {
  for (const auto& [number, group] : groups_) {
    for (const auto& pipe : pipes_) {
      if (pipe->lease == group.lease) say(*pipe, {{"event", "failed"}, {"group", number}, {"reason", "test"}, {"text", text}});
    }
  }
  groups_.clear();
}

void FakeManager::take(Pipe& pipe, const std::string& text) {
  const json line = json::parse(text);
  if (line.contains("hello")) {
    say(pipe, {{"ina", 1},
               {"welcome",
                {{"manager", "fake"}, {"instance", instance_}, {"relay", "10.0.0.1:5050"}, {"lease_grace_ms", lease_grace_ms},
                 {"capabilities",
                  {{"ops", json::parse(ops)},
                   {"lanes", {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}},
                   {"payload", payload}, {"members", members}, {"slots", slots}, {"windows", {2, 128}}, {"float_order", "member"}, {"aids", json::array()}}}}}});
    return;
  }
  const std::string request = line["request"];
  if (request == "open") {
    open(pipe, line);
  } else if (request == "close") {
    ++closes;
    groups_.erase(line["group"].get<std::uint32_t>());
    say(pipe, {{"id", line["id"]}, {"result", json::object()}});
  } else if (request == "resume") {
    ++resumes;
    const std::string lease = line["lease"];
    json groups = json::array();
    json active = json::array();
    for (const auto& [number, group] : groups_) {
      if (group.lease != lease) continue;
      groups.push_back(number);
      if (group.is_active) active.push_back(number);
    }
    orphans_.erase(lease);
    pipe.lease = lease;
    if (groups.empty()) {
      say(pipe, {{"id", line["id"]}, {"error", {{"code", "unknown-lease"}, {"text", "no such lease"}}}});
    } else {
      say(pipe, {{"id", line["id"]}, {"result", {{"groups", groups}, {"active", active}}}});
    }
  }
}

void FakeManager::open(Pipe& pipe, const json& request) {
  ++opens;
  Group group{.group = next_group_++, .epoch = static_cast<std::uint32_t>(random_() | 1), .members = request["members"],
              .window = std::min(window, request["window"].get<std::uint32_t>()), .first_seq = 0, .lease = pipe.lease};
  if (slots_used() + 2 * group.window > slots) {
    say(pipe, {{"id", request["id"]}, {"error", {{"code", "no-slots"}, {"text", "no slots are free"}}}});
    return;
  }
  // Near the wrap of seq.
  group.first_seq = 0U - 2 * group.window * static_cast<std::uint32_t>(1 + random_() % 4);
  const std::uint32_t granted = std::min(payload, request["payload"].get<std::uint32_t>());
  groups_[group.group] = group;
  say(pipe, {{"id", request["id"]},
             {"result", {{"group", group.group}, {"epoch", group.epoch}, {"window", group.window}, {"first_seq", group.first_seq}, {"payload", granted}, {"lease", group.lease}}}});
}

}  // namespace ina::test
