// uct_ina_flow_test.cpp: order and flow of operations: flush, pending requests, errors.
#include "test/engine/uct_ina_fixture.hpp"

#include <string>
#include <vector>

namespace ina::test {
namespace {

TEST_F(UctTest, FlushCompletesAfterEverythingBeforeIt) {
  Memory source(domain, 1000);
  Memory target(domain, 1000);
  const uct_iov_t iov = source.iov(1000);
  Completion puts[10];
  for (Completion& put : puts) ASSERT_EQ(uct_ep_put_zcopy(ep_a.ep, &iov, 1, target.address(), target.rkey.rkey, &put.uct), UCS_INPROGRESS);
  Completion ep_flush;
  ASSERT_EQ(uct_ep_flush(ep_a.ep, 0, &ep_flush.uct), UCS_INPROGRESS);
  Completion iface_flush;
  ASSERT_EQ(uct_iface_flush(a.iface, 0, &iface_flush.uct), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return ep_flush.is_done() && iface_flush.is_done(); }));
  for (const Completion& put : puts) EXPECT_TRUE(put.is_done());
  EXPECT_EQ(uct_ep_flush(ep_a.ep, 0, nullptr), UCS_OK);
  EXPECT_EQ(uct_iface_flush(a.iface, 0, nullptr), UCS_OK);
}

TEST_F(UctTest, PendingRequestIsCalledWhenThereIsRoom) {
  Memory target(domain, 8);
  ucs_status_t status = UCS_OK;
  for (int i = 0; i < 10000 && status == UCS_OK; ++i) status = uct_ep_put_short(ep_a.ep, "12345678", 8, target.address(), target.rkey.rkey);
  ASSERT_EQ(status, UCS_ERR_NO_RESOURCE);
  struct Request {
    uct_pending_req_t uct;
    bool called;
  } request{};
  request.uct.func = [](uct_pending_req_t* self) -> ucs_status_t {
    reinterpret_cast<Request*>(self)->called = true;
    return UCS_OK;
  };
  ASSERT_EQ(uct_ep_pending_add(ep_a.ep, &request.uct, 0), UCS_OK);
  EXPECT_EQ(uct_ep_put_short(ep_a.ep, "12345678", 8, target.address(), target.rkey.rkey), UCS_ERR_NO_RESOURCE);  // not past those that wait
  ASSERT_TRUE(progress_until([&] { return request.called; }));
  ASSERT_TRUE(progress_until([&] { return uct_ep_flush(ep_a.ep, 0, nullptr) == UCS_OK; }));
  EXPECT_EQ(uct_ep_pending_add(ep_a.ep, &request.uct, 0), UCS_ERR_BUSY);
}

TEST_F(UctTest, ForeignRkeyFailsTheEndpointAndLeavesMemoryAlone) {
  Memory target(domain, 64);
  const auto before = target.bytes;
  ASSERT_EQ(uct_ep_put_short(ep_a.ep, "12345678", 8, target.address(), target.rkey.rkey ^ 0x1000000), UCS_OK);
  ASSERT_TRUE(progress_until([&] { return !a.errors.empty(); }));
  EXPECT_EQ(target.bytes, before);
  EXPECT_NE(uct_ep_put_short(ep_a.ep, "12345678", 8, target.address(), target.rkey.rkey), UCS_OK);
}

TEST_F(UctTest, CancelledFlushCompletesWithoutThePeer) {
  Memory source(domain, 64);
  ep_b.destroy();
  const uct_iov_t iov = source.iov(64);
  Completion put;
  ASSERT_EQ(uct_ep_put_zcopy(ep_a.ep, &iov, 1, source.address(), source.rkey.rkey, &put.uct), UCS_INPROGRESS);
  Completion flush;
  const ucs_status_t status = uct_ep_flush(ep_a.ep, UCT_FLUSH_FLAG_CANCEL, &flush.uct);
  ASSERT_EQ(status, UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return flush.is_done() && put.is_done(); }));
  EXPECT_EQ(put.uct.status, UCS_ERR_CANCELED);
  EXPECT_TRUE(a.errors.empty());
}

}  // namespace
}  // namespace ina::test
