// uct_ina_event_test.cpp: sleeping until there is something to do, and the timer.
#include "test/engine/uct_ina_fixture.hpp"

#include <poll.h>

#include <thread>

namespace ina::test {
namespace {

TEST_F(UctTest, EventFdTellsOfArrivals) {
  int descriptor = -1;
  ASSERT_EQ(uct_iface_event_fd_get(b.iface, &descriptor), UCS_OK);
  while (uct_iface_event_arm(b.iface, UCT_EVENT_RECV) == UCS_ERR_BUSY) uct_worker_progress(b.worker);
  Memory target(domain, 64);
  pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ready, 1, 0), 0);
  ASSERT_EQ(uct_ep_put_short(ep_a.ep, "12345678", 8, target.address(), target.rkey.rkey), UCS_OK);
  uct_worker_progress(a.worker);
  EXPECT_EQ(poll(&ready, 1, 5000), 1);
  ASSERT_TRUE(progress_until([&] { return uct_ep_flush(ep_a.ep, 0, nullptr) == UCS_OK; }));
}

TEST_F(UctTest, PeerThatComputesStillAcknowledges) {
  Memory source(domain, 4096 * 16);
  Memory target(domain, 4096 * 16);
  const uct_iov_t iov = source.iov(source.bytes.size());
  Completion completion;
  ASSERT_EQ(uct_ep_put_zcopy(ep_a.ep, &iov, 1, target.address(), target.rkey.rkey, &completion.uct), UCS_INPROGRESS);
  for (std::uint64_t i = 0; i < 100000000 && !completion.is_done(); ++i) uct_worker_progress(a.worker);  // b's timer does the rest
  EXPECT_TRUE(completion.is_done());
}

// One side of an exchange, in a thread of its own: sleeps whenever there is nothing to do.
class Sleeper {
 public:
  Sleeper(const Iface& iface, const Endpoint& endpoint, int rounds, bool begins) : iface_(iface), endpoint_(endpoint), rounds_(rounds), begins_(begins) {
    EXPECT_EQ(uct_iface_set_am_handler(iface.iface, 3, &Sleeper::on_message, this, 0), UCS_OK);
    EXPECT_EQ(uct_iface_event_fd_get(iface.iface, &descriptor_), UCS_OK);
  }
  void run() {
    if (begins_) send();
    while (received_ < rounds_ && !has_failed_) {
      if (uct_worker_progress(iface_.worker) != 0) continue;
      if (uct_iface_event_arm(iface_.iface, UCT_EVENT_RECV | UCT_EVENT_SEND_COMP) != UCS_OK) continue;
      pollfd ready{.fd = descriptor_, .events = POLLIN, .revents = 0};
      has_failed_ = poll(&ready, 1, kLost) != 1;
    }
  }
  bool has_failed() const { return has_failed_; }

 private:
  static constexpr int kLost = 10000;  // ms; a wake-up that takes longer is none
  static ucs_status_t on_message(void* self, void*, size_t, unsigned) {
    auto* const sleeper = static_cast<Sleeper*>(self);
    ++sleeper->received_;
    if (sleeper->begins_ ? sleeper->received_ < sleeper->rounds_ : true) sleeper->send();
    return UCS_OK;
  }
  void send() { EXPECT_EQ(uct_ep_am_short(endpoint_.ep, 3, 0, nullptr, 0), UCS_OK); }
  const Iface& iface_;
  const Endpoint& endpoint_;
  const int rounds_;
  const bool begins_;
  int descriptor_ = -1;
  int received_ = 0;
  bool has_failed_ = false;
};

class ShortTick : public UctTest {
 protected:
  ShortTick() : UctTest({{"TICK", "1ms"}}) {}
};

TEST_F(ShortTick, SleepersThatExchangeMessagesLoseNoWakeUp) {
  constexpr int kRounds = 10000;
  Sleeper ping(a, ep_a, kRounds, true);
  Sleeper pong(b, ep_b, kRounds, false);
  std::thread peer([&] { pong.run(); });
  ping.run();
  peer.join();
  EXPECT_FALSE(ping.has_failed());
  EXPECT_FALSE(pong.has_failed());
}

// The timer takes the packet from the socket before anybody looks.
TEST_F(ShortTick, PacketThatTheTimerTookWakesTheSleeper) {
  EXPECT_EQ(uct_iface_set_am_handler(b.iface, 3, [](void*, void*, size_t, unsigned) { return UCS_OK; }, nullptr, 0), UCS_OK);
  int descriptor = -1;
  ASSERT_EQ(uct_iface_event_fd_get(b.iface, &descriptor), UCS_OK);
  while (uct_iface_event_arm(b.iface, UCT_EVENT_RECV) == UCS_ERR_BUSY) uct_worker_progress(b.worker);
  ASSERT_EQ(uct_ep_am_short(ep_a.ep, 3, 0, nullptr, 0), UCS_OK);
  Completion acknowledged;
  ASSERT_EQ(uct_ep_flush(ep_a.ep, 0, &acknowledged.uct), UCS_INPROGRESS);
  while (!acknowledged.is_done()) uct_worker_progress(a.worker);  // by b's timer: b does not progress
  pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ready, 1, 10000), 1);
  EXPECT_EQ(uct_iface_event_arm(b.iface, UCT_EVENT_RECV), UCS_ERR_BUSY);
  EXPECT_NE(uct_worker_progress(b.worker), 0u);
}

}  // namespace
}  // namespace ina::test
