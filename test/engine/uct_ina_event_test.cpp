// uct_ina_event_test.cpp: sleeping until there is something to do, and the timer.
#include "test/engine/uct_ina_fixture.hpp"

#include <poll.h>

#include <string>
#include <vector>

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

}  // namespace
}  // namespace ina::test
