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

// A request that sends one active message (with the endpoint's number) each time it is called, until `left` is 0.
struct Sender {
  uct_pending_req_t uct;
  uct_ep_h ep;
  std::uint64_t number;
  std::vector<std::uint64_t>* order;
};

ucs_status_t send_one(uct_pending_req_t* self) {
  auto* const sender = reinterpret_cast<Sender*>(self);
  const ucs_status_t status = uct_ep_am_short(sender->ep, 3, sender->number, nullptr, 0);
  if (status == UCS_OK) sender->order->push_back(sender->number);
  return status;
}

void fill(uct_ep_h ep) {
  while (uct_ep_am_short(ep, 3, 0, nullptr, 0) == UCS_OK) {}
}

ucs_status_t ignore_message(void*, void*, size_t, unsigned) { return UCS_OK; }

TEST_F(UctTest, EndpointsWithPendingRequestsTakeTurns) {
  ASSERT_EQ(uct_iface_set_am_handler(b.iface, 3, ignore_message, nullptr, 0), UCS_OK);
  Endpoint other_a(a);
  Endpoint other_b(b);
  ASSERT_EQ(other_a.connect(other_b), UCS_OK);
  ASSERT_EQ(other_b.connect(other_a), UCS_OK);
  fill(ep_a.ep);  // no buffer is left for either of them
  std::vector<std::uint64_t> order;
  std::vector<Sender> greedy(1000, Sender{.uct = {.func = send_one, .priv = {}}, .ep = ep_a.ep, .number = 1, .order = &order});
  for (Sender& sender : greedy) ASSERT_EQ(uct_ep_pending_add(ep_a.ep, &sender.uct, 0), UCS_OK);
  std::vector<Sender> modest(10, Sender{.uct = {.func = send_one, .priv = {}}, .ep = other_a.ep, .number = 2, .order = &order});
  for (Sender& sender : modest) ASSERT_EQ(uct_ep_pending_add(other_a.ep, &sender.uct, 0), UCS_OK);
  ASSERT_TRUE(progress_until([&] { return order.size() == 1010; }));
  std::size_t last = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] == 2) last = i;
  }
  EXPECT_LT(last, 40u);
}

TEST_F(UctTest, PendingRequestsThatAreTakenAwayAreNotCalled) {
  ASSERT_EQ(uct_iface_set_am_handler(b.iface, 3, ignore_message, nullptr, 0), UCS_OK);
  fill(ep_a.ep);
  std::vector<std::uint64_t> order;
  std::vector<Sender> senders(3, Sender{.uct = {.func = send_one, .priv = {}}, .ep = ep_a.ep, .number = 1, .order = &order});
  for (Sender& sender : senders) ASSERT_EQ(uct_ep_pending_add(ep_a.ep, &sender.uct, 0), UCS_OK);
  std::vector<uct_pending_req_t*> purged;
  const auto purge = [](uct_pending_req_t* request, void* arg) { static_cast<std::vector<uct_pending_req_t*>*>(arg)->push_back(request); };
  uct_ep_pending_purge(ep_a.ep, purge, &purged);
  EXPECT_EQ(purged, (std::vector<uct_pending_req_t*>{&senders[0].uct, &senders[1].uct, &senders[2].uct}));
  ASSERT_TRUE(progress_until([&] { return uct_ep_flush(ep_a.ep, 0, nullptr) == UCS_OK; }));
  EXPECT_TRUE(order.empty());
}

TEST_F(UctTest, RequestThatIsToldNotToWaitCanSendAtOnce) {
  ASSERT_EQ(uct_iface_set_am_handler(b.iface, 3, ignore_message, nullptr, 0), UCS_OK);
  Sender sender{.uct = {.func = send_one, .priv = {}}, .ep = ep_a.ep, .number = 1, .order = nullptr};
  for (int i = 0; i < 1000; ++i) {
    const ucs_status_t status = uct_ep_pending_add(ep_a.ep, &sender.uct, 0);
    if (status == UCS_OK) break;
    ASSERT_EQ(status, UCS_ERR_BUSY);
    ASSERT_EQ(uct_ep_am_short(ep_a.ep, 3, 0, nullptr, 0), UCS_OK);  // and so could an operation of any other kind
  }
  uct_ep_pending_purge(ep_a.ep, [](uct_pending_req_t*, void*) {}, nullptr);
}

TEST_F(UctTest, RequestMayAddRequestsAndDestroyItsEndpoint) {
  ASSERT_EQ(uct_iface_set_am_handler(b.iface, 3, ignore_message, nullptr, 0), UCS_OK);
  struct Request {
    uct_pending_req_t uct;
    Endpoint* endpoint;
    Request* next;
    int calls;
  };
  const auto destroy = [](uct_pending_req_t* self) -> ucs_status_t {
    auto* const request = reinterpret_cast<Request*>(self);
    ++request->calls;
    request->endpoint->destroy();
    return UCS_OK;
  };
  const auto add_next = [](uct_pending_req_t* self) -> ucs_status_t {
    auto* const request = reinterpret_cast<Request*>(self);
    ++request->calls;
    fill(request->endpoint->ep);
    EXPECT_EQ(uct_ep_pending_add(request->endpoint->ep, &request->next->uct, 0), UCS_OK);
    uct_worker_progress(request->endpoint->iface.worker);  // within a request: nothing else is called
    EXPECT_EQ(request->next->calls, 0);
    return UCS_OK;
  };
  Request second{.uct = {.func = destroy, .priv = {}}, .endpoint = &ep_a, .next = nullptr, .calls = 0};
  Request first{.uct = {.func = add_next, .priv = {}}, .endpoint = &ep_a, .next = &second, .calls = 0};
  fill(ep_a.ep);
  ASSERT_EQ(uct_ep_pending_add(ep_a.ep, &first.uct, 0), UCS_OK);
  ASSERT_TRUE(progress_until([&] { return second.calls == 1; }));
  EXPECT_EQ(first.calls, 1);
}

