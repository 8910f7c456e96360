#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

#include "ompi_coll_ina/core/connection.hpp"
#include "wire/address.hpp"

namespace ina::core {

namespace {

struct Endpoint {
  sockaddr_storage address{};
  socklen_t length = 0;
};

struct AddressList {
  std::vector<Endpoint> endpoints;
  std::string failure;
};

AddressList look_up(const std::string& host, std::uint16_t port, int flags) {
  AddressList list;
  addrinfo hints{};
  hints.ai_flags = flags | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    list.failure = gai_strerror(error);
    return list;
  }
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Endpoint endpoint;
    std::memcpy(&endpoint.address, each->ai_addr, each->ai_addrlen);
    endpoint.length = each->ai_addrlen;
    list.endpoints.push_back(endpoint);
  }
  freeaddrinfo(found);
  return list;
}

// A name server may be slow: names are looked up in a thread, which touches nothing but its own object. Numbers need none.
class NameLookup {
 public:
  NameLookup(const std::string& host, std::uint16_t port) {
    list_ = look_up(host, port, AI_NUMERICHOST);
    if (list_.failure.empty()) {
      is_done_ = true;
      return;
    }
    thread_ = std::thread([this, host, port] {
      list_ = look_up(host, port, 0);
      is_done_.store(true, std::memory_order_release);
    });
  }
  ~NameLookup() {
    if (thread_.joinable()) thread_.join();
  }
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;
  [[nodiscard]] bool is_done() const noexcept { return is_done_.load(std::memory_order_acquire); }
  [[nodiscard]] const AddressList& list() const noexcept { return list_; }

 private:
  AddressList list_;
  std::atomic<bool> is_done_{false};
  std::thread thread_;
};

class SocketConnection final : public Connection {
 public:
  explicit SocketConnection(const SwitchAddress& address) {
    if (address.kind == SwitchAddress::Kind::kTcp) {
      lookup_ = std::make_unique<NameLookup>(address.host, address.port);
      return;
    }
    Endpoint endpoint;
    sockaddr_un local{};
    local.sun_family = AF_UNIX;
    if (address.path.size() >= sizeof local.sun_path) {
      fail(ENAMETOOLONG);
      return;
    }
    std::memcpy(local.sun_path, address.path.c_str(), address.path.size() + 1);
    std::memcpy(&endpoint.address, &local, sizeof local);
    endpoint.length = sizeof local;
    endpoints_.push_back(endpoint);
  }
  ~SocketConnection() override { close_socket(); }
  SocketConnection(const SocketConnection&) = delete;
  SocketConnection& operator=(const SocketConnection&) = delete;

  State advance() noexcept override {
    if (state_ != State::kConnecting) return state_;
    if (lookup_) {
      if (!lookup_->is_done()) return state_;
      endpoints_ = lookup_->list().endpoints;
      if (endpoints_.empty()) {
        failure_ = lookup_->list().failure;
        state_ = State::kFailed;
      }
      lookup_.reset();
    }
    while (state_ == State::kConnecting && fd_ < 0) try_next();
    if (state_ == State::kConnecting) look_whether_connected();
    return state_;
  }
  std::string failure() const override { return failure_; }
  std::string peer() const override {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (fd_ < 0 || ::getpeername(fd_, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
    const auto peer = wire::UdpAddress::from_sockaddr(address);
    return peer ? peer->text() : "";
  }

  std::ptrdiff_t read(std::span<char> to) noexcept override {
    if (state_ != State::kOpen) return -1;
    const ssize_t bytes = ::recv(fd_, to.data(), to.size(), MSG_DONTWAIT);
    if (bytes > 0) return bytes;
    if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return 0;
    fail(bytes == 0 ? 0 : errno);
    return -1;
  }
  std::ptrdiff_t write(std::string_view from) noexcept override {
    if (state_ != State::kOpen) return -1;
    const ssize_t bytes = ::send(fd_, from.data(), from.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (bytes >= 0) return bytes;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
    fail(errno);
    return -1;
  }

 private:
  void close_socket() noexcept {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  void fail(int error) {
    failure_ = error == 0 ? "the connection was closed" : std::strerror(error);
    state_ = State::kFailed;
    close_socket();
  }
  void try_next() noexcept {
    if (next_ == endpoints_.size()) {
      state_ = State::kFailed;
      return;
    }
    const Endpoint& endpoint = endpoints_[next_++];
    fd_ = ::socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0) {
      failure_ = std::strerror(errno);
      return;
    }
    const int on = 1;
    if (endpoint.address.ss_family != AF_UNIX) (void)::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.length) == 0) {
      state_ = State::kOpen;
    } else if (errno != EINPROGRESS && errno != EAGAIN && errno != EINTR) {
      failure_ = std::strerror(errno);
      close_socket();
    }
  }
  void look_whether_connected() noexcept {
    pollfd waiting{.fd = fd_, .events = POLLOUT, .revents = 0};
    if (::poll(&waiting, 1, 0) != 1) return;
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
    if (error == 0) {
      state_ = State::kOpen;
      return;
    }
    failure_ = std::strerror(error);
    close_socket();
  }

  State state_ = State::kConnecting;
  std::unique_ptr<NameLookup> lookup_;
  std::vector<Endpoint> endpoints_;
  std::size_t next_ = 0;
  int fd_ = -1;
  std::string failure_ = "no address";
};

}  // namespace

std::unique_ptr<Connection> connect_socket(const SwitchAddress& address) { return std::make_unique<SocketConnection>(address); }

}  // namespace ina::core
