// manager_bench.hpp: a manager on a socket of its own, and hosts that talk to it, all in one thread with virtual time.
// Used by the tests of the manager and by scenarios that join it with the aggregator.
// Waits for nothing: what is said is served before the call returns.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "switch/manager/manager.hpp"
#include "test/manager/virtual_settings.hpp"

namespace ina::manager {

inline constexpr const char* kHello = "{\"ina\":1,\"hello\":{\"client\":\"c\",\"host\":\"n1\",\"pid\":7}}\n";
inline constexpr const char* kStatus = "{\"id\":2,\"request\":\"status\"}\n";

// A listening socket of an address that the kernel chooses.
[[nodiscard]] inline int listening(int family) {
  const int fd = socket(family, SOCK_STREAM, 0);
  sockaddr_storage address{};
  address.ss_family = static_cast<sa_family_t>(family);
  socklen_t size = sizeof(sa_family_t);  // UNIX: an abstract name
  if (family == AF_INET) {
    reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    size = sizeof(sockaddr_in);
  }
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(listen(fd, 128), 0);
  return fd;
}

class ManagerBench {
 protected:
  void start(aggregator::SwitchControl& control, int family = AF_UNIX) {
    manager = std::make_unique<Manager>(control, settings);
    const int fd = listening(family);
    size = sizeof address;
    ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    manager->add_listener(fd);
  }
  // Serves until there is nothing to do.
  void serve() {
    pollfd ready{.fd = manager->fd(), .events = POLLIN, .revents = 0};
    for (int turn = 0; poll(&ready, 1, 0) == 1; ++turn) {
      ASSERT_LT(turn, 10000) << "the manager spins";
      manager->run_ready();
    }
  }
  [[nodiscard]] net::Descriptor connected() {
    net::Descriptor fd(socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0));
    const int rc = connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size);
    EXPECT_TRUE(rc == 0 || errno == EINPROGRESS);
    serve();
    return fd;
  }
  static void put(const net::Descriptor& fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // What has come; is_closed is set at the end of the stream.
  [[nodiscard]] std::string get(const net::Descriptor& fd) {
    serve();
    std::string text;
    char bytes[4096];
    is_closed = false;
    for (;;) {
      const ssize_t got = recv(fd.get(), bytes, sizeof bytes, 0);
      if (got > 0) {
        text.append(bytes, static_cast<std::size_t>(got));
      } else {
        is_closed = got == 0 || errno != EAGAIN;
        return text;
      }
    }
  }
  [[nodiscard]] nlohmann::json ask(const net::Descriptor& fd, std::string_view line) {
    put(fd, line);
    const std::string text = get(fd);
    EXPECT_FALSE(text.empty());
    return text.empty() ? nlohmann::json() : nlohmann::json::parse(text.substr(0, text.find('\n')));
  }
  void pass(std::chrono::milliseconds duration) {
    time.now += duration;
    manager->on_time(time.now);
    serve();
  }

  VirtualSettings time;
  ManagerSettings settings = time.settings();
  std::unique_ptr<Manager> manager;
  sockaddr_storage address{};
  socklen_t size = 0;
  bool is_closed = false;
};

}  // namespace ina::manager
