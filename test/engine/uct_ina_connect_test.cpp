// uct_ina_connect_test.cpp: endpoints that are connected to an interface, endpoint checks, and children of the process.
#include "test/engine/uct_ina_fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace ina::test {
namespace {

constexpr std::uint8_t kAmId = 3;

class InBandTest : public testing::Test {
 protected:
  explicit InBandTest(const Settings& settings = {}) : a(domain, settings), b(std::make_unique<Iface>(domain, settings)) { count_on(*b); }
  void count_on(const Iface& iface) {
    EXPECT_EQ(uct_iface_set_am_handler(iface.iface, kAmId, [](void* count, void*, size_t, unsigned) {
      ++*static_cast<int*>(count);
      return UCS_OK;
    }, &received, 0), UCS_OK);
  }
  template <typename Fact>
  bool progress_until(Fact fact) {
    for (std::uint64_t i = 0; i < 20000000; ++i) {
      if (fact()) return true;
      uct_worker_progress(a.worker);
      if (b != nullptr) uct_worker_progress(b->worker);
    }
    return fact();
  }
  ucs_status_t send(const Endpoint& endpoint) { return uct_ep_am_short(endpoint.ep, kAmId, 0, "hello", 5); }
  bool transfers(const Endpoint& endpoint) {
    const int before = received;
    return progress_until([&] { return send(endpoint) != UCS_ERR_NO_RESOURCE; }) && progress_until([&] { return received == before + 1; });
  }

  MemoryDomain domain;
  Iface a;
  std::unique_ptr<Iface> b;
  int received = 0;
};

TEST_F(InBandTest, InterfaceSaysThatItCanBeConnectedTo) {
  EXPECT_NE(a.attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE, 0u);
  EXPECT_NE(a.attr.cap.flags & UCT_IFACE_FLAG_EP_CHECK, 0u);
  EXPECT_EQ(a.attr.cap.flags & UCT_IFACE_FLAG_EP_KEEPALIVE, 0u);
  EXPECT_EQ(a.attr.iface_addr_len, 8u);
}

TEST_F(InBandTest, MessagesWaitForTheConnectionAndArrive) {
  const Endpoint to_b(a, *b);
  EXPECT_EQ(send(to_b), UCS_ERR_NO_RESOURCE);
  EXPECT_TRUE(transfers(to_b));
  EXPECT_TRUE(progress_until([&] { return uct_ep_flush(to_b.ep, 0, nullptr) == UCS_OK; }));
}

TEST_F(InBandTest, WritesToAndReadsFromMemoryOfThePeerWork) {
  const Endpoint to_b(a, *b);
  Memory source(domain, 100000);
  Memory target(domain, 100000);
  source.bytes.assign(source.bytes.size(), 'x');
  const uct_iov_t iov = source.iov(source.bytes.size());
  Completion put;
  ASSERT_TRUE(progress_until([&] { return uct_ep_put_zcopy(to_b.ep, &iov, 1, target.address(), target.rkey.rkey, &put.uct) == UCS_INPROGRESS; }));
  ASSERT_TRUE(progress_until([&] { return put.is_done(); }));
  EXPECT_EQ(source.bytes, target.bytes);
}

TEST_F(InBandTest, PendingRequestIsCalledOnceConnected) {
  struct Request {
    uct_pending_req_t uct;
    InBandTest* test;
    const Endpoint* endpoint;
    ucs_status_t status;
  };
  const Endpoint to_b(a, *b);
  Request request{};
  request.endpoint = &to_b;
  request.status = UCS_INPROGRESS;
  request.uct.func = [](uct_pending_req_t* self) -> ucs_status_t {
    auto* const own = reinterpret_cast<Request*>(self);
    return own->status = uct_ep_am_short(own->endpoint->ep, kAmId, 0, nullptr, 0);
  };
  ASSERT_EQ(uct_ep_pending_add(to_b.ep, &request.uct, 0), UCS_OK);
  EXPECT_EQ(uct_ep_flush(to_b.ep, 0, nullptr), UCS_ERR_NO_RESOURCE);  // not past those that wait
  ASSERT_TRUE(progress_until([&] { return received == 1; }));
  EXPECT_EQ(request.status, UCS_OK);
}

TEST_F(InBandTest, InterfaceConnectsToItselfAndTwiceToAPeer) {
  count_on(a);
  const Endpoint own(a, a);
  const Endpoint first(a, *b);
  const Endpoint second(a, *b);
  const Endpoint back(*b, a);
  for (const Endpoint* endpoint : {&own, &first, &second, &back}) EXPECT_TRUE(transfers(*endpoint));
}

TEST_F(InBandTest, EndpointsComeAndGoInEveryState) {
  for (int i = 0; i < 200; ++i) {
    const Endpoint to_b(a, *b);
    for (int j = 0; j < i % 7; ++j) {
      (void)send(to_b);
      uct_worker_progress(a.worker);
      uct_worker_progress(b->worker);
    }
  }
  const Endpoint to_b(a, *b);
  received = 0;
  EXPECT_TRUE(progress_until([&] { return send(to_b) == UCS_OK; }));
}

TEST_F(InBandTest, CheckOfALivePeerCompletes) {
  const Endpoint to_b(a, *b);
  Completion while_connecting;
  ASSERT_EQ(uct_ep_check(to_b.ep, 0, &while_connecting.uct), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return while_connecting.is_done(); }));
  Completion idle;
  ASSERT_EQ(uct_ep_check(to_b.ep, 0, &idle.uct), UCS_INPROGRESS);
  Completion busy;
  ASSERT_EQ(uct_ep_check(to_b.ep, 0, &busy.uct), UCS_INPROGRESS);
  EXPECT_EQ(uct_ep_check(to_b.ep, 0, nullptr), UCS_OK);
  ASSERT_TRUE(progress_until([&] { return idle.is_done() && busy.is_done(); }));
  EXPECT_EQ(while_connecting.uct.status, UCS_OK);
  EXPECT_EQ(idle.uct.status, UCS_OK);
  EXPECT_EQ(busy.uct.status, UCS_OK);
}

