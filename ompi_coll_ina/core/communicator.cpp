#include "ompi_coll_ina/core/communicator.hpp"

#include <algorithm>
#include <numeric>

#include "ompi_coll_ina/core/error.hpp"
#include "ompi_coll_ina/core/ring_order.hpp"

namespace ina::core {

Communicator::Communicator(const ina_comm_spec& spec, const CommunicatorServices& services)
    : services_(services), ranks_{.handle = spec.handle, .rank = spec.rank, .size = spec.size}, world_ranks_(spec.world_ranks, spec.world_ranks + spec.size),
      name_(spec.name != nullptr ? spec.name : "communicator"), decision_tag_(spec.decision_tag), first_tag_(spec.first_tag), tag_count_(spec.tag_count) {
  const auto size = static_cast<std::size_t>(spec.size);
  if (spec.nodes != nullptr) {
    wire_order_ = ring_order({spec.nodes, size});
  } else {
    wire_order_.resize(size);
    std::iota(wire_order_.begin(), wire_order_.end(), 0);
  }
  if (is_leader()) leader_ = std::make_unique<Leader>(services_.leader, name_, spec.size, spec.all_on_one_node != 0, !wire_order_.empty());
}

Communicator::~Communicator() { end(); }

void Communicator::end() {
  is_software_for_good_ = true;
  if (leader_) leader_->abandon(posted_);
  leave_life(0);
}

void Communicator::give_up() {
  end();
  if (decision_request_ != nullptr) services_.life.host.cancel(&decision_request_);
  decision_request_ = nullptr;
  while (!waiting_.empty()) {
    Operation& operation = *waiting_.front();
    waiting_.pop_front();
    if (operation.is_blocking) {
      operation.state = Operation::State::kSoftware;
    } else {
      services_.life.operations.finish_lost(operation);
    }
  }
}

std::shared_ptr<CommHold> Communicator::hold() {
  auto held = hold_.lock();
  if (held) return held;
  held = std::make_shared<CommHold>(services_.life.host, ranks_.handle);
  hold_ = held;
  return held;
}

ina_route Communicator::allreduce(const ina_reduction& reduction, ina_operation*& operation) {
  if (operation != nullptr) {
    (void)run_waiting();
    return route_of(operation);
  }
  const auto op = static_cast<wire::Op>(reduction.op);
  const auto lane_type = static_cast<wire::LaneType>(reduction.lane_type);
  const Request request{.index = ++posted_, .op = op, .lane_type = lane_type, .cell = cell_of(op, lane_type, reduction.count * wire::lane_bytes(lane_type))};
  if (life_) life_->note_posted(posted_);
  // The common case of software costs nothing but this.
  if (reduction.blocking != 0 && waiting_.empty() && resolve(request) == Way::kSoftware) {
    services_.life.operations.count_decline(decline_reason(request));
    const ina_route route = route_software(request);
    count(request);
    return route;
  }
  auto made = make(reduction, request.index);
  waiting_.push_back(made.get());
  operation = made.release();
  (void)run_waiting();
  return route_of(operation);
}

// The tag follows from the index, on all ranks alike, whether the decision is known or not.
std::unique_ptr<ina_operation> Communicator::make(const ina_reduction& reduction, std::uint64_t index) {
  auto operation = std::make_unique<ina_operation>();
  operation->index = index;
  operation->tag = first_tag_ - static_cast<int>(index % tag_count_);
  operation->is_blocking = reduction.blocking != 0;
  operation->cookie = reduction.cookie;
  operation->ranks = ranks_;
  operation->op = static_cast<wire::Op>(reduction.op);
  operation->lanes.emplace(static_cast<wire::LaneType>(reduction.lane_type), reduction.logical != 0 ? Encoding::kLogical : Encoding::kIdentity,
                           reduction.source, reduction.destination, reduction.count);
  // The caller of a blocking one keeps the communicator itself.
  if (operation->is_blocking) return operation;
  operation->hold = hold();
  return operation;
}

ina_route Communicator::route_of(ina_operation*& operation) noexcept {
  switch (operation->state) {
    case Operation::State::kWaiting: return operation->is_blocking ? INA_ROUTE_WAIT : INA_ROUTE_POSTED;
    case Operation::State::kShadow: return operation->is_blocking ? INA_ROUTE_WAIT_SWITCH : INA_ROUTE_POSTED;
    case Operation::State::kSoftware: {
      const bool is_timed = operation->meter != nullptr;
      if (is_timed) start_timing(size_class_of(operation->bytes()));
      delete operation;
      operation = nullptr;
      return is_timed ? INA_ROUTE_SOFTWARE_TIMED : INA_ROUTE_SOFTWARE;
    }
    case Operation::State::kStream:
    case Operation::State::kSchedule:
    case Operation::State::kDone: return INA_ROUTE_POSTED;
  }
  return INA_ROUTE_POSTED;
}

// Taken from the queue before it is started: an operation that is complete may be freed at once.
unsigned Communicator::run_waiting() {
  unsigned events = 0;
  while (!waiting_.empty()) {
    Operation& operation = *waiting_.front();
    const Request request = request_of(operation);
    const Way way = resolve(request);
    if (way == Way::kWait) break;
    waiting_.pop_front();
    start(operation, way, request);
    ++events;
  }
  return events;
}

unsigned Communicator::progress(std::uint64_t now) {
  if (leader_ && leader_->is_busy()) leader_->progress(now);
  sync_with_failover();
  return run_waiting();
}

// Counted before it is started, since an operation that is complete may be freed at once.
void Communicator::start(Operation& operation, Way way, const Request& request) {
  Operations& operations = services_.life.operations;
  const ina_decline reason = decline_reason(request);
  if (is_metered(request)) {
    operation.meter = leader_->costs();
    operation.posted_at = services_.life.host.now_ns();
  }
  count(request);
  switch (way) {
    case Way::kWait: break;
    case Way::kSoftware:
      if (!operation.is_blocking) {
        operations.run(operation, 0, reason);
        break;
      }
      operations.count_decline(reason);
      operation.state = Operation::State::kSoftware;
      break;
    case Way::kShadow: operation.shadow.emplace(*operation.lanes); [[fallthrough]];
    case Way::kStream: life_->post(operation); break;
    case Way::kSchedule: operations.run(operation, 0, INA_DECLINE_FAILOVER); break;
  }
}

Communicator::Request Communicator::request_of(const Operation& operation) noexcept {
  const wire::LaneType lane_type = operation.lanes->lane_type();
  return {.index = operation.index, .op = operation.op, .lane_type = lane_type, .cell = cell_of(operation.op, lane_type, operation.bytes())};
}

// The committed life could take it: the plan says whether it does.
bool Communicator::has_plan_for(const Request& request) const noexcept { return is_committed_ && life_->supports(request.op, request.lane_type); }

// Of an operation that goes to software. A committed life that does not take it lacks the operation or the type, or would be slower.
ina_decline Communicator::decline_reason(const Request& request) const noexcept {
  if (!is_committed_ || is_software_for_good_) return reason_;
  return has_plan_for(request) ? INA_DECLINE_COST : INA_DECLINE_OP;
}

bool Communicator::is_checkpoint(const Request& request) const noexcept {
  return clock_.is_checkpoint(request.index) || (has_plan_for(request) && plan_.is_due(request.cell));
}

// The leader's times alone count.
bool Communicator::is_metered(const Request& request) const noexcept { return leader_ && has_plan_for(request) && plan_.is_timed(request.cell); }

// The operation has been accepted and goes its way: the plan is one operation further, on all ranks alike.
void Communicator::count(const Request& request) noexcept {
  if (!has_plan_for(request)) return;
  plan_.count(request.cell);
  if (leader_) leader_->costs()->count(request.cell);
}

// Before it is counted.
ina_route Communicator::route_software(const Request& request) noexcept {
  if (!is_metered(request)) return INA_ROUTE_SOFTWARE;
  start_timing(request.cell.size_class);
  return INA_ROUTE_SOFTWARE_TIMED;
}

void Communicator::start_timing(unsigned size_class) noexcept {
  is_timing_software_ = true;
  timed_class_ = size_class;
  timed_since_ = services_.life.host.now_ns();
}

void Communicator::note_software_done() noexcept {
  if (!std::exchange(is_timing_software_, false) || !leader_) return;
  leader_->costs()->record(timed_class_, Path::kSoftware, services_.life.host.now_ns() - timed_since_);
}

// Every rank comes to the same answer for the same index: it depends on decisions and on agreed failovers only. A rank that does not know one of them yet waits.
//
// An operation of a committed life that is frozen waits until all have reported, since only then it is known which operations still belong to the life (those that any
// member had accepted when it froze). Before the commit is seen no operation belongs to it: the commit's checkpoint lies ahead.
Communicator::Way Communicator::resolve(const Request& request) {
  for (;;) {
    if (is_software_for_good_) return Way::kSoftware;
    if (is_committed_ && life_->is_frozen()) return Way::kWait;
    sync_with_failover();
    if (life_end_ != 0 && request.index >= life_end_) {
      if (leader_) leader_->note_failover();
      reason_ = INA_DECLINE_FAILOVER;
      leave_life(0);
    }
    if (!is_checkpoint(request)) break;
    if (!decide(request.index)) return Way::kWait;
    if (clock_.is_checkpoint(request.index)) clock_.advance(request.index);
  }
  if (!has_plan_for(request)) return Way::kSoftware;
  switch (plan_.path_of(request.cell)) {
    case Path::kSwitch: return life_->is_running() ? Way::kStream : Way::kSchedule;
    case Path::kShadow: return life_->is_running() ? Way::kShadow : Way::kSoftware;
    case Path::kSoftware: break;
  }
  return Way::kSoftware;
}

// The end that an agreed failover gives a life. Where no decision had ended it, it becomes a checkpoint: the operations from it on wait for the
// leader's decision, and those before it, started or not, are done by the core's schedule on all ranks.
void Communicator::sync_with_failover() {
  if (!life_ || life_end_ != 0 || !life_->is_fixed()) return;
  life_end_ = life_->failover().end();
  if (life_->failover().makes_checkpoint()) clock_.restart(life_end_);
  if (posted_ + 1 >= life_end_) life_->detach(0);
}

void Communicator::leave_life(std::uint64_t ended_at) {
  if (life_) life_->detach(ended_at);
  life_.reset();
  is_committed_ = false;
  life_end_ = 0;
}

bool Communicator::decide(std::uint64_t index) {
  if (is_leader()) {
    const Decision decision = leader_->decide(life_.get(), is_committed_, plan_, services_.life.host.now_ns());
    send_decision(decision);
    apply(decision, index);
    return true;
  }
  const auto decision = receive_decision();
  if (!decision) return false;
  apply(*decision, index);
  return true;
}

void Communicator::send_decision(const Decision& decision) {
  const auto bytes = encode(decision);
  for (int member = 1; member < ranks_.size; ++member) services_.sends.send(ranks_.handle, member, decision_tag_, bytes, hold());
}

std::optional<Decision> Communicator::receive_decision() {
  Host& host = services_.life.host;
  if (decision_request_ == nullptr) {
    decision_.resize(kMaxDecision);
    if (host.irecv(ranks_.handle, 0, decision_tag_, decision_.data(), decision_.size(), &decision_request_) != 0)
      throw Error(Status::kInternal, name_ + ": cannot receive a decision");
  }
  std::size_t bytes = 0;
  const int status = host.test(&decision_request_, &bytes);
  if (status == 0) return std::nullopt;
  decision_request_ = nullptr;
  if (status < 0) throw Error(Status::kInternal, name_ + ": a decision was lost");
  const auto decision = decode_decision(std::span(decision_).first(bytes < decision_.size() ? bytes : decision_.size()));
  if (!decision) throw Error(Status::kInternal, name_ + ": a decision of another version of ina");
  return decision;
}

void Communicator::apply(const Decision& decision, std::uint64_t index) {
  const bool is_current = life_ && life_->key() == decision.life;
  if (decision.kind != DecisionKind::kCommit) reason_ = static_cast<ina_decline>(decision.reason);
  switch (decision.kind) {
    case DecisionKind::kStay:
      if (is_committed_) plan_.apply(decision.plan);
      break;
    case DecisionKind::kNever: is_software_for_good_ = true; break;
    case DecisionKind::kSetUp: set_up(decision); break;
    case DecisionKind::kAbort:
      if (is_current) leave_life(0);
      break;
    case DecisionKind::kCommit:
      if (!is_current) break;
      is_committed_ = true;
      plan_ = {};
      plan_.apply(decision.plan);
      life_->commit();
      break;
    case DecisionKind::kStop:
      if (is_current) leave_life(index);
      break;
  }
}

void Communicator::set_up(const Decision& decision) {
  leave_life(0);
  LifeSpec spec{.set_up = decision, .member = static_cast<std::uint16_t>(ranks_.rank), .world_ranks = world_ranks_, .name = name_, .posted = posted_};
  if (decision.relay.empty() && !wire_order_.empty()) {
    const std::size_t size = wire_order_.size();
    const auto own = static_cast<std::size_t>(std::find(wire_order_.begin(), wire_order_.end(), ranks_.rank) - wire_order_.begin());
    spec.left = static_cast<std::uint16_t>(wire_order_[(own + size - 1) % size]);
    spec.right = static_cast<std::uint16_t>(wire_order_[(own + 1) % size]);
  }
  life_ = services_.lives.add(std::make_shared<GroupLife>(std::move(spec), services_.life));
  if (is_leader() && life_) services_.life.counters.slots_held += 2 * std::uint64_t{decision.window};
}

}  // namespace ina::core
