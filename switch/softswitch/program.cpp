#include "ina_config.h"

#include "switch/softswitch/program.hpp"

#include <sched.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "switch/softswitch/relay_path.hpp"
#include "switch/softswitch/wire_path.hpp"

namespace ina::softswitch {

namespace {

using namespace std::chrono_literals;

// Other descriptors are looked at after this many batches of data in a row.
constexpr int kBatchesPerRound = 16;
// After the last packet the data port is polled for this long before the loop blocks: a round trip of a small operation is shorter than
// a wake-up. Every poll yields first, so that ranks on the same cores lose little.
constexpr auto kPolling = 20us;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

spdlog::level::level_enum to_spdlog(manager::LogLevel level) {
  switch (level) {
    case manager::LogLevel::kError:
      return spdlog::level::err;
    case manager::LogLevel::kWarn:
      return spdlog::level::warn;
    case manager::LogLevel::kInfo:
      return spdlog::level::info;
    case manager::LogLevel::kDebug:
      return spdlog::level::debug;
  }
  return spdlog::level::err;
}

sigset_t handled_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) ::sigaddset(&set, signal);
  return set;
}

net::Descriptor open_signals() {
  const sigset_t set = handled_signals();
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) fail("cannot block signals");
  net::Descriptor fd(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd) fail("cannot open a signal descriptor");
  return fd;
}

Listening open_sockets(const Settings& settings) {
  return settings.ports.empty() ? open_listening(settings.listen, settings.data) : open_manager_listening(settings.listen);
}

}  // namespace

Program::Program(const Settings& settings)
    : settings_(settings),
      listening_(open_sockets(settings)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      signals_(open_signals()),
      aggregator_({.slots = settings.slots}) {
  if (!epoll_) fail("cannot open an epoll instance");
  std::uint64_t instance = 0;
  manager::fill_random(std::as_writable_bytes(std::span(&instance, 1)));
  data_ = open_data_path(instance);
  const bool has_relay = settings.ports.empty();
  manager_ = std::make_unique<manager::Manager>(
      aggregator_, manager::ManagerSettings{
                       .instance = fmt::format("{:016x}", instance),
                       .program = "ina-softswitch " PACKAGE_VERSION,
                       .relay = has_relay ? std::optional(listening_.data_address.text()) : std::nullopt,
                       .log = [](manager::LogLevel level, std::string_view text) { spdlog::log(to_spdlog(level), "{}", text); },
                       .switch_counters = [this] { return counters(); },
                   });
  manager_->add_listener(listening_.manager.release());
  watch(data_->descriptor());
  watch(manager_->fd());
  watch(signals_.get());
  if (settings.is_embedded) watch(STDIN_FILENO);
}

std::unique_ptr<DataPath> Program::open_data_path(std::uint64_t instance) {
  const auto on_bind = [this](std::uint32_t group) { newly_bound_.push_back(group); };
  if (settings_.ports.empty()) {
    const Relay::Settings relay{.own = listening_.data_address, .instance = instance, .first_block = static_cast<std::uint16_t>(instance >> 48)};
    return std::make_unique<RelayPath>(aggregator_, std::move(listening_.data), relay, settings_.faults, on_bind);
  }
  const WireSettings wire{.ports = settings_.ports, .mode = settings_.mode, .faults = settings_.faults, .seed = instance};
  return std::make_unique<WirePath>(aggregator_, wire, on_bind, [this] {
    if (manager_) manager_->on_capabilities();
  });
}

Program::~Program() {
  if (!listening_.unix_path.empty()) (void)::unlink(listening_.unix_path.c_str());
}

void Program::watch(int fd) {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0) return;
  // A file or /dev/null cannot be watched: it never keeps this program waiting, so it has ended already.
  if (fd == STDIN_FILENO && (errno == EPERM || errno == EBADF)) {
    throw SetupError("--embedded needs a pipe, a socket or a terminal as standard input: its end is what ends this program");
  }
  fail("cannot watch a descriptor");
}

