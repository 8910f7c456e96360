#include "test/core/softswitch_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "wire/address.hpp"

extern char** environ;

namespace ina::test {
namespace {

constexpr int kPatienceMs = 20'000;

// Reads until `text` has a whole line, and takes it out.
std::string take_line(int fd, std::string& text) {
  for (;;) {
    if (const auto end = text.find('\n'); end != std::string::npos) {
      std::string line = text.substr(0, end);
      text.erase(0, end + 1);
      return line;
    }
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    char buffer[4096];
    if (::poll(&ready, 1, kPatienceMs) != 1) throw std::runtime_error("ina-softswitch says nothing");
    const ssize_t bytes = ::read(fd, buffer, sizeof buffer);
    if (bytes <= 0) throw std::runtime_error("ina-softswitch has ended");
    text.append(buffer, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

std::string SoftswitchProcess::program() {
  for (const char* path : {"./ina-softswitch", "../../ina-softswitch"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return {};
}

SoftswitchProcess::SoftswitchProcess(const std::vector<std::string>& options) {
  start(options);
  std::string output;
  const std::string line = take_line(output_, output);
  const std::string prefix = "listening on ";
  if (line.rfind(prefix, 0) != 0) throw std::runtime_error("unexpected: " + line);
  address_ = line.substr(prefix.size());
  connect();
  const auto welcome = [&] {
    const std::string hello = nlohmann::json{{"ina", 1}, {"hello", {{"client", "test"}, {"host", "localhost"}, {"pid", ::getpid()}}}}.dump() + "\n";
    if (::write(manager_, hello.data(), hello.size()) != static_cast<ssize_t>(hello.size())) throw std::runtime_error("cannot say hello");
    return read_line();
  }();
  relay_ = welcome.at("welcome").at("relay").get<std::string>();
}

SoftswitchProcess::~SoftswitchProcess() {
  kill();
  if (manager_ >= 0) ::close(manager_);
  if (output_ >= 0) ::close(output_);
}

void SoftswitchProcess::start(const std::vector<std::string>& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  output_ = ends[0];
  std::vector<std::string> words{program(), "--listen", "127.0.0.1:0", "--log-level", "error"};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  const int error = ::posix_spawn(&pid_, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) throw std::runtime_error("cannot start " + words[0]);
}

void SoftswitchProcess::connect() {
  const auto address = wire::UdpAddress::parse(address_);
  if (!address) throw std::runtime_error("no address: " + address_);
  sockaddr_storage to{};
  const socklen_t bytes = address->to_sockaddr(to);
  manager_ = ::socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(manager_, reinterpret_cast<const sockaddr*>(&to), bytes) != 0) throw std::runtime_error("cannot connect to " + address_);
}

nlohmann::json SoftswitchProcess::read_line() { return nlohmann::json::parse(take_line(manager_, received_)); }

nlohmann::json SoftswitchProcess::request(nlohmann::json what) {
  what["id"] = next_id_++;
  const std::string line = what.dump() + "\n";
  if (::write(manager_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) throw std::runtime_error("cannot ask");
  auto answer = read_line();
  if (!answer.contains("result")) throw std::runtime_error("refused: " + answer.dump());
  return answer.at("result");
}

void SoftswitchProcess::await_event(const std::string& event, std::uint32_t group) {
  for (;;) {
    const auto line = read_line();
    if (line.value("event", "") == event && line.value("group", 0u) == group) return;
    if (line.contains("event")) throw std::runtime_error("unexpected: " + line.dump());
  }
}

void SoftswitchProcess::kill() noexcept {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace ina::test