TEST_F(InBandTest, PeerThatClosesFailsTheEndpointWithEverythingOnIt) {
  const Endpoint to_b(a, *b);
  ASSERT_TRUE(transfers(to_b));
  b.reset();
  ASSERT_TRUE(progress_until([&] { return !a.errors.empty(); }));
  EXPECT_EQ(a.errors, std::vector<ucs_status_t>{UCS_ERR_CONNECTION_RESET});
  EXPECT_EQ(send(to_b), UCS_ERR_CONNECTION_RESET);
  Completion check;
  EXPECT_EQ(uct_ep_check(to_b.ep, 0, &check.uct), UCS_ERR_CONNECTION_RESET);
}

TEST_F(InBandTest, AddressesThatMakeNoSenseAreRefused) {
  const std::vector<char> device = Endpoint::device_address(*b);
  const std::vector<char> address = Endpoint::iface_address(*b);
  EXPECT_EQ(Endpoint(a, std::vector<char>(device.size()), address).status, UCS_ERR_INVALID_ADDR);
  EXPECT_EQ(Endpoint(a, device, std::vector<char>(address.size())).status, UCS_ERR_INVALID_ADDR);
  uct_ep_params_t half{};
  half.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR;
  half.iface = a.iface;
  half.dev_addr = reinterpret_cast<const uct_device_addr_t*>(device.data());
  uct_ep_h ep = nullptr;
  EXPECT_EQ(uct_ep_create(&half, &ep), UCS_ERR_INVALID_PARAM);
}

