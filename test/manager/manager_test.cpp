#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "switch/manager/manager.hpp"
#include "test/manager/fake_switch.hpp"
#include "test/manager/virtual_settings.hpp"

namespace ina::manager {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kHello = "{\"ina\":1,\"hello\":{\"client\":\"c\",\"host\":\"n1\",\"pid\":7}}\n";
constexpr const char* kOpen = "{\"id\":1,\"request\":\"open\",\"members\":2,\"window\":16,\"payload\":1024}\n";
constexpr const char* kStatus = "{\"id\":2,\"request\":\"status\"}\n";

// A listening socket of an address that the kernel chooses.
[[nodiscard]] int listening(int family) {
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

class ManagerTest : public ::testing::Test {
 protected:
  void start(int family = AF_UNIX) {
    manager = std::make_unique<Manager>(fake, settings);
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
  [[nodiscard]] UniqueFd connected() {
    UniqueFd fd(socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0));
    const int rc = connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size);
    EXPECT_TRUE(rc == 0 || errno == EINPROGRESS);
    serve();
    return fd;
  }
  static void put(const UniqueFd& fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  // What has come; is_closed is set at the end of the stream.
  [[nodiscard]] std::string get(const UniqueFd& fd) {
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
  [[nodiscard]] json ask(const UniqueFd& fd, std::string_view line) {
    put(fd, line);
    const std::string text = get(fd);
    EXPECT_FALSE(text.empty());
    return text.empty() ? json() : json::parse(text.substr(0, text.find('\n')));
  }
  void pass(milliseconds duration) {
    time.now += duration;
    manager->on_time(time.now);
    serve();
  }

  FakeSwitch fake;
  VirtualSettings time;
  ManagerSettings settings = time.settings();
  std::unique_ptr<Manager> manager;
  sockaddr_storage address{};
  socklen_t size = 0;
  bool is_closed = false;
};

TEST_F(ManagerTest, ServesTcpAndUnixTheSame) {
  for (const int family : {AF_UNIX, AF_INET}) {
    start(family);
    const UniqueFd host = connected();
    EXPECT_TRUE(ask(host, kHello).contains("welcome"));
    const std::uint32_t group = ask(host, kOpen)["result"]["group"];
    fake.bind_all(group);
    manager->on_bind(group);
    EXPECT_EQ(json::parse(get(host)), (json{{"event", "active"}, {"group", group}}));
  }
}

TEST_F(ManagerTest, StatusShowsTheKernelsWordOnUnixPeers) {
  start(AF_UNIX);
  const UniqueFd host = connected();
  static_cast<void>(ask(host, kHello));
  static_cast<void>(ask(host, kOpen));
  const json owner = ask(host, kStatus)["result"]["groups"][0]["owner"];
  EXPECT_EQ(owner["peer_uid"], getuid());
  EXPECT_EQ(owner["peer_pid"], getpid());
  EXPECT_EQ(owner["address"], "unix");
}

TEST_F(ManagerTest, StatusShowsTheAddressOfTcpPeers) {
  start(AF_INET);
  const UniqueFd host = connected();
  static_cast<void>(ask(host, kHello));
  static_cast<void>(ask(host, kOpen));
  const json owner = ask(host, kStatus)["result"]["groups"][0]["owner"];
  EXPECT_EQ(owner["address"].get<std::string>().substr(0, 10), "127.0.0.1:");
  EXPECT_FALSE(owner.contains("peer_uid"));
}

TEST_F(ManagerTest, AnInstanceIsDrawnAtEveryStart) {
  settings.instance.clear();
  start();
  const std::string first = manager->instance();
  start();
  EXPECT_EQ(first.size(), 16u);
  EXPECT_NE(first, manager->instance());
}

TEST_F(ManagerTest, WhoSaysNothingIsToldSoAndDisconnected) {
  start();
  const UniqueFd silent = connected();
  const UniqueFd half = connected();
  put(half, "{\"ina\":1,");
  EXPECT_EQ(get(half), "");
  EXPECT_EQ(*manager->next_deadline(), time.now + milliseconds(5000));
  pass(milliseconds(5000));
  for (const UniqueFd* fd : {&silent, &half}) {
    EXPECT_EQ(json::parse(get(*fd))["error"]["code"], "timeout");
    EXPECT_TRUE(is_closed);
  }
  pass(milliseconds(1000));
  EXPECT_EQ(manager->connections(), 0u);
  EXPECT_EQ(manager->next_deadline(), std::nullopt);
}

TEST_F(ManagerTest, AHostThatSaidHelloMayBeIdleForEver) {
  start();
  const UniqueFd host = connected();
  static_cast<void>(ask(host, kHello));
  EXPECT_EQ(manager->next_deadline(), std::nullopt);
  pass(std::chrono::hours(1000));
  EXPECT_TRUE(ask(host, kStatus).contains("result"));
}

TEST_F(ManagerTest, GarbageIsAnsweredAndDisturbsNobody) {
  start();
  const UniqueFd host = connected();
  static_cast<void>(ask(host, kHello));
  for (const std::string& garbage : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100000, 'x'), std::string(70000, '['),
                                     std::string(300, '\0') + "\n", std::string("{\"ina\":2,\"hello\":{}}\n")}) {
    const UniqueFd foreign = connected();
    put(foreign, garbage);
    const std::string answer = get(foreign);
    ASSERT_FALSE(answer.empty());
    EXPECT_TRUE(json::parse(answer)["error"].contains("code"));
    EXPECT_TRUE(is_closed);
    EXPECT_TRUE(ask(host, kStatus).contains("result"));
  }
  pass(milliseconds(1000));
  EXPECT_EQ(manager->connections(), 1u);
}

TEST_F(ManagerTest, AConnectionThatEndsWithItsErrorIsGoneAtOnce) {
  start();
  {
    const UniqueFd foreign = connected();
    put(foreign, "garbage\n");
    static_cast<void>(get(foreign));
  }
  serve();
  EXPECT_EQ(manager->connections(), 0u);
}

TEST_F(ManagerTest, AHalfClosedConnectionGetsItsAnswers) {
  start();
  const UniqueFd host = connected();
  put(host, std::string(kHello) + kStatus);
  shutdown(host.get(), SHUT_WR);
  const std::string answers = get(host);
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 2);
  EXPECT_TRUE(is_closed);
  EXPECT_EQ(manager->connections(), 0u);
}

