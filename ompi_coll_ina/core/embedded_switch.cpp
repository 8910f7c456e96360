#include "ompi_coll_ina/core/embedded_switch.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "ompi_coll_ina/core/error.hpp"
#include "net/local_address.hpp"

namespace ina::core {

namespace {

constexpr std::string_view kListening = "listening on ";
constexpr std::size_t kMaxLine = 4096;

// What a program of ours may need to start; the job's other variables are none of its business.
constexpr std::array<std::string_view, 7> kKept = {"PATH=", "HOME=", "LANG=", "TMPDIR=", "LD_LIBRARY_PATH=", "ASAN_OPTIONS=", "TSAN_OPTIONS="};

std::vector<char*> kept_environment() {
  std::vector<char*> kept;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    for (const std::string_view name : kKept) {
      if (std::string_view(*each).starts_with(name)) kept.push_back(*each);
    }
  }
  kept.push_back(nullptr);
  return kept;
}

// A child inherits the affinity of the thread that makes it: this thread's is widened for that moment, so that the switch is not bound to a rank's core.
class WidenedAffinity {
 public:
  WidenedAffinity() noexcept {
    is_known_ = sched_getaffinity(0, sizeof before_, &before_) == 0;
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof all);
    if (is_known_) (void)sched_setaffinity(0, sizeof all, &all);
  }
  ~WidenedAffinity() {
    if (is_known_) (void)sched_setaffinity(0, sizeof before_, &before_);
  }
  WidenedAffinity(const WidenedAffinity&) = delete;
  WidenedAffinity& operator=(const WidenedAffinity&) = delete;

 private:
  cpu_set_t before_;
  bool is_known_;
};

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw Error(Status::kUnreachable, std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  ~Pipe() {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] int read_end() const noexcept { return ends_[0]; }
  [[nodiscard]] int write_end() const noexcept { return ends_[1]; }
  [[nodiscard]] int take(std::size_t end) noexcept { return std::exchange(ends_[end], -1); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
    sigset_t all;
    sigset_t none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  void use(int input, int output) {
    posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
  }
  [[nodiscard]] const posix_spawnattr_t* attributes() const noexcept { return &attributes_; }
  [[nodiscard]] const posix_spawn_file_actions_t* actions() const noexcept { return &actions_; }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

void close_fd(int& fd) noexcept {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

}  // namespace

std::string choose_listen_address(bool all_on_one_node) {
  if (all_on_one_node) return "127.0.0.1";
  const auto addresses = net::list_local_addresses();
  if (!addresses) throw Error(Status::kUnreachable, std::string("cannot list this host's addresses: ") + std::strerror(errno));
  for (const net::LocalAddress& each : *addresses) {
    constexpr unsigned kWanted = IFF_UP | IFF_RUNNING;
    const bool is_for_others = (each.flags & kWanted) == kWanted && (each.flags & (IFF_LOOPBACK | IFF_POINTOPOINT)) == 0;
    if (!each.address.is_ipv6 && is_for_others) return each.address.ip_text();
  }
  throw Error(Status::kUnreachable, "this host has no IPv4 address that other hosts reach; write embedded:ADDRESS");
}

void EmbeddedSwitch::start(const std::string& program, const std::string& listen_address, std::uint64_t now) {
  stop();
  text_.clear();
  last_line_.clear();
  try {
    Pipe input;
    Pipe output;
    SpawnSettings settings;
    settings.use(input.read_end(), output.write_end());
    const bool is_ipv6 = listen_address.find(':') != std::string::npos;
    std::string where = (is_ipv6 ? "[" + listen_address + "]" : listen_address) + ":0";
    std::string name = program;
    std::string embedded = "--embedded";
    std::string listen = "--listen";
    const std::array<char*, 5> arguments = {name.data(), embedded.data(), listen.data(), where.data(), nullptr};
    const std::vector<char*> environment = kept_environment();
    const WidenedAffinity widened;
    const int error = ::posix_spawnp(&pid_, program.c_str(), settings.actions(), settings.attributes(), arguments.data(), environment.data());
    if (error != 0) {
      pid_ = -1;
      fail("cannot start " + program + ": " + std::strerror(error));
      return;
    }
    keep_alive_ = input.take(1);
    output_ = output.take(0);
  } catch (const Error& error) {
    fail(error.what());
    return;
  }
  (void)::fcntl(output_, F_SETFL, O_NONBLOCK);
  state_ = State::kStarting;
  deadline_ = now + kStartTimeoutNs;
}

void EmbeddedSwitch::poll(std::uint64_t now) {
  if (state_ != State::kStarting && state_ != State::kListening) return;
  read_output();
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) != 0) {
    pid_ = -1;
    if (last_line_.ends_with('.')) last_line_.pop_back();
    fail("the embedded switch has ended" + (last_line_.empty() ? std::string() : ": " + last_line_));
  } else if (state_ == State::kStarting && now >= deadline_) {
    fail("the embedded switch did not say where it listens within 3 s");
  }
}

void EmbeddedSwitch::read_output() {
  std::array<char, 1024> bytes;
  for (ssize_t count = 1; count > 0 && output_ >= 0;) {
    count = ::read(output_, bytes.data(), bytes.size());
    if (count > 0) text_.append(bytes.data(), static_cast<std::size_t>(count));
    for (auto end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      take_line(text_.substr(0, end));
      text_.erase(0, end + 1);
    }
    if (text_.size() > kMaxLine) text_.clear();
  }
}

void EmbeddedSwitch::take_line(const std::string& line) {
  if (!line.empty()) last_line_ = line.substr(0, 200);
  if (state_ != State::kStarting || !line.starts_with(kListening)) return;
  try {
    address_ = parse_switch_address(line.substr(kListening.size()));
    state_ = State::kListening;
  } catch (const Error& error) {
    fail(std::string("the embedded switch named no address: ") + error.what());
  }
}

void EmbeddedSwitch::fail(const std::string& why) noexcept {
  stop();
  failure_ = why;
  state_ = State::kFailed;
}

// Closing its standard input ends it; a program that does not obey is killed. Either way it is reaped: no zombie is left to the application.
void EmbeddedSwitch::stop() noexcept {
  close_fd(keep_alive_);
  close_fd(output_);
  state_ = State::kIdle;
  if (pid_ <= 0) return;
  constexpr int kPatienceMs = 200;
  for (int waited = 0; waited < kPatienceMs; ++waited) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
      pid_ = -1;
      return;
    }
    const timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
    (void)::nanosleep(&moment, nullptr);
  }
  (void)::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace ina::core
