#include "ompi_coll_ina/core/decision.hpp"

#include "ompi_coll_ina/core/byte_cursor.hpp"
#include "ompi_coll_ina/core/ina_core.h"
#include "wire/limits.hpp"

namespace ina::core {

namespace {

constexpr std::uint32_t kDecisionMagic = 0x494e4433;  // "IND3": the digit is the version
constexpr std::size_t kMaxText = 140;

bool is_geometry_valid(const Decision& decision) noexcept {
  if (decision.life.group == 0 || decision.life.epoch == 0) return false;
  if (!wire::is_power_of_two(decision.window) || decision.window < wire::kMinWindow || decision.window > wire::kMaxWindow) return false;
  if (decision.first_seq % (2 * decision.window) != 0) return false;
  return decision.payload >= wire::kMinPayload && decision.payload <= wire::kMaxPayload && decision.payload % 4 == 0;
}

bool are_classes(const std::array<std::uint32_t, kFamilies>& masks) noexcept {
  return ((masks[0] | masks[1]) & ~kAllClasses) == 0;
}

void put(ByteWriter& to, const PlanBits& plan) {
  for (const std::uint32_t mask : plan.by_switch) to.put(mask);
  for (const std::uint32_t mask : plan.on_trial) to.put(mask);
}

PlanBits get_plan(ByteReader& from) noexcept {
  PlanBits plan;
  for (std::uint32_t& mask : plan.by_switch) mask = from.get<std::uint32_t>();
  for (std::uint32_t& mask : plan.on_trial) mask = from.get<std::uint32_t>();
  return plan;
}

}  // namespace

std::vector<std::byte> encode(const Decision& decision) {
  ByteWriter to;
  to.put(kDecisionMagic).put(static_cast<std::uint8_t>(decision.kind)).put(decision.reason);
  to.put(decision.life.group).put(decision.life.epoch);
  put(to, decision.plan);
  to.put(decision.window).put(decision.first_seq).put(decision.payload).put(decision.ops).put(decision.lane_types);
  to.put_text(decision.instance, kMaxText).put_text(decision.relay, kMaxText).put_text(decision.manager, kMaxText).put_text(decision.transport, kMaxText);
  return to.take();
}

std::optional<Decision> decode_decision(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (from.get<std::uint32_t>() != kDecisionMagic) return std::nullopt;
  const auto kind = from.get<std::uint8_t>();
  if (kind < static_cast<std::uint8_t>(DecisionKind::kStay) || kind > static_cast<std::uint8_t>(DecisionKind::kStop)) return std::nullopt;
  Decision decision;
  decision.kind = static_cast<DecisionKind>(kind);
  decision.reason = from.get<std::uint8_t>();
  decision.life.group = from.get<std::uint32_t>();
  decision.life.epoch = from.get<std::uint32_t>();
  decision.plan = get_plan(from);
  decision.window = from.get<std::uint32_t>();
  decision.first_seq = from.get<std::uint32_t>();
  decision.payload = from.get<std::uint32_t>();
  decision.ops = from.get<std::uint16_t>();
  decision.lane_types = from.get<std::uint16_t>();
  decision.instance = from.get_text(kMaxText);
  decision.relay = from.get_text(kMaxText);
  decision.manager = from.get_text(kMaxText);
  decision.transport = from.get_text(kMaxText);
  if (!from.finished() || decision.reason >= INA_DECLINE_REASONS || !are_classes(decision.plan.by_switch) || !are_classes(decision.plan.on_trial)) return std::nullopt;
  if (decision.kind == DecisionKind::kSetUp && !is_geometry_valid(decision)) return std::nullopt;
  return decision;
}

}  // namespace ina::core