TEST_F(ManagerTest, AClosedConnectionsGroupsAreRemovedAfterTheGraceTime) {
  start();
  {
    const UniqueFd host = connected();
    static_cast<void>(ask(host, kHello));
    static_cast<void>(ask(host, kOpen));
  }
  serve();
  EXPECT_EQ(manager->connections(), 0u);
  EXPECT_EQ(fake.known.size(), 1u);
  EXPECT_EQ(*manager->next_deadline(), time.now + milliseconds(2000));
  pass(milliseconds(2000));
  EXPECT_TRUE(fake.known.empty());
}

TEST_F(ManagerTest, ALeaseIsResumedOnANewConnection) {
  start();
  std::string lease;
  {
    const UniqueFd host = connected();
    static_cast<void>(ask(host, kHello));
    lease = ask(host, kOpen)["result"]["lease"];
  }
  serve();
  const UniqueFd again = connected();
  static_cast<void>(ask(again, kHello));
  EXPECT_EQ(ask(again, "{\"id\":3,\"request\":\"resume\",\"lease\":\"" + lease + "\"}\n")["result"]["groups"].size(), 1u);
  pass(milliseconds(2000));
  EXPECT_EQ(fake.known.size(), 1u);
}

TEST_F(ManagerTest, ABindTimeoutIsToldAtOnce) {
  start();
  const UniqueFd host = connected();
  static_cast<void>(ask(host, kHello));
  static_cast<void>(ask(host, kOpen));
  pass(milliseconds(10000));
  EXPECT_EQ(json::parse(get(host))["reason"], "bind-timeout");
}

