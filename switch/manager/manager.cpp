#include "switch/manager/manager.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <system_error>

#include "switch/manager/answer.hpp"
#include "switch/manager/random.hpp"
#include "switch/manager/socket_peer.hpp"

namespace ina::manager {
namespace {

// epoll's word of a connection is its id; ids below this are listeners' indices.
constexpr std::uint64_t kFirstConnection = std::uint64_t{1} << 32;
// What one run_ready() does at most, so that packets get their turn.
constexpr int kEventsPerRun = 64;
constexpr int kAcceptsPerEvent = 32;
constexpr int kReadsPerEvent = 4;
constexpr std::size_t kReadBytes = 16384;
constexpr std::size_t kFlushAt = 65536;  // output that is sent before the next line is handled
constexpr std::chrono::milliseconds kListenerPause{100};

[[nodiscard]] std::system_error system_error(const char* what) { return {errno, std::generic_category(), what}; }

[[nodiscard]] ManagerSettings completed(ManagerSettings settings) {
  if (settings.instance.empty()) {
    std::array<std::byte, 8> bytes{};
    settings.random(bytes);
    settings.instance = hex(bytes);
  }
  return settings;
}

}  // namespace

struct Manager::Connection {
  Connection(ConnectionId number, net::Descriptor fd, Client client, SessionContext& context)
      : id(number), socket(std::move(fd)), session(number, std::move(client), context) {}
  ConnectionId id;
  net::Descriptor socket;
  Session session;
  std::optional<TimePoint> deadline;
  std::uint32_t interest = EPOLLIN;
  bool is_broken = false;     // nothing more can be sent, or should be
  bool peer_is_done = false;  // the host sends nothing more
  bool is_shut = false;       // we send nothing more
  bool is_ending = false;     // the linger time runs
};

Manager::Manager(aggregator::SwitchControl& control, ManagerSettings settings)
    : settings_(completed(std::move(settings))),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      groups_(control, settings_,
              [this](ConnectionId id, const Event& event) {
                const auto found = connections_.find(id);
                if (found == connections_.end()) return;
                found->second->session.tell(event);
                pending_.push_back(id);
              }),
      context_{.settings = settings_, .groups = groups_, .counters = counters_, .started = settings_.clock()},
      next_connection_(kFirstConnection) {
  if (!epoll_) throw system_error("cannot make an epoll instance");
}

Manager::~Manager() = default;

void Manager::add_listener(int listening_fd) {
  net::Descriptor listener(listening_fd);
  int is_listening = 0;
  socklen_t size = sizeof is_listening;
  if (getsockopt(listener.get(), SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) != 0 || is_listening == 0) {
    if (errno == 0 || is_listening == 0) errno = EINVAL;
    throw system_error("cannot serve hosts from a socket that does not listen");
  }
  const int flags = fcntl(listener.get(), F_GETFL);
  if (flags < 0 || fcntl(listener.get(), F_SETFL, flags | O_NONBLOCK) != 0) throw system_error("cannot make a listening socket non-blocking");
  epoll_event event{.events = EPOLLIN, .data = {.u64 = listeners_.size()}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener.get(), &event) != 0) throw system_error("cannot watch a listening socket");
  listeners_.push_back(std::move(listener));
}

void Manager::run_ready() {
  std::array<epoll_event, kEventsPerRun> events;
  const int count = epoll_wait(epoll_.get(), events.data(), kEventsPerRun, 0);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t word = events[static_cast<std::size_t>(i)].data.u64;
    if (word < kFirstConnection) {
      accept_some(word);
      continue;
    }
    const ConnectionId id{word};
    const auto found = connections_.find(id);
    if (found == connections_.end()) continue;  // destroyed by an earlier event of this batch
    if ((events[static_cast<std::size_t>(i)].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) read_some(*found->second);
    attend(id);
    attend_pending();
  }
}

void Manager::accept_some(std::uint64_t listener) {
  for (int i = 0; i < kAcceptsPerEvent; ++i) {
    net::Descriptor socket(accept4(listeners_[listener].get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      admit(std::move(socket));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return pause_listeners(errno);
    }
    // Anything else concerns one connection that is gone already.
  }
}

void Manager::admit(net::Descriptor socket) {
  if (connections_.size() >= settings_.max_connections) {
    // Whoever has been silent longest makes place: a crowd that says nothing must not keep hosts out.
    if (deadlines_.empty()) return refuse(std::move(socket));
    ++counters_.connections_evicted;
    destroy(deadlines_.begin()->second);
  }
  const ConnectionId id{next_connection_++};
  const int fd = socket.get();
  prepare_socket(fd);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = static_cast<std::uint64_t>(id)}};
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return refuse(std::move(socket));
  auto connection = std::make_unique<Connection>(id, std::move(socket), peer_of(fd), context_);
  set_deadline(*connection, settings_.clock() + settings_.hello_timeout);
  connections_.emplace(id, std::move(connection));
  context_.connections = connections_.size();
  ++counters_.connections_accepted;
}

