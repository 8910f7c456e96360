// uct_ina_process_test.cpp: two processes of which one is killed, stopped or restarted. Each has its own UCX, made after fork().
#include "test/engine/uct_ina_fixture.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

namespace ina::test {
namespace {

constexpr std::uint8_t kAmId = 3;
constexpr auto kPatience = std::chrono::seconds(60);

struct Addresses {
  char device[64];
  char iface[64];
};

// Both ends of a pipe each way.
class Channel {
 public:
  Channel() {
    EXPECT_EQ(pipe(to_child_), 0);
    EXPECT_EQ(pipe(to_parent_), 0);
  }
  ~Channel() {
    for (const int descriptor : {to_child_[0], to_child_[1], to_parent_[0], to_parent_[1]}) close(descriptor);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  Addresses exchange(bool is_child, const Addresses& own) {
    Addresses other{};
    const int out = is_child ? to_parent_[1] : to_child_[1];
    const int in = is_child ? to_child_[0] : to_parent_[0];
    if (write(out, &own, sizeof own) != sizeof own || read(in, &other, sizeof other) != sizeof other) _exit(9);
    return other;
  }

 private:
  int to_child_[2];
  int to_parent_[2];
};

// One side: an interface, and an endpoint to the other side's.
class Side {
 public:
  Side(Channel& channel, bool is_child, const Settings& settings) : iface(domain, settings) {
    Addresses own{};
    const auto device = Endpoint::device_address(iface);
    const auto address = Endpoint::iface_address(iface);
    std::copy(device.begin(), device.end(), own.device);
    std::copy(address.begin(), address.end(), own.iface);
    const Addresses other = channel.exchange(is_child, own);
    peer = std::make_unique<Endpoint>(iface, std::vector<char>(other.device, other.device + device.size()), std::vector<char>(other.iface, other.iface + address.size()));
    EXPECT_EQ(uct_iface_set_am_handler(iface.iface, kAmId, [](void* self, void*, size_t, unsigned) {
      ++static_cast<Side*>(self)->received;
      return UCS_OK;
    }, this, 0), UCS_OK);
  }
  template <typename Fact>
  bool progress_until(Fact fact) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!fact()) {
      if (std::chrono::steady_clock::now() > end) return false;
      uct_worker_progress(iface.worker);
    }
    return true;
  }
  bool send() {
    ucs_status_t status = UCS_ERR_NO_RESOURCE;
    return progress_until([&] { return (status = uct_ep_am_short(peer->ep, kAmId, 0, nullptr, 0)) != UCS_ERR_NO_RESOURCE; }) && status == UCS_OK;
  }
  MemoryDomain domain;
  Iface iface;
  std::unique_ptr<Endpoint> peer;
  int received = 0;
};

// Sends one message and then whatever it is asked for by messages, until it is killed.
[[noreturn]] void echo(Channel& channel, const Settings& settings) {
  Side side(channel, true, settings);
  int answered = -1;
  while (getppid() != 1) {
    uct_worker_progress(side.iface.worker);
    while (answered < side.received && side.send()) ++answered;
  }
  _exit(0);
}

// Another process where the first one was, which knows nobody.
[[noreturn]] void be_there(Channel& channel) {
  const MemoryDomain domain;
  const Iface iface(domain);
  (void)channel.exchange(true, {});
  while (getppid() != 1) uct_worker_progress(iface.worker);
  _exit(0);
}

// Who finds out: the time-outs, or a process that has the port now and is asked.
bool tells_of_death(ucs_status_t status) { return status == UCS_ERR_ENDPOINT_TIMEOUT || status == UCS_ERR_CONNECTION_RESET; }

class Processes : public testing::Test {
 protected:
  void start(const Settings& settings) {
    other = fork();
    ASSERT_GE(other, 0);
    if (other == 0) echo(channel, settings);
    side = std::make_unique<Side>(channel, false, settings);
    ASSERT_EQ(side->peer->status, UCS_OK);
    // Both connections are there: the other one's, and ours, which it answers on.
    ASSERT_TRUE(side->send());
    ASSERT_TRUE(side->progress_until([&] { return side->received == 2; }));
    uct_ina_counters_t counters;
    uct_ina_query_counters(&counters);
    ASSERT_GT(counters.packets_received, 0u);
  }
  void kill_other() {
    if (other <= 0) return;
    EXPECT_EQ(kill(other, SIGKILL), 0);
    EXPECT_EQ(waitpid(other, nullptr, 0), other);
    other = -1;
  }
  void TearDown() override { kill_other(); }
  Channel channel;
  pid_t other = -1;
  std::unique_ptr<Side> side;
};

TEST_F(Processes, KilledPeerIsNoticedByOneThatOnlyReceives) {
  start({{"PORT", "any"}, {"KEEPALIVE", "100ms"}, {"RETRY_COUNT", "8"}, {"RTO_MAX", "20ms"}});
  kill_other();
  ASSERT_TRUE(side->progress_until([&] { return !side->iface.errors.empty(); }));
  EXPECT_EQ(side->iface.errors, std::vector<ucs_status_t>{UCS_ERR_ENDPOINT_TIMEOUT});
}

TEST_F(Processes, KilledPeerIsNoticedByTheDefaultSettings) {
  start({});
  kill_other();
  Completion check;
  ucs_status_t status = UCS_ERR_NO_RESOURCE;
  ASSERT_TRUE(side->progress_until([&] { return (status = uct_ep_check(side->peer->ep, 0, &check.uct)) != UCS_ERR_NO_RESOURCE; }));
  ASSERT_EQ(status, UCS_INPROGRESS);
  ASSERT_TRUE(side->progress_until([&] { return check.is_done(); }));
  EXPECT_TRUE(tells_of_death(check.uct.status)) << ucs_status_string(check.uct.status);
}

TEST_F(Processes, RestartedPeerIsNoticedAtOnce) {
  start({});
  kill_other();
  Channel another;
  other = fork();
  ASSERT_GE(other, 0);
  if (other == 0) be_there(another);
  (void)another.exchange(false, {});
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(side->send());
  ASSERT_TRUE(side->progress_until([&] { return !side->iface.errors.empty(); }));
  EXPECT_EQ(side->iface.errors, std::vector<ucs_status_t>{UCS_ERR_CONNECTION_RESET});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
}

TEST_F(Processes, StoppedPeerIsNotGivenUp) {
  start({});
  ASSERT_EQ(kill(other, SIGSTOP), 0);
  ASSERT_TRUE(side->send());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  ASSERT_TRUE(side->progress_until([&] { return std::chrono::steady_clock::now() > end; }));
  ASSERT_EQ(kill(other, SIGCONT), 0);
  ASSERT_TRUE(side->progress_until([&] { return side->received == 3; }));
  EXPECT_TRUE(side->iface.errors.empty());
}

}  // namespace
}  // namespace ina::test