void Program::run() {
  next_stats_ = std::chrono::steady_clock::now() + std::chrono::seconds(settings_.stats_s);
  while (!is_ending_) {
    for (int i = 0; i < kBatchesPerRound; ++i) {
      const Time now = std::chrono::steady_clock::now();
      if (serve_data(now)) {
        data_seen_ = now;
      } else if (now - data_seen_ > kPolling) {
        break;
      } else {
        ::sched_yield();
      }
    }
    data_->serve_events();
    wait_and_serve();
  }
  log_counters();
}

bool Program::serve_data(Time now) {
  const bool has_served = data_->serve(now);
  if (newly_bound_.empty()) return has_served;
  std::sort(newly_bound_.begin(), newly_bound_.end());
  newly_bound_.erase(std::unique(newly_bound_.begin(), newly_bound_.end()), newly_bound_.end());
  for (const std::uint32_t group : newly_bound_) manager_->on_bind(group);
  newly_bound_.clear();
  return has_served;
}

int Program::timeout_ms(Time now) const {
  if (now - data_seen_ <= kPolling) return 0;
  std::optional<Time> deadline = manager_->next_deadline();
  if (settings_.stats_s != 0) deadline = deadline ? std::min(*deadline, next_stats_) : next_stats_;
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - now);
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 60000));
}

void Program::wait_and_serve() {
  std::array<epoll_event, 8> events;
  ++waits_;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms(std::chrono::steady_clock::now()));
  if (count < 0 && errno != EINTR) fail("cannot wait for descriptors");
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<std::size_t>(i)].data.fd;
    if (fd == manager_->fd()) {
      manager_->run_ready();
    } else if (fd == signals_.get()) {
      on_signal();
    } else if (fd == STDIN_FILENO) {
      on_stdin();
    }
  }
  const Time now = std::chrono::steady_clock::now();
  if (const auto deadline = manager_->next_deadline(); deadline && *deadline <= now) manager_->on_time(now);
  if (settings_.stats_s != 0 && now >= next_stats_) {
    next_stats_ = now + std::chrono::seconds(settings_.stats_s);
    log_counters();
  }
}

void Program::on_signal() {
  signalfd_siginfo signal;
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGUSR1) {
      log_counters();
    } else if (settings_.is_embedded && signal.ssi_signo != SIGTERM) {
      spdlog::debug("signal {} is left to the job", signal.ssi_signo);
    } else {
      spdlog::info("ending on signal {}", signal.ssi_signo);
      is_ending_ = true;
    }
  }
}

void Program::on_stdin() {
  std::array<char, 256> ignored;
  const ssize_t count = ::read(STDIN_FILENO, ignored.data(), ignored.size());
  if (count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN))) return;
  spdlog::info("ending with the job that started this program");
  is_ending_ = true;
}

manager::NamedCounters Program::counters() const {
  const aggregator::GroupCounters groups = aggregator_.totals();
  manager::NamedCounters all;
  data_->add_counters(all);
  all.insert(all.end(), {
      {"waits", waits_},
      {"contributions", groups.contributions}, {"results", groups.results}, {"bytes_combined", groups.bytes_combined},
      {"duplicates_answered", groups.duplicates_answered}, {"duplicates_dropped", groups.duplicates_dropped},
      {"duplicates_passed", groups.duplicates_passed}, {"gaps", groups.gaps}, {"naks_made", groups.naks_made},
      {"naks_answered", groups.naks_answered},
  });
  for (std::size_t i = 1; i < aggregator_.drops().size(); ++i) {
    std::string name = std::string("dropped_") + aggregator::name(static_cast<aggregator::Drop>(i));
    std::replace(name.begin(), name.end(), '-', '_');
    if (name == "dropped_bad_icrc") name = "dropped_bad_icrc_in_group";
    all.emplace_back(std::move(name), aggregator_.drops()[i]);
  }
  return all;
}

void Program::log_counters() const {
  std::string line;
  for (const auto& [name, value] : counters()) {
    if (value != 0) line += fmt::format(" {} {},", name, value);
  }
  if (!line.empty()) line.pop_back();
  spdlog::info("counters:{}", line.empty() ? " all zero" : line);
}

}  // namespace ina::softswitch
