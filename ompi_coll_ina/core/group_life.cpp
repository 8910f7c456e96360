#include "ompi_coll_ina/core/group_life.hpp"

#include "ompi_coll_ina/core/channel.hpp"

namespace ina::core {

GroupLife::GroupLife(LifeSpec spec, const LifeServices& services)
    : spec_(std::move(spec)), services_(services), posted_(spec_.posted),
      watch_(static_cast<std::uint16_t>(spec_.world_ranks.size()), spec_.set_up.first_seq, services.settings.failover_ns) {
  if (is_leader()) states_.resize(spec_.world_ranks.size());
  open();
}

GroupLife::~GroupLife() { forget(); }

void GroupLife::send(std::uint16_t member, LifeBody body) {
  services_.channel.send(spec_.world_ranks[member], {.life = key(), .member = spec_.member, .body = std::move(body)});
}

void GroupLife::send_to_others(const LifeBody& body) {
  for (std::uint16_t member = 0; member < members(); ++member) {
    if (member != spec_.member) send(member, body);
  }
}

void GroupLife::send_to_all(const LifeBody& body) {
  for (std::uint16_t member = 0; member < members(); ++member) send(member, body);
}

std::uint16_t GroupLife::left() const noexcept { return spec_.left.value_or(static_cast<std::uint16_t>((spec_.member + members() - 1) % members())); }
std::uint16_t GroupLife::right() const noexcept { return spec_.right.value_or(static_cast<std::uint16_t>((spec_.member + 1U) % members())); }

// The number in the message and the process that it came from must be one member.
void GroupLife::handle(int source, LifeMessage&& message) {
  if (is_forgotten() || message.member >= members() || spec_.world_ranks[message.member] != source) return;
  const std::uint16_t member = message.member;
  std::visit([&](auto&& body) { take(member, std::forward<decltype(body)>(body)); }, std::move(message.body));
}

unsigned GroupLife::progress(std::uint64_t now) {
  if (is_forgotten()) return 0;
  unsigned events = 0;
  switch (phase_) {
    case Phase::kConnecting:
    case Phase::kBinding:
    case Phase::kBound: progress_setup(); break;
    case Phase::kRunning: events = progress_stream(now); break;
    case Phase::kFixed: finish_failover(); break;
    case Phase::kWithdrawn:
    case Phase::kRefused:
    case Phase::kFrozen: break;
  }
  progress_quiesce();
  return events;
}

// All members have voted for it, or the leader would not have committed; one that has not is a fault like any other.
void GroupLife::commit() {
  switch (phase_) {
    case Phase::kBound:
    case Phase::kWithdrawn: phase_ = Phase::kRunning; break;
    case Phase::kConnecting:
    case Phase::kBinding:
    case Phase::kRefused: freeze("committed without this member's vote"); break;
    case Phase::kRunning:
    case Phase::kFrozen:
    case Phase::kFixed: break;
  }
}

void GroupLife::detach(std::uint64_t ended_at) noexcept {
  is_attached_ = false;
  if (ended_at_ == 0) ended_at_ = ended_at;
}

void GroupLife::give_up() noexcept {
  if (is_forgotten()) return;
  lose_operations();
  forget();
}

}  // namespace ina::core