void Manager::refuse(net::Descriptor socket) {
  ++counters_.connections_refused;
  const std::string line =
      farewell_line({kBusy, "the manager has " + std::to_string(connections_.size()) + " connections, the most that it serves"});
  static_cast<void>(send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  shutdown(socket.get(), SHUT_WR);
}

void Manager::pause_listeners(int error) {
  if (!listeners_resume_) log(LogLevel::kWarn, std::string("cannot accept a connection: ") + std::strerror(error));
  listeners_resume_ = settings_.clock() + kListenerPause;
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    epoll_event event{.events = 0, .data = {.u64 = i}};
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listeners_[i].get(), &event);
  }
}

void Manager::read_some(Connection& connection) {
  std::array<char, kReadBytes> bytes;
  for (int i = 0; i < kReadsPerEvent && !connection.is_broken && !connection.peer_is_done; ++i) {
    const ssize_t got = recv(connection.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      take(connection, {bytes.data(), static_cast<std::size_t>(got)});
    } else if (got == 0) {
      connection.peer_is_done = true;
    } else if (errno != EINTR) {
      connection.is_broken = errno != EAGAIN && errno != EWOULDBLOCK;
      return;
    }
  }
}

void Manager::take(Connection& connection, std::string_view bytes) {
  Session& session = connection.session;
  session.receive(bytes);
  while (!connection.is_broken && session.step()) {
    if (session.output().size() < kFlushAt) continue;
    connection.is_broken = !flush(connection);
  }
}

// False: the host is gone, or reads too slowly.
bool Manager::flush(Connection& connection) {
  std::string& output = connection.session.output();
  std::size_t sent = 0;
  while (sent < output.size()) {
    const ssize_t count = send(connection.socket.get(), output.data() + sent, output.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return false;
    if (count < 0) break;
    sent += static_cast<std::size_t>(count);
  }
  output.erase(0, sent);
  if (output.size() <= settings_.max_output_bytes) return true;
  ++counters_.connections_overflowed;
  log(LogLevel::kWarn, "connection from " + connection.session.client().address + ": closed, it has not read " +
                           std::to_string(output.size()) + " bytes of answers");
  return false;
}

void Manager::attend(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = *found->second;
  Session& session = connection.session;
  if (connection.is_broken || !flush(connection)) return destroy(id);
  if (connection.peer_is_done) session.disconnect();
  if (session.phase() == SessionPhase::kClosing) {
    if (session.output().empty() && connection.peer_is_done) return destroy(id);
    if (session.output().empty() && !connection.is_shut) connection.is_shut = shutdown(connection.socket.get(), SHUT_WR) == 0;
    if (!connection.is_ending) {
      connection.is_ending = true;
      set_deadline(connection, settings_.clock() + settings_.linger);
    }
  } else if (session.phase() == SessionPhase::kReady) {
    set_deadline(connection, std::nullopt);
  }
  const std::uint32_t interest = (connection.peer_is_done ? 0u : std::uint32_t{EPOLLIN}) | (session.output().empty() ? 0u : std::uint32_t{EPOLLOUT});
  if (interest == connection.interest) return;
  connection.interest = interest;
  epoll_event event{.events = interest, .data = {.u64 = static_cast<std::uint64_t>(id)}};
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.socket.get(), &event);
}

void Manager::attend_pending() {
  while (!pending_.empty()) {
    const ConnectionId id = pending_.back();
    pending_.pop_back();
    attend(id);
  }
}

void Manager::set_deadline(Connection& connection, std::optional<TimePoint> deadline) {
  if (connection.deadline) deadlines_.erase({*connection.deadline, connection.id});
  connection.deadline = deadline;
  if (deadline) deadlines_.emplace(*deadline, connection.id);
}

void Manager::destroy(ConnectionId id) {
  const auto found = connections_.find(id);
  set_deadline(*found->second, std::nullopt);
  found->second->session.disconnect();
  connections_.erase(found);
  context_.connections = connections_.size();
}

std::optional<TimePoint> Manager::next_deadline() const {
  std::optional<TimePoint> next = groups_.next_deadline();
  const auto consider = [&next](TimePoint deadline) { next = next ? std::min(*next, deadline) : deadline; };
  if (!deadlines_.empty()) consider(deadlines_.begin()->first);
  if (listeners_resume_) consider(*listeners_resume_);
  return next;
}

void Manager::on_time(TimePoint now) {
  if (listeners_resume_ && *listeners_resume_ <= now) {
    listeners_resume_.reset();
    for (std::size_t i = 0; i < listeners_.size(); ++i) {
      epoll_event event{.events = EPOLLIN, .data = {.u64 = i}};
      epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listeners_[i].get(), &event);
    }
  }
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const ConnectionId id = deadlines_.begin()->second;
    Connection& connection = *connections_.at(id);
    if (connection.session.phase() == SessionPhase::kHello) {
      ++counters_.hello_timeouts;
      set_deadline(connection, std::nullopt);
      connection.session.end({kTimeout, "no hello within " + std::to_string(settings_.hello_timeout.count()) + " ms"});
      attend(id);
    } else {
      destroy(id);
    }
  }
  groups_.on_time(now);
  attend_pending();
}

void Manager::on_bind(std::uint32_t group) {
  groups_.on_bind(group);
  attend_pending();
}

void Manager::log(LogLevel level, const std::string& text) const {
  if (settings_.log) settings_.log(level, text);
}

}  // namespace ina::manager