TEST_F(UctTest, CompletionMayDestroyItsEndpoint) {
  Memory source(domain, 64);
  struct Destroying : Completion {
    explicit Destroying(Endpoint& which) : endpoint(which) {
      uct.func = [](uct_completion_t* self) {
        static_assert(offsetof(Completion, uct) == 0);
        static_cast<Destroying*>(reinterpret_cast<Completion*>(self))->endpoint.destroy();
      };
    }
    Endpoint& endpoint;
  } first(ep_a);
  Completion second;
  const uct_iov_t iov = source.iov(64);
  ASSERT_EQ(uct_ep_put_zcopy(ep_a.ep, &iov, 1, source.address(), source.rkey.rkey, &first.uct), UCS_INPROGRESS);
  ASSERT_EQ(uct_ep_put_zcopy(ep_a.ep, &iov, 1, source.address(), source.rkey.rkey, &second.uct), UCS_INPROGRESS);
  Completion flush;
  ASSERT_EQ(uct_iface_flush(a.iface, 0, &flush.uct), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return first.is_done() && second.is_done() && flush.is_done(); }));
}

TEST_F(UctTest, OperationsOfADestroyedEndpointComplete) {
  Memory source(domain, 64);
  const uct_iov_t iov = source.iov(64);
  Completion put;
  Completion ep_flush;
  Completion iface_flush;
  ASSERT_EQ(uct_ep_put_zcopy(ep_a.ep, &iov, 1, source.address(), source.rkey.rkey, &put.uct), UCS_INPROGRESS);
  ASSERT_EQ(uct_ep_flush(ep_a.ep, 0, &ep_flush.uct), UCS_INPROGRESS);
  ASSERT_EQ(uct_iface_flush(a.iface, 0, &iface_flush.uct), UCS_INPROGRESS);
  ep_a.destroy();
  for (const Completion* completion : {&put, &ep_flush, &iface_flush}) {
    EXPECT_TRUE(completion->is_done());
    EXPECT_EQ(completion->uct.status, UCS_ERR_CANCELED);
  }
  EXPECT_TRUE(a.errors.empty());
}

TEST_F(UctTest, FlushOfAFailedEndpointTellsSo) {
  Memory target(domain, 64);
  ASSERT_EQ(uct_ep_put_short(ep_a.ep, "12345678", 8, target.address(), 1), UCS_OK);
  Completion flush;
  ASSERT_EQ(uct_ep_flush(ep_a.ep, 0, &flush.uct), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return flush.is_done() && !a.errors.empty(); }));
  EXPECT_EQ(flush.uct.status, a.errors[0]);
  EXPECT_EQ(uct_ep_flush(ep_a.ep, 0, nullptr), a.errors[0]);
  EXPECT_EQ(uct_ep_flush(ep_a.ep, UCT_FLUSH_FLAG_CANCEL, nullptr), UCS_OK);
  std::vector<std::uint64_t> order;
  Sender sender{.uct = {.func = send_one, .priv = {}}, .ep = ep_a.ep, .number = 1, .order = &order};
  EXPECT_EQ(uct_ep_pending_add(ep_a.ep, &sender.uct, 0), UCS_ERR_BUSY);  // to be tried again, and told of the error
  EXPECT_EQ(uct_ep_am_short(ep_a.ep, 3, 0, nullptr, 0), a.errors[0]);
}

// Without the fence a GET whose answer was lost would be answered again, from what was written meanwhile.
TEST_F(UctTest, FenceHoldsBackAPutBehindAGet) {
  Memory remote(domain, 8);
  Memory local(domain, 8);
  std::memcpy(remote.bytes.data(), "previous", 8);
  const uct_iov_t iov = local.iov(8);
  Completion get;
  ASSERT_EQ(uct_ep_get_zcopy(ep_a.ep, &iov, 1, remote.address(), remote.rkey.rkey, &get.uct), UCS_INPROGRESS);
  ASSERT_EQ(uct_ep_fence(ep_a.ep, 0), UCS_OK);
  ASSERT_EQ(uct_ep_put_short(ep_a.ep, "replaced", 8, remote.address(), remote.rkey.rkey), UCS_OK);
  while (!get.is_done()) {
    EXPECT_EQ(std::string(remote.bytes.data(), 8), "previous");
    uct_worker_progress(b.worker);
    uct_worker_progress(a.worker);
  }
  ASSERT_EQ(uct_iface_fence(a.iface, 0), UCS_OK);
  ASSERT_TRUE(progress_until([&] { return uct_ep_flush(ep_a.ep, 0, nullptr) == UCS_OK; }));
  EXPECT_EQ(std::string(local.bytes.data(), 8), "previous");
  EXPECT_EQ(std::string(remote.bytes.data(), 8), "replaced");
}

}  // namespace
}  // namespace ina::test
