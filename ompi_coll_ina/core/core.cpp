#include "ompi_coll_ina/core/core.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

namespace ina::core {

namespace {

constexpr std::uint64_t kFarewellNs = 500'000'000;  // for the last lines to a manager that does not read

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

}  // namespace

Core::Core(const ina_host& host, const Settings& settings, Surroundings surroundings)
    : host_(host), settings_(settings),
      channel_(host_, settings_.world_tag, settings_.world_rank, [this](int source, LifeMessage&& message) { handle(source, std::move(message)); }),
      sends_(host_), fabrics_(std::move(surroundings.open_fabric)), operations_(host_, counters_),
      finder_(settings_, [this](int world_rank, const LifeBody& body) { channel_.send(world_rank, {.life = {}, .member = 0, .body = body}); }),
      manager_(std::move(surroundings.connect_manager), host_name(), ::getpid()), lives_([this](const GroupLife& life) {
        if (!life.is_leader()) return;
        counters_.slots_held -= 2 * std::uint64_t{life.window()};
        manager_.close(life.key().group);
      }) {}

Core::~Core() { close(); }

// The host may progress while it cancels receives: with the lock held by this thread it gets nothing done here.
void Core::close() {
  removed_.clear();
  communicators_.clear();
  lives_.give_up();
  channel_.close();
}

ina_comm* Core::add(const ina_comm_spec& spec) {
  const CommunicatorServices services{
      .life = {.host = host_, .settings = settings_, .channel = channel_, .fabrics = fabrics_, .operations = operations_, .counters = counters_},
      .leader = {.host = host_, .settings = settings_, .finder = finder_, .manager = manager_, .fabrics = fabrics_, .has_complained = has_complained_},
      .lives = lives_,
      .sends = sends_};
  communicators_.push_back(std::make_unique<ina_comm>(*this, spec, services));
  if (is_shut_down_) communicators_.back()->end();
  return communicators_.back().get();
}

// The host may free a communicator from within a call of the core, while it is being worked on.
void Core::remove(ina_comm* communicator) {
  const auto found = std::ranges::find_if(communicators_, [&](const auto& each) { return each.get() == communicator; });
  if (found == communicators_.end()) return;
  communicator->end();
  if (is_working_) removed_.push_back(std::move(*found));
  if (!is_working_) communicators_.erase(found);
}

ina_route Core::allreduce(ina_comm* communicator, const ina_reduction& reduction, ina_operation*& operation) {
  const bool was_working = std::exchange(is_working_, true);
  const ina_route route = communicator->allreduce(reduction, operation);
  is_working_ = was_working;
  return route;
}

void Core::handle(int source, LifeMessage&& message) {
  if (const auto* question = std::get_if<WhereIsSwitchMessage>(&message.body)) {
    finder_.on_question(source, *question, host_.now_ns());
  } else if (const auto* answer = std::get_if<SwitchIsAtMessage>(&message.body)) {
    finder_.on_answer(source, *answer);
  } else {
    lives_.handle(source, std::move(message));
  }
}

// Leaders elsewhere ask rank 0 for its embedded switch, whether it has a communicator of its own with them or not.
bool Core::serves_others() const noexcept {
  const bool may_offload = settings_.select == Select::kAlways || (settings_.select == Select::kAuto && (!settings_.all_on_one_node || settings_.one_node));
  return settings_.world_rank == 0 && settings_.switch_address.kind == SwitchAddress::Kind::kEmbedded && may_offload && !is_shut_down_;
}

int Core::progress() {
  const std::uint64_t now = host_.now_ns();
  is_working_ = true;
  if (serves_others()) channel_.open();
  unsigned events = channel_.progress() + sends_.progress();
  events += fabrics_.progress();
  events += lives_.progress(now);
  events += manager_.progress(now);
  finder_.progress(now);
  events += operations_.progress();
  progress_communicators(now);
  is_working_ = false;
  removed_.clear();
  if (channel_.has_failed() || sends_.has_failed()) give_up("messages between the ranks cannot be delivered");
  return static_cast<int>(events);
}

void Core::progress_communicators(std::uint64_t now) {
  bool has_gone = false;
  for (std::size_t i = 0; i < communicators_.size(); ++i) {
    ina_comm* communicator = communicators_[i].get();
    if (communicator != nullptr && communicator->needs_progress()) (void)communicator->progress(now);
    has_gone = has_gone || communicators_[i] == nullptr;
  }
  if (has_gone) std::erase(communicators_, nullptr);
}

void Core::begin_shutdown() {
  if (is_shut_down_) return;
  is_shut_down_ = true;
  shutdown_deadline_ = host_.now_ns() + kFarewellNs;
  for (const auto& communicator : communicators_) {
    if (communicator) communicator->end();
  }
}

// Rank 0 stays until nobody uses its embedded switch any more: a rank may be done long before others that share a communicator without it.
bool Core::is_quiet() {
  if (has_given_up_) {
    (void)finder_.release();
    return true;
  }
  if (!lives_.is_empty() || !channel_.is_idle() || !sends_.is_empty() || !operations_.is_idle()) return false;
  if (finder_.release() || finder_.has_users()) return false;
  return !manager_.has_output() || host_.now_ns() >= shutdown_deadline_;
}

int Core::arm() noexcept {
  Fabric* fabric = fabrics_.current();
  if (fabric == nullptr || fabric->event_fd() < 0 || !fabric->arm()) return -1;
  return fabric->event_fd();
}

void Core::give_up(const char* why) noexcept {
  is_working_ = false;
  if (has_given_up_) return;
  has_given_up_ = true;
  host_.log(INA_LOG_ERROR, std::string("given up: ") + why);
  for (const auto& communicator : communicators_) {
    if (communicator) communicator->give_up();
  }
  lives_.give_up();
}

}  // namespace ina::core
