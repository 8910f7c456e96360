// group_request.hpp: one leader's way to a group: where is the switch, is its manager there, what can our interface carry, is there a group for us.
// Used by Leader. Nothing blocks but the opening of the interface, which is bounded.
// Does not decide when to ask: Leader does, at checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ompi_coll_ina/core/fabric_set.hpp"
#include "ompi_coll_ina/core/host.hpp"
#include "ompi_coll_ina/core/manager_client.hpp"
#include "ompi_coll_ina/core/settings.hpp"
#include "ompi_coll_ina/core/switch_finder.hpp"

namespace ina::core {

// What the leaders of a process share.
struct LeaderServices {
  Host& host;
  const Settings& settings;
  SwitchFinder& finder;
  ManagerClient& manager;
  FabricSet& fabrics;
  bool& has_complained;  // the user has been told, once a process, that the switch cannot be used
};

class GroupRequest {
 public:
  enum class State : std::uint8_t { kIdle, kFinding, kConnecting, kAsking, kGranted, kFailed };
  // What a member may have under way, in bytes: covers 10 Gbit/s x 100 us, and what all members of a small group send at once still fits into the
  // socket of a software switch. A larger window costs more than it brings: after a loss the transport repeats everything that was under way.
  static constexpr std::uint32_t kBytesUnderWay = 128 << 10;

  // has_wire_order: the ranks can stand in a ring around a switch in the wire.
  GroupRequest(const LeaderServices& services, std::uint32_t members, bool has_wire_order) : services_(services), members_(members), has_wire_order_(has_wire_order) {}

  // payload_limit: what the members are known to be able to carry.
  void start(std::uint32_t payload_limit, std::uint64_t now);
  void progress(std::uint64_t now);
  [[nodiscard]] State state() const noexcept { return state_; }
  [[nodiscard]] bool is_under_way() const noexcept { return state_ == State::kFinding || state_ == State::kConnecting || state_ == State::kAsking; }
  [[nodiscard]] ina_decline reason() const noexcept { return reason_; }     // kFailed
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }
  [[nodiscard]] std::uint64_t failed_at() const noexcept { return now_; }
  // kGranted: hands the grant out; the caller owns the group. fabric settings: those the payload was found with.
  [[nodiscard]] Grant take();
  [[nodiscard]] const FabricSettings& fabric_settings() const noexcept { return fabric_settings_; }
  // Nobody wants it any more: a group that comes is closed.
  void abandon();

 private:
  void look_for_manager(std::uint64_t now);
  void ask(std::uint64_t now);
  void hear();
  void fail(ina_decline, const std::string& why);
  void fail_transport(const std::string& why);
  void end_failed(ina_decline, const std::string& why);
  // Tells the user, once a process; topic: of the help file.
  void complain(const char* topic, const std::string& what, const char* advice);

  LeaderServices services_;
  const std::uint32_t members_;
  const bool has_wire_order_;
  State state_ = State::kIdle;
  std::uint32_t payload_limit_ = 0;
  bool is_second_try_ = false;  // an embedded switch that did not answer was looked for again
  std::uint64_t now_ = 0;  // of the last progress that had something to do
  std::uint64_t question_ = 0;
  Grant grant_;
  FabricSettings fabric_settings_;
  ina_decline reason_ = INA_DECLINE_SETUP;
  std::string failure_;
};

}  // namespace ina::core
