// The stream of a running life, and the agreed failover that ends it.
//
// Why every member ends with the same result: a result of seq exists only if all members have contributed seq, so H, the end of what anyone has, is not after what any member
// has posted, and not more than W after what it has. What is before H is handed over from the mailboxes, where the last W results of a member that has H still stand; what
// is after H was covered for nobody, and its input is untouched everywhere. So all members start the software schedules of all outstanding operations at the same
// lanes, with the tags that follow from the indices of the operations.
#include <string>

#include "ompi_coll_ina/core/group_life.hpp"

namespace ina::core {

void GroupLife::post(Operation& operation) {
  outstanding_.push_back(&operation);
  operation.state = operation.shadow ? Operation::State::kShadow : Operation::State::kStream;
  Lanes& lanes = operation.shadow ? static_cast<Lanes&>(*operation.shadow) : *operation.lanes;
  operation.stream.emplace(operation.op, lanes);
  stream_->post(*operation.stream);
  (void)stream_->progress();
}

// An operation that is finished may be freed at once: it is taken from the list first.
unsigned GroupLife::collect() {
  unsigned events = 0;
  while (!outstanding_.empty() && outstanding_.front()->stream->is_done()) {
    Operation& operation = *outstanding_.front();
    outstanding_.pop_front();
    services_.operations.finish_offloaded(operation);
    ++events;
  }
  return events;
}

unsigned GroupLife::progress_stream(std::uint64_t now) {
  unsigned events = stream_->progress();
  events += collect();
  if (stream_->has_fault()) {
    // A life that is needed no more has no use for a failover either.
    if (is_attached_ || !outstanding_.empty()) freeze(stream_->fault_reason());
    return events;
  }
  if (stream_->is_idle()) {
    watch_.rest();
  } else {
    watch(now);
  }
  return events;
}

void GroupLife::watch(std::uint64_t now) {
  switch (watch_.look(spec_.member, stream_->contributed_end(), stream_->result_end(), now)) {
    case SilenceWatch::Verdict::kQuiet: break;
    case SilenceWatch::Verdict::kProbe: send_to_others(ProbeMessage{.round = watch_.round()}); break;
    case SilenceWatch::Verdict::kFault:
      freeze("result of chunk " + std::to_string(stream_->result_end()) + " missing for " + std::to_string(services_.settings.failover_ns / 1'000'000) + " ms");
      break;
  }
}

void GroupLife::take(std::uint16_t member, const ProbeMessage& probe) {
  send(member, StatusMessage{.round = probe.round, .contributed_end = contributed_end(), .result_end = result_end()});
}

void GroupLife::take(std::uint16_t member, const StatusMessage& status) { watch_.take(member, status); }

// From now on this member looks at its mailbox no more and sends nothing new. Its report is what it had then, of the results and of the operations.
void GroupLife::freeze(const std::string& reason) {
  if (phase_ == Phase::kFrozen || phase_ == Phase::kFixed) return;
  phase_ = Phase::kFrozen;
  fault_ = reason;
  if (stream_) stream_->freeze();
  failover_.emplace(static_cast<std::uint16_t>(members()));
  ReportMessage report{.has = result_end(), .posted = posted_, .ended_at = ended_at_, .reason = reason};
  failover_->take(spec_.member, report);
  send_to_others(report);
}

// The epoch is the incident's number: two members that notice at the same time are one failover.
void GroupLife::take(std::uint16_t member, const ReportMessage& report) {
  freeze(report.reason);
  failover_->take(member, report);
  if (phase_ == Phase::kFrozen && failover_->is_fixed()) fix();
}

void GroupLife::fix() {
  phase_ = Phase::kFixed;
  ++services_.counters.failovers;
  if (is_leader() && services_.settings.verbose >= 1) {
    const std::uint64_t at = outstanding_.empty() ? failover_->end() - 1 : outstanding_.front()->index;
    services_.host.log(INA_LOG_INFO, spec_.name + ": failover at operation " + std::to_string(at) + ": " + fault_ + ", software until the switch is back");
  }
  hand_over_results();
  finish_failover();
}

void GroupLife::hand_over_results() {
  if (failover_->donor() != spec_.member) return;
  const std::uint32_t highest = failover_->highest();
  for (std::uint16_t member = 0; member < members(); ++member) {
    for (std::uint32_t seq = failover_->has(member); wire::seq_distance(highest, seq) > 0; ++seq) {
      const auto lanes = stream_ ? stream_->result_lanes(seq) : std::nullopt;
      HandoverMessage handover{.seq = seq, .lost = !lanes.has_value(), .lanes = {}};
      if (lanes) handover.lanes.assign(lanes->begin(), lanes->end());
      send(member, std::move(handover));
      if (!lanes) break;
    }
  }
}

// They may come before the last report does: the donor has had this member's.
void GroupLife::take(std::uint16_t, const HandoverMessage& handover) {
  if ((phase_ != Phase::kFrozen && phase_ != Phase::kFixed) || !stream_ || is_recovered_) return;
  const std::int32_t ahead = wire::seq_distance(handover.seq, result_end());
  if (handover.lost || ahead > 0 || (ahead == 0 && !stream_->hand_over(handover.seq, handover.lanes))) {
    lose_operations();
    return;
  }
  (void)collect();
  if (phase_ == Phase::kFixed) finish_failover();
}

// Once this member has everything before H: the rest of what is outstanding goes to software, in posting order.
void GroupLife::finish_failover() {
  if (is_recovered_ || wire::seq_distance(failover_->highest(), result_end()) > 0) return;
  is_recovered_ = true;
  (void)collect();
  while (!outstanding_.empty()) {
    Operation& operation = *outstanding_.front();
    outstanding_.pop_front();
    if (operation.shadow) {
      services_.operations.leave_shadow(operation);
    } else {
      services_.operations.run(operation, operation.stream->covered_lanes(), INA_DECLINE_FAILOVER);
    }
  }
}

void GroupLife::lose_operations() noexcept {
  is_recovered_ = true;
  while (!outstanding_.empty()) {
    Operation& operation = *outstanding_.front();
    outstanding_.pop_front();
    services_.operations.finish_lost(operation);
  }
}

}  // namespace ina::core