TEST_F(InBandTest, EarlierInterfaceAtTheAddressIsNotMistaken) {
  const std::vector<char> device = Endpoint::device_address(*b);
  std::vector<char> address = Endpoint::iface_address(*b);
  address.back() ^= 1;  // another instance
  const Endpoint stale(a, device, address);
  ASSERT_EQ(stale.status, UCS_OK);
  ASSERT_TRUE(progress_until([&] { return !a.errors.empty(); }));
  EXPECT_EQ(a.errors, std::vector<ucs_status_t>{UCS_ERR_REJECTED});
}

class Impatient : public InBandTest {
 protected:
  Impatient() : InBandTest({{"CONNECT_TIMEOUT", "50ms"}, {"KEEPALIVE", "20ms"}, {"RETRY_COUNT", "3"}, {"RTO_MAX", "5ms"}}) {}
};

TEST_F(Impatient, ConnectionThatNobodyAnswersFailsWithWhatWaitsForIt) {
  std::vector<char> device = Endpoint::device_address(*b);
  const std::vector<char> address = Endpoint::iface_address(*b);
  device[2] = 0;
  device[3] = 9;  // nobody's port
  const Endpoint nowhere(a, device, address);
  ASSERT_EQ(nowhere.status, UCS_OK);
  Completion check;
  ASSERT_EQ(uct_ep_check(nowhere.ep, 0, &check.uct), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return !a.errors.empty() && check.is_done(); }));
  EXPECT_EQ(a.errors, std::vector<ucs_status_t>{UCS_ERR_UNREACHABLE});
  EXPECT_EQ(check.uct.status, UCS_ERR_UNREACHABLE);
  EXPECT_EQ(send(nowhere), UCS_ERR_UNREACHABLE);
}

TEST_F(Impatient, KeepaliveThatIsSetIsForConnectedEndpointsToo) {
  EXPECT_NE(a.attr.cap.flags & UCT_IFACE_FLAG_EP_KEEPALIVE, 0u);
  Endpoint mine(a);
  Endpoint others(*b);
  ASSERT_EQ(mine.connect(others), UCS_OK);
  ASSERT_EQ(others.connect(mine), UCS_OK);
  others.destroy();  // a knows nothing of it, and sends nothing
  ASSERT_TRUE(progress_until([&] { return !a.errors.empty(); }));
  EXPECT_EQ(a.errors, std::vector<ucs_status_t>{UCS_ERR_ENDPOINT_TIMEOUT});
}

// What a child finds: its parent's interface does nothing, and going away tells nobody.
int use_in_child(Iface& iface, const Endpoint& endpoint, Endpoint& other) {
  int wrong = 0;
  for (int i = 0; i < 1000; ++i) wrong += uct_worker_progress(iface.worker) != 0;
  wrong += uct_ep_am_short(endpoint.ep, kAmId, 0, nullptr, 0) == UCS_OK;
  wrong += uct_ep_check(endpoint.ep, 0, nullptr) == UCS_OK;
  const std::vector<char> address = Endpoint::iface_address(iface);
  wrong += Endpoint(iface, Endpoint::device_address(iface), address).status == UCS_OK;
  uct_ep_destroy(endpoint.ep);
  other.destroy();
  uct_iface_close(iface.iface);
  return wrong;
}

TEST_F(InBandTest, ChildLeavesTheConnectionsOfItsParentAlone) {
  const Endpoint to_b(a, *b);
  Endpoint own(a, a);
  count_on(a);
  ASSERT_TRUE(transfers(to_b));
  ASSERT_TRUE(transfers(own));
  ASSERT_EQ(send(to_b), UCS_OK);  // under way
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(use_in_child(a, to_b, own));
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_TRUE(WIFEXITED(result)) << result;
  EXPECT_EQ(WEXITSTATUS(result), 0);
  EXPECT_TRUE(progress_until([&] { return received == 3; }));
  EXPECT_TRUE(transfers(to_b));
  EXPECT_TRUE(transfers(own));
  EXPECT_TRUE(a.errors.empty());
}

}  // namespace
}  // namespace ina::test
