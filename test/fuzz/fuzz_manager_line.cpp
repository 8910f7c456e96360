// What a host sends to the manager, cut into lines and answered by two sessions over a switch that does as it is told.
// A byte 0x01 begins a command of the fuzzer's own (the next byte says which); everything else is sent.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "switch/manager/session.hpp"
#include "test/manager/fake_switch.hpp"
#include "test/manager/virtual_settings.hpp"
#include "wire/limits.hpp"

namespace {

using namespace ina::manager;

constexpr const char* kHello = "{\"ina\":1,\"hello\":{\"host\":\"n1\"}}\n";

class Conversation {
 public:
  Conversation() {
    for (std::size_t i = 0; i < sessions_.size(); ++i) connect(i);
  }

  void send(std::string_view bytes) {
    Session& session = *sessions_[speaking_];
    session.receive(bytes);
    while (session.step()) {
    }
    check(session);
  }

  void command(std::uint8_t what) {
    switch (what % 8) {
      case 0:
        speaking_ = 1 - speaking_;
        break;
      case 1:
        time_.now += std::chrono::milliseconds(1000);
        table_.on_time(time_.now);
        break;
      case 2:
        if (!fake_.known.empty()) bind(fake_.known.begin()->first);
        break;
      case 3:
        sessions_[speaking_]->disconnect();
        connect(speaking_);
        break;
      case 4:
        send(kHello);
        break;
      case 5:
        send("{\"id\":1,\"request\":\"open\",\"members\":2,\"window\":16,\"payload\":64}\n");
        break;
      case 6:
        if (!fake_.known.empty())
          send("{\"id\":1,\"request\":\"close\",\"group\":" + std::to_string(fake_.known.begin()->first) + "}\n");
        break;
      default:
        fake_.can_activate = !fake_.can_activate;
    }
    for (const auto& session : sessions_) check(*session);
  }

 private:
  void connect(std::size_t i) {
    ids_[i] = ++next_id_;
    sessions_[i] = std::make_unique<Session>(ConnectionId{ids_[i]}, Client{}, context_);
  }

  void bind(std::uint32_t group) {
    fake_.bind_all(group);
    table_.on_bind(group);
  }

  // Every line that goes out is JSON and short enough, and slots are where groups are.
  void check(Session& session) {
    std::string& output = session.output();
    for (std::size_t begin = 0, end; (end = output.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (end - begin > ina::wire::kMaxManagerLine) std::abort();
      if (!nlohmann::json::accept(std::string_view(output).substr(begin, end - begin))) std::abort();
    }
    if (!output.empty() && output.back() != '\n') std::abort();
    output.clear();
    std::uint32_t used = 0;
    for (const auto& [group, known] : fake_.known) used += 2 * known.spec.window;
    if (table_.slots_free() + used != fake_.can.slots) std::abort();
  }

  FakeSwitch fake_;
  VirtualSettings time_;
  ManagerSettings settings_ = time_.settings();
  ManagerCounters counters_;
  GroupTable table_{fake_, settings_, [this](ConnectionId id, const Event& event) {
                      for (std::size_t i = 0; i < sessions_.size(); ++i)
                        if (ConnectionId{ids_[i]} == id) sessions_[i]->tell(event);
                    }};
  SessionContext context_{.settings = settings_, .groups = table_, .counters = counters_, .started = time_.now};
  std::array<std::unique_ptr<Session>, 2> sessions_;
  std::array<std::uint64_t, 2> ids_{};
  std::uint64_t next_id_ = 0;
  std::size_t speaking_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view left(reinterpret_cast<const char*>(data), size);
  Conversation conversation;
  while (!left.empty()) {
    const std::size_t until = std::min(left.find('\x01'), left.size());
    if (until > 0) conversation.send(left.substr(0, until));
    left.remove_prefix(until);
    if (left.size() < 2) break;
    conversation.command(static_cast<std::uint8_t>(left[1]));
    left.remove_prefix(2);
  }
  return 0;
}
