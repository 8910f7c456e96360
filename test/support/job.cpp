#include "test/support/job.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ina::test {

namespace {

// The bits that stand for a number in the call's type. Doubles of sums below 2^53 are exact.
std::int64_t encoded(std::int64_t number, int lane_type) {
  return lane_type == INA_LANE_FLOAT64 ? std::bit_cast<std::int64_t>(static_cast<double>(number)) : number;
}
std::int64_t decoded(std::int64_t bits, int lane_type) {
  return lane_type == INA_LANE_FLOAT64 ? static_cast<std::int64_t>(std::bit_cast<double>(bits)) : bits;
}

// Input of lane `lane` of operation `index` at `member`; sums stay exact.
std::int64_t lane_of(const TestComm& comm, std::uint64_t index, int member, std::size_t lane) {
  return static_cast<std::int64_t>((index * 1'000'003 + lane * 7919 + static_cast<std::uint64_t>(member + 1) * 104'729 + comm.name.size()) % 1'000'000'007);
}

}  // namespace

Process::Process(Job& job, int rank) : job_(job), rank_(rank) {
  ina_settings settings{};
  settings.verbose = job.spec.verbose;
  settings.switch_address = job.spec.switch_address.c_str();
  settings.select = job.spec.select.c_str();
  settings.transport = "auto";
  settings.softswitch = "ina-softswitch";
  settings.one_node = job.spec.one_node ? 1 : 0;
  settings.failover_ms = job.spec.failover_ms;
  settings.world_rank = rank;
  settings.world_size = job.spec.size;
  settings.world_tag = -77;
  const ina_host host = job.host_of(rank);
  core_ = std::make_unique<ina_core>(host, core::make_settings(settings),
                                     core::Surroundings{.open_fabric = [this](const core::FabricSettings&) { return job_.network.open_fabric(); },
                                                        .connect_manager = [this](const core::SwitchAddress&) { return job_.manager.connect(); }});
}

Process::~Process() = default;

void Process::begin(Call& call, std::size_t lanes) {
  call.index = ++call.comm->called[static_cast<std::size_t>(call.member)];
  call.input.resize(lanes);
  for (std::size_t lane = 0; lane < lanes; ++lane) call.input[lane] = encoded(lane_of(*call.comm, call.index, call.member, lane), call.lane_type);
  call.output.assign(lanes, -1);
  if (call.is_in_place) call.output = call.input;
}

// In the component below: a rendezvous of all members, and the time that it takes.
bool Process::run_below(Call& call) {
  TestComm::Below& below = call.comm->below[call.index];
  if (below.inputs.size() != call.comm->world_ranks.size()) return false;
  if (below.complete_at == 0) below.complete_at = job_.now_ + job_.spec.below_ns(call.input.size() * sizeof call.input[0]);
  if (job_.now_ < below.complete_at) return false;
  for (std::size_t lane = 0; lane < call.output.size(); ++lane) {
    std::int64_t sum = 0;
    for (const auto& [member, input] : below.inputs) sum += decoded(input[lane], call.lane_type);
    call.output[lane] = encoded(sum, call.lane_type);
  }
  if (call.is_timed) ina_comm_software_done(call.comm->comms[static_cast<std::size_t>(call.member)]);
  check(call);
  return true;
}

// True when the result is there, or, of a non-blocking one, when it is posted.
bool Process::advance(Call& call) {
  if (call.is_below) return run_below(call);
  if (call.is_complete) return true;
  if (call.is_posted) return false;
  const ina_reduction reduction{.source = call.is_in_place ? call.output.data() : call.input.data(), .destination = call.output.data(), .count = call.input.size(),
                                .lane_type = call.lane_type, .op = INA_OP_SUM, .logical = 0, .blocking = call.is_blocking ? 1 : 0, .cookie = &call};
  ina_route route = ina_comm_allreduce(call.comm->comms[static_cast<std::size_t>(call.member)], &reduction, &call.operation);
  call.is_timed = route == INA_ROUTE_SOFTWARE_TIMED;
  if (call.is_timed) route = INA_ROUTE_SOFTWARE;
  if (route == INA_ROUTE_WAIT || route == INA_ROUTE_WAIT_SWITCH) {
    EXPECT_TRUE(call.is_blocking);
    return false;
  }
  EXPECT_NE(route, INA_ROUTE_NO_MEMORY);
  auto& routes = call.comm->routes[call.index];
  routes[call.member] = route;
  for (const auto& [member, other] : routes)
    EXPECT_EQ(route, other) << call.comm->name << " operation " << call.index << ": members " << call.member << " and " << member << " go different ways, seed " << job_.spec.seed;
  if (route == INA_ROUTE_SOFTWARE) {
    EXPECT_TRUE(call.is_blocking);
    call.is_below = true;
    call.comm->below[call.index].inputs[call.member] = call.input;
    return false;
  }
  call.is_posted = route == INA_ROUTE_POSTED;
  return call.is_complete || !call.is_blocking;
}

void Process::check(Call& call) {
  ASSERT_EQ(call.status, 0) << call.comm->name << " operation " << call.index << " member " << call.member << ", seed " << job_.spec.seed;
  for (std::size_t lane = 0; lane < call.output.size(); ++lane) {
    std::int64_t expected = 0;
    for (int member = 0; member < call.comm->size(); ++member) expected += lane_of(*call.comm, call.index, member, lane);
    ASSERT_EQ(call.output[lane], encoded(expected, call.lane_type)) << call.comm->name << " operation " << call.index << " lane " << lane << " member " << call.member << ", seed " << job_.spec.seed;
  }
  if (call.operation != nullptr) ina_operation_free(call.operation);
  call.operation = nullptr;
}

std::shared_ptr<Call> Process::make_call(TestComm& comm, int lane_type, bool is_blocking, bool is_in_place) {
  auto call = std::make_shared<Call>();
  call->comm = &comm;
  call->member = job_.rank_in(&comm, rank_);
  call->is_blocking = is_blocking;
  call->is_in_place = is_in_place;
  call->lane_type = lane_type;
  return call;
}

void Process::append(std::shared_ptr<Call> call, std::size_t lanes) {
  steps_.push_back([call, lanes](Process& process) {
    if (call->index == 0) process.begin(*call, lanes);
    if (call->is_blocking) {
      if (!process.advance(*call)) return false;
      if (!call->is_below) process.check(*call);
      return true;
    }
    EXPECT_TRUE(process.advance(*call));
    process.outstanding_.push_back(call);
    return true;
  });
}

void Process::allreduce(TestComm& comm, std::size_t lanes, bool in_place) { append(make_call(comm, INA_LANE_INT64, true, in_place), lanes); }
void Process::iallreduce(TestComm& comm, std::size_t lanes, bool in_place) { append(make_call(comm, INA_LANE_INT64, false, in_place), lanes); }
void Process::allreduce_doubles(TestComm& comm, std::size_t lanes) { append(make_call(comm, INA_LANE_FLOAT64, true, false), lanes); }
void Process::iallreduce_doubles(TestComm& comm, std::size_t lanes) { append(make_call(comm, INA_LANE_FLOAT64, false, false), lanes); }

void Process::wait_all() {
  steps_.push_back([](Process& process) {
    while (!process.outstanding_.empty() && process.outstanding_.front()->is_complete) {
      process.check(*process.outstanding_.front());
      process.outstanding_.pop_front();
    }
    return process.outstanding_.empty();
  });
}

void Process::free(TestComm& comm) {
  const auto member = static_cast<std::size_t>(job_.rank_in(&comm, rank_));
  steps_.push_back([&comm, member](Process& process) {
    if (comm.held[member] != 0) return false;  // the host frees it once nothing holds it
    (void)process;
    ina_comm_destroy(std::exchange(comm.comms[member], nullptr));
    return true;
  });
}

void Process::shut_down() {
  steps_.push_back([](Process& process) {
    ina_core_begin_shutdown(process.core_.get());
    return true;
  });
  steps_.push_back([](Process& process) { return ina_core_is_quiet(process.core_.get()) != 0; });
}

void Process::sleep_until(std::function<bool()> condition) {
  steps_.push_back([condition = std::move(condition)](Process& process) {
    process.is_asleep_ = !condition();
    return !process.is_asleep_;
  });
}

void Process::then(std::function<void()> action) {
  steps_.push_back([action = std::move(action)](Process&) {
    action();
    return true;
  });
}

void Process::turn() {
  if (!is_asleep_) (void)ina_core_progress(core_.get());
  if (steps_.empty()) return;
  const Step step = steps_.front();
  if (step(*this)) steps_.pop_front();
}

Job::Job(const JobSpec& with) : spec(with), random(with.seed), network(with.seed + 1, with.max_payload), manager(with.seed + 2, &network) {
  for (int rank = 0; rank < spec.size; ++rank) processes_.push_back(std::make_unique<Process>(*this, rank));
}

Job::~Job() {
  EXPECT_FALSE(network.saw_changed_source()) << "seed " << spec.seed;
  for (const auto& comm : comms_) {
    for (ina_comm* each : comm->comms) ina_comm_destroy(each);
  }
  processes_.clear();
}

TestComm& Job::make_comm(const std::string& name, const std::vector<int>& world_ranks, bool all_on_one_node) {
  comms_.push_back(std::make_unique<TestComm>());
  TestComm& comm = *comms_.back();
  comm.name = name;
  comm.world_ranks = world_ranks;
  comm.called.assign(world_ranks.size(), 0);
  comm.held.assign(world_ranks.size(), 0);
  for (int member = 0; member < comm.size(); ++member) {
    const ina_comm_spec spec_of{.handle = &comm, .name = comm.name.c_str(), .rank = member, .size = comm.size(), .world_ranks = comm.world_ranks.data(),
                                .decision_tag = -78, .first_tag = -1000, .tag_count = 4096, .all_on_one_node = all_on_one_node ? 1 : 0};
    comm.comms.push_back(ina_comm_create(&process(world_ranks[static_cast<std::size_t>(member)]).core(), &spec_of));
  }
  return comm;
}

TestComm& Job::make_world() {
  std::vector<int> ranks;
  for (int rank = 0; rank < spec.size; ++rank) ranks.push_back(rank);
  return make_comm("MPI_COMM_WORLD", ranks);
}

void Job::each(const std::function<void(Process&, int rank)>& action) {
  for (int rank = 0; rank < spec.size; ++rank) action(process(rank), rank);
}

void Job::turn() {
  now_ += std::uniform_int_distribution<std::uint64_t>(100, 4000)(random);
  manager.turn(now_);
  const int next = spec.speeds.empty() ? std::uniform_int_distribution<int>(0, spec.size - 1)(random)
                                       : std::discrete_distribution<int>(spec.speeds.begin(), spec.speeds.end())(random);
  process(next).turn();
}

bool Job::run_until(const std::function<bool()>& condition, std::uint64_t virtual_ns) {
  const std::uint64_t end = now_ + virtual_ns;
  // Long silences are skipped: a turn is worth more the longer nothing has changed.
  for (std::uint64_t idle = 0; !condition(); ++idle) {
    if (now_ >= end || ::testing::Test::HasFatalFailure()) return false;
    turn();
    if (idle > 20'000) now_ += 20'000;
  }
  return true;
}

void Job::run(std::uint64_t virtual_ns) {
  const bool has_ended = run_until([this] { return std::ranges::all_of(processes_, [](const auto& each) { return each->is_done(); }); }, virtual_ns);
  ASSERT_TRUE(has_ended) << "hangs, seed " << spec.seed << "\n" << state();
}

std::string Job::state() const {
  std::string text;
  for (const auto& each : processes_) text += "rank " + std::to_string(each->rank_) + ": " + std::to_string(each->steps_.size()) + " steps left\n";
  for (const auto& comm : comms_) {
    text += comm->name + ": called";
    for (const std::uint64_t called : comm->called) text += " " + std::to_string(called);
    text += "\n";
  }
  return text;
}

int Job::rank_in(void* comm, int world_rank) const {
  if (comm == nullptr) return world_rank;
  const auto& ranks = static_cast<TestComm*>(comm)->world_ranks;
  return static_cast<int>(std::ranges::find(ranks, world_rank) - ranks.begin());
}

// The oldest receive first, with the first message that has arrived and that it may take. A message arrives after all earlier ones of its sender.
void Job::match(Mailbox& mailbox) {
  for (auto receive = mailbox.receives.begin(); receive != mailbox.receives.end();) {
    Request& request = **receive;
    const auto message = std::ranges::find_if(mailbox.messages, [&](const Message& m) { return m.at <= now_ && (request.source == INA_ANY_SOURCE || request.source == m.source); });
    if (message == mailbox.messages.end()) {
      ++receive;
      continue;
    }
    EXPECT_LE(message->bytes.size(), request.bytes);
    std::memcpy(request.to, message->bytes.data(), std::min(request.bytes, message->bytes.size()));
    request.bytes = message->bytes.size();
    request.source = message->source;
    request.is_done = true;
    mailbox.messages.erase(message);
    receive = mailbox.receives.erase(receive);
  }
}

ina_host Job::host_of(int rank) {
  contexts_.push_back({.job = this, .rank = rank});
  ina_host host{};
  host.context = &contexts_.back();
  host.isend = [](void* context, void* comm, int peer, int tag, const void* buffer, std::size_t bytes, void** request) {
    auto& [job, self] = *static_cast<HostContext*>(context);
    const int source = job->rank_in(comm, self);
    const MailboxKey key{comm, peer, tag};
    std::uint64_t& last = job->last_arrival_[{key, source}];
    last = std::max(last, job->now_ + std::uniform_int_distribution<std::uint64_t>(0, job->spec.max_delay_ns)(job->random));
    const auto* from = static_cast<const std::byte*>(buffer);
    job->mailboxes_[key].messages.push_back({.source = source, .bytes = {from, from + bytes}, .at = last});
    *request = new Request{.is_send = true, .at = last};
    return 0;
  };
  host.irecv = [](void* context, void* comm, int peer, int tag, void* buffer, std::size_t bytes, void** request) {
    auto& [job, self] = *static_cast<HostContext*>(context);
    auto* posted = new Request{.to = static_cast<std::byte*>(buffer), .bytes = bytes, .source = peer};
    job->mailboxes_[{comm, job->rank_in(comm, self), tag}].receives.push_back(posted);
    *request = posted;
    return 0;
  };
  host.test = [](void* context, void** request, std::size_t* received, int* source) {
    Job& job = *static_cast<HostContext*>(context)->job;
    auto* posted = static_cast<Request*>(*request);
    if (posted->is_send) {
      if (job.now_ < posted->at) return 0;
    } else {
      for (auto& [key, mailbox] : job.mailboxes_) {
        if (std::ranges::find(mailbox.receives, posted) != mailbox.receives.end()) job.match(mailbox);
      }
      if (!posted->is_done) return 0;
      *received = posted->bytes;
      *source = posted->source;
    }
    delete posted;
    *request = nullptr;
    return 1;
  };
  host.cancel = [](void* context, void** request) {
    Job& job = *static_cast<HostContext*>(context)->job;
    for (auto& [key, mailbox] : job.mailboxes_) std::erase(mailbox.receives, static_cast<Request*>(*request));
    delete static_cast<Request*>(*request);
    *request = nullptr;
  };
  host.retain = [](void* context, void* comm, int keep) {
    auto& [job, self] = *static_cast<HostContext*>(context);
    static_cast<TestComm*>(comm)->held[static_cast<std::size_t>(job->rank_in(comm, self))] += keep != 0 ? 1 : -1;
  };
  host.complete = [](void*, void* cookie, int status) {
    auto* call = static_cast<Call*>(cookie);
    EXPECT_FALSE(call->is_complete);
    call->is_complete = true;
    call->status = status;
  };
  host.now_ns = [](void* context) { return static_cast<HostContext*>(context)->job->now_; };
  host.log = [](void* context, int, const char* text) {
    auto& [job, self] = *static_cast<HostContext*>(context);
    job->process(self).log.emplace_back(text);
  };
  host.show_help = [](void* context, const char* topic, const char* text) {
    auto& [job, self] = *static_cast<HostContext*>(context);
    job->process(self).help.push_back(std::string(topic) + ": " + text);
  };
  return host;
}

}  // namespace ina::test
