// fuzz_manager_answer.cpp: whatever a manager sends, in whatever pieces, the client takes a sound grant or says why not.
// The first byte chooses how the rest is cut.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "ompi_coll_ina/core/manager_client.hpp"
#include "wire/limits.hpp"

namespace {

using namespace ina::core;

class Script final : public Connection {
 public:
  Script(std::string text, std::size_t piece) : text_(std::move(text)), piece_(piece) {}
  State advance() noexcept override { return State::kOpen; }
  std::string failure() const override { return "the end"; }
  std::ptrdiff_t read(std::span<char> to) noexcept override {
    if (at_ == text_.size()) return 0;
    const std::size_t bytes = std::min({to.size(), text_.size() - at_, piece_});
    std::memcpy(to.data(), text_.data() + at_, bytes);
    at_ += bytes;
    return static_cast<std::ptrdiff_t>(bytes);
  }
  std::ptrdiff_t write(std::string_view from) noexcept override { return static_cast<std::ptrdiff_t>(from.size()); }

 private:
  std::string text_;
  std::size_t piece_;
  std::size_t at_ = 0;
};

void check(const Grant& grant) {
  const bool is_sound = grant.life.group != 0 && grant.life.epoch != 0 && ina::wire::is_power_of_two(grant.window) && grant.window >= 2 && grant.window <= 128 &&
                        grant.first_seq % (2 * grant.window) == 0 && grant.payload >= ina::wire::kMinPayload && grant.payload <= 4096 && grant.payload % 4 == 0;
  if (!is_sound) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(data + 1, data + size);
  ManagerClient client([&](const SwitchAddress&) { return std::make_unique<Script>(text, 1 + data[0]); }, "host", 1);
  std::uint64_t now = 1;
  client.start(parse_switch_address("10.0.0.1:5050"), now);
  std::uint64_t question = 0;
  for (int round = 0; round < 8; ++round) {
    (void)client.progress(now += 1'000'000'000);
    if (question == 0 && client.state() == ManagerClient::State::kReady) question = client.ask(4, 128, 4096, now);
    if (question == 0) continue;
    const AskAnswer answer = client.answer(question);
    if (answer.state == AskState::kGranted) {
      check(answer.grant);
      (void)client.group_state(answer.grant.life.group);
      client.close(answer.grant.life.group);
    }
    if (answer.state != AskState::kPending) question = 0;
  }
  return 0;
}
