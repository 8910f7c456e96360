#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "switch/manager/manager.hpp"
#include "test/manager/fake_switch.hpp"
#include "test/manager/manager_bench.hpp"

namespace ina::manager {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr const char* kOpen = "{\"id\":1,\"request\":\"open\",\"members\":2,\"window\":16,\"payload\":1024}\n";

class ManagerTest : public ::testing::Test, protected ManagerBench {
 protected:
  ~ManagerTest() override { manager.reset(); }
  void start(int family = AF_UNIX) { ManagerBench::start(fake, family); }

  FakeSwitch fake;
};

TEST_F(ManagerTest, ServesTcpAndUnixTheSame) {
  for (const int family : {AF_UNIX, AF_INET}) {
    start(family);
    const net::Descriptor host = connected();
    EXPECT_TRUE(ask(host, kHello).contains("welcome"));
    const std::uint32_t group = ask(host, kOpen)["result"]["group"];
    fake.bind_all(group);
    manager->on_bind(group);
    EXPECT_EQ(json::parse(get(host)), (json{{"event", "active"}, {"group", group}}));
  }
}

TEST_F(ManagerTest, StatusShowsTheKernelsWordOnUnixPeers) {
  start(AF_UNIX);
  const net::Descriptor host = connected();
  static_cast<void>(ask(host, kHello));
  static_cast<void>(ask(host, kOpen));
  const json owner = ask(host, kStatus)["result"]["groups"][0]["owner"];
  EXPECT_EQ(owner["peer_uid"], getuid());
  EXPECT_EQ(owner["peer_pid"], getpid());
  EXPECT_EQ(owner["address"], "unix");
}

TEST_F(ManagerTest, StatusShowsTheAddressOfTcpPeers) {
  start(AF_INET);
  const net::Descriptor host = connected();
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
  const net::Descriptor silent = connected();
  const net::Descriptor half = connected();
  put(half, "{\"ina\":1,");
  EXPECT_EQ(get(half), "");
  EXPECT_EQ(*manager->next_deadline(), time.now + milliseconds(5000));
  pass(milliseconds(5000));
  for (const net::Descriptor* fd : {&silent, &half}) {
    EXPECT_EQ(json::parse(get(*fd))["error"]["code"], "timeout");
    EXPECT_TRUE(is_closed);
  }
  pass(milliseconds(1000));
  EXPECT_EQ(manager->connections(), 0u);
  EXPECT_EQ(manager->next_deadline(), std::nullopt);
}

TEST_F(ManagerTest, AHostThatSaidHelloMayBeIdleForEver) {
  start();
  const net::Descriptor host = connected();
  static_cast<void>(ask(host, kHello));
  EXPECT_EQ(manager->next_deadline(), std::nullopt);
  pass(std::chrono::hours(1000));
  EXPECT_TRUE(ask(host, kStatus).contains("result"));
}

TEST_F(ManagerTest, GarbageIsAnsweredAndDisturbsNobody) {
  start();
  const net::Descriptor host = connected();
  static_cast<void>(ask(host, kHello));
  for (const std::string& garbage : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(100000, 'x'), std::string(70000, '['),
                                     std::string(300, '\0') + "\n", std::string("{\"ina\":2,\"hello\":{}}\n")}) {
    const net::Descriptor foreign = connected();
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
    const net::Descriptor foreign = connected();
    put(foreign, "garbage\n");
    static_cast<void>(get(foreign));
  }
  serve();
  EXPECT_EQ(manager->connections(), 0u);
}

TEST_F(ManagerTest, AHalfClosedConnectionGetsItsAnswers) {
  start();
  const net::Descriptor host = connected();
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
    const net::Descriptor host = connected();
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
    const net::Descriptor host = connected();
    static_cast<void>(ask(host, kHello));
    lease = ask(host, kOpen)["result"]["lease"];
  }
  serve();
  const net::Descriptor again = connected();
  static_cast<void>(ask(again, kHello));
  EXPECT_EQ(ask(again, "{\"id\":3,\"request\":\"resume\",\"lease\":\"" + lease + "\"}\n")["result"]["groups"].size(), 1u);
  pass(milliseconds(2000));
  EXPECT_EQ(fake.known.size(), 1u);
}

TEST_F(ManagerTest, ABindTimeoutIsToldAtOnce) {
  start();
  const net::Descriptor host = connected();
  static_cast<void>(ask(host, kHello));
  static_cast<void>(ask(host, kOpen));
  pass(milliseconds(10000));
  EXPECT_EQ(json::parse(get(host))["reason"], "bind-timeout");
}

TEST_F(ManagerTest, WhoNeverReadsItsAnswersIsDisconnected) {
  start();
  const net::Descriptor reader = connected();
  static_cast<void>(ask(reader, kHello));
  const net::Descriptor host = connected();
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
  const net::Descriptor host = connected();
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
  const net::Descriptor host = connected();
  static_cast<void>(ask(host, kHello));
  std::vector<net::Descriptor> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(connected());
  EXPECT_EQ(manager->connections(), 4u);
  const net::Descriptor second = connected();
  EXPECT_TRUE(ask(second, kHello).contains("welcome"));
  EXPECT_TRUE(ask(host, kStatus).contains("result"));
}

TEST_F(ManagerTest, BeyondTheLimitANewHostIsToldBusy) {
  settings.max_connections = 4;
  start();
  std::vector<net::Descriptor> hosts;
  for (int i = 0; i < 4; ++i) {
    hosts.push_back(connected());
    static_cast<void>(ask(hosts.back(), kHello));
  }
  const net::Descriptor extra = connected();
  EXPECT_EQ(json::parse(get(extra))["error"]["code"], "busy");
  EXPECT_TRUE(is_closed);
  hosts.pop_back();
  serve();
  const net::Descriptor next = connected();
  EXPECT_TRUE(ask(next, kHello).contains("welcome"));
}

TEST_F(ManagerTest, AFloodOfOpenAndCloseLeavesNothing) {
  start();
  const net::Descriptor host = connected();
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
  net::Descriptor waiting(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
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
  const net::Descriptor host = connected();
  static_cast<void>(ask(host, kHello));
  manager->drain();
  EXPECT_EQ(ask(host, kOpen)["error"]["code"], "draining");
}

}  // namespace
}  // namespace ina::manager