TEST_F(ManagerTest, WhoNeverReadsItsAnswersIsDisconnected) {
  start();
  const UniqueFd reader = connected();
  static_cast<void>(ask(reader, kHello));
  const UniqueFd host = connected();
  put(host, kHello);
  std::string many;
  for (int i = 0; i < 500; ++i) many += kStatus;
  for (int i = 0; i < 200 && manager->connections() == 2; ++i) {
    put(host, many);
    serve();
  }
  EXPECT_EQ(manager->connections(), 1u);
  EXPECT_TRUE(ask(reader, kStatus).contains("result"));
  ASSERT_EQ(time.warnings.size(), 1u);
  EXPECT_NE(time.warnings[0].find("has not read"), std::string::npos);
}

TEST_F(ManagerTest, ASlowReaderGetsEverything) {
  start();
  const UniqueFd host = connected();
  const int small = 4096;
  setsockopt(host.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  std::string many = kHello;
  for (int i = 0; i < 100; ++i) many += kStatus;
  put(host, many);
  std::string answers;
  char bytes[1000];
  for (;;) {
    serve();
    const ssize_t got = recv(host.get(), bytes, sizeof bytes, 0);
    if (got <= 0) break;
    answers.append(bytes, static_cast<std::size_t>(got));
  }
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 101);
}

TEST_F(ManagerTest, BeyondTheLimitTheSilentMakePlace) {
  settings.max_connections = 4;
  start();
  const UniqueFd host = connected();
  static_cast<void>(ask(host, kHello));
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(connected());
  EXPECT_EQ(manager->connections(), 4u);
  const UniqueFd second = connected();
  EXPECT_TRUE(ask(second, kHello).contains("welcome"));
  EXPECT_TRUE(ask(host, kStatus).contains("result"));
}

TEST_F(ManagerTest, BeyondTheLimitANewHostIsToldBusy) {
  settings.max_connections = 4;
  start();
  std::vector<UniqueFd> hosts;
  for (int i = 0; i < 4; ++i) {
    hosts.push_back(connected());
    static_cast<void>(ask(hosts.back(), kHello));
  }
  const UniqueFd extra = connected();
  EXPECT_EQ(json::parse(get(extra))["error"]["code"], "busy");
  EXPECT_TRUE(is_closed);
  hosts.pop_back();
  serve();
  const UniqueFd next = connected();
  EXPECT_TRUE(ask(next, kHello).contains("welcome"));
}

TEST_F(ManagerTest, AFloodOfOpenAndCloseLeavesNothing) {
  start();
  const UniqueFd host = connected();
  static_cast<void>(ask(host, kHello));
  for (int i = 0; i < 2000; ++i) {
    const std::uint32_t group = ask(host, kOpen)["result"]["group"];
    ASSERT_TRUE(ask(host, "{\"id\":2,\"request\":\"close\",\"group\":" + std::to_string(group) + "}\n").contains("result"));
  }
  EXPECT_EQ(ask(host, kStatus)["result"]["slots"]["free"], 1024);
  EXPECT_EQ(manager->next_deadline(), std::nullopt);
}

TEST_F(ManagerTest, WithoutDescriptorsListeningPausesAndGoesOn) {
  start();
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  UniqueFd waiting(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(waiting.get()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  ASSERT_EQ(connect(waiting.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  serve();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(manager->connections(), 0u);
  EXPECT_EQ(time.warnings.size(), 1u);
  pass(milliseconds(100));
  EXPECT_EQ(manager->connections(), 1u);
  EXPECT_TRUE(ask(waiting, kHello).contains("welcome"));
}

TEST_F(ManagerTest, ASocketThatDoesNotListenIsRefused) {
  start();
  EXPECT_THROW(manager->add_listener(socket(AF_UNIX, SOCK_STREAM, 0)), std::system_error);
  EXPECT_THROW(manager->add_listener(-1), std::system_error);
}

TEST_F(ManagerTest, ADrainedManagerSaysSo) {
  start();
  const UniqueFd host = connected();
  static_cast<void>(ask(host, kHello));
  manager->drain();
  EXPECT_EQ(ask(host, kOpen)["error"]["code"], "draining");
}

}  // namespace
}  // namespace ina::manager
