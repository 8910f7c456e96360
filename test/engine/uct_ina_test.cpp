// uct_ina_test.cpp: the transport through UCX's public interface, over loopback, in one process.
#include <gtest/gtest.h>

#include <poll.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>
}

#include "ucx_tl/uct_ina_counters.h"

namespace {

// UCX's log goes to stdout; what a test provokes is expected there.
uct_component_h find_component() {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  EXPECT_EQ(uct_query_components(&components, &count), UCS_OK);
  uct_component_h found = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    uct_component_attr_t attr{};
    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
    EXPECT_EQ(uct_component_query(components[i], &attr), UCS_OK);
    if (std::strcmp(attr.name, "ina") == 0) found = components[i];
  }
  uct_release_component_list(components);
  return found;
}

class MemoryDomain {
 public:
  MemoryDomain() : component(find_component()) {
    uct_md_config_t* config = nullptr;
    EXPECT_EQ(uct_md_config_read(component, nullptr, nullptr, &config), UCS_OK);
    EXPECT_EQ(uct_md_open(component, "ina", config, &md), UCS_OK);
    uct_config_release(config);
  }
  ~MemoryDomain() { uct_md_close(md); }
  MemoryDomain(const MemoryDomain&) = delete;
  MemoryDomain& operator=(const MemoryDomain&) = delete;
  uct_component_h component;
  uct_md_h md = nullptr;
};

using Settings = std::vector<std::pair<const char*, const char*>>;

// A worker with one interface on lo.
class Iface {
 public:
  explicit Iface(const MemoryDomain& domain, const Settings& settings = {}) {
    EXPECT_EQ(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async), UCS_OK);
    EXPECT_EQ(uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker), UCS_OK);
    uct_iface_config_t* config = nullptr;
    EXPECT_EQ(uct_md_iface_config_read(domain.md, "ina", nullptr, nullptr, &config), UCS_OK);
    for (const auto& [name, value] : settings) EXPECT_EQ(uct_config_modify(config, name, value), UCS_OK) << name;
    uct_iface_params_t params{};
    params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE | UCT_IFACE_PARAM_FIELD_ERR_HANDLER | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG;
    params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name = "ina";
    params.mode.device.dev_name = "lo";
    params.err_handler = &Iface::on_error;
    params.err_handler_arg = this;
    status = uct_iface_open(domain.md, worker, &params, config, &iface);
    uct_config_release(config);
    if (status != UCS_OK) return;
    EXPECT_EQ(uct_iface_query(iface, &attr), UCS_OK);
    uct_iface_progress_enable(iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
  }
  ~Iface() {
    if (status == UCS_OK) uct_iface_close(iface);
    uct_worker_destroy(worker);
    ucs_async_context_destroy(async);
  }
  Iface(const Iface&) = delete;
  Iface& operator=(const Iface&) = delete;

  static ucs_status_t on_error(void* self, uct_ep_h, ucs_status_t error) {
    static_cast<Iface*>(self)->errors.push_back(error);
    return UCS_OK;
  }
  ucs_async_context_t* async = nullptr;
  uct_worker_h worker = nullptr;
  uct_iface_h iface = nullptr;
  uct_iface_attr_t attr{};
  ucs_status_t status = UCS_OK;
  std::vector<ucs_status_t> errors;
};

struct Completion {
  Completion() {
    uct.func = [](uct_completion_t*) {};
    uct.count = 1;
    uct.status = UCS_OK;
  }
  bool is_done() const { return uct.count == 0; }
  uct_completion_t uct;
};

class Endpoint {
 public:
  explicit Endpoint(const Iface& owner) : iface(owner) {
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
    params.iface = owner.iface;
    EXPECT_EQ(uct_ep_create(&params, &ep), UCS_OK);
  }
  ~Endpoint() {
    if (ep != nullptr) uct_ep_destroy(ep);
  }
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ucs_status_t connect(const Endpoint& peer) {
    std::vector<char> device(peer.iface.attr.device_addr_len);
    std::vector<char> address(peer.iface.attr.ep_addr_len);
    EXPECT_EQ(uct_iface_get_device_address(peer.iface.iface, reinterpret_cast<uct_device_addr_t*>(device.data())), UCS_OK);
    EXPECT_EQ(uct_ep_get_address(peer.ep, reinterpret_cast<uct_ep_addr_t*>(address.data())), UCS_OK);
    EXPECT_TRUE(uct_iface_is_reachable(iface.iface, reinterpret_cast<uct_device_addr_t*>(device.data()), nullptr));
    return uct_ep_connect_to_ep(ep, reinterpret_cast<uct_device_addr_t*>(device.data()), reinterpret_cast<uct_ep_addr_t*>(address.data()));
  }
  void destroy() {
    uct_ep_destroy(ep);
    ep = nullptr;
  }
  const Iface& iface;
  uct_ep_h ep = nullptr;
};

class Memory {
 public:
  Memory(const MemoryDomain& owner, std::size_t length) : domain(owner), bytes(length) {
    EXPECT_EQ(uct_md_mem_reg(domain.md, bytes.data(), length, UCT_MD_MEM_ACCESS_ALL, &memh), UCS_OK);
    std::vector<char> packed(64);
    EXPECT_EQ(uct_md_mkey_pack(domain.md, memh, packed.data()), UCS_OK);
    EXPECT_EQ(uct_rkey_unpack(domain.component, packed.data(), &rkey), UCS_OK);
  }
  ~Memory() {
    uct_rkey_release(domain.component, &rkey);
    uct_md_mem_dereg(domain.md, memh);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::uint64_t address(std::size_t offset = 0) const { return reinterpret_cast<std::uintptr_t>(bytes.data()) + offset; }
  uct_iov_t iov(std::size_t length) const { return {.buffer = const_cast<char*>(bytes.data()), .length = length, .memh = memh, .stride = 0, .count = 1}; }
  const MemoryDomain& domain;
  std::vector<char> bytes;
  uct_mem_h memh = nullptr;
  uct_rkey_bundle_t rkey{};
};

class UctTest : public testing::Test {
 protected:
  explicit UctTest(const Settings& settings = {}) : a(domain, settings), b(domain, settings), ep_a(a), ep_b(b) {
    EXPECT_EQ(ep_a.connect(ep_b), UCS_OK);
    EXPECT_EQ(ep_b.connect(ep_a), UCS_OK);
  }
  // Progresses both sides until the fact is true.
  template <typename Fact>
  bool progress_until(Fact fact) {
    for (std::uint64_t i = 0; i < 20000000; ++i) {
      if (fact()) return true;
      uct_worker_progress(a.worker);
      uct_worker_progress(b.worker);
    }
    return fact();
  }
  MemoryDomain domain;
  Iface a;
  Iface b;
  Endpoint ep_a;
  Endpoint ep_b;
};

TEST_F(UctTest, AttributesSayWhatTheTransportCan) {
  EXPECT_NE(a.attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_EP, 0u);
  EXPECT_NE(a.attr.cap.flags & UCT_IFACE_FLAG_PUT_ZCOPY, 0u);
  EXPECT_EQ(a.attr.cap.put.align_mtu, 4096u);
}

TEST_F(UctTest, PutZcopyArrivesAndCompletesOnce) {
  Memory source(domain, 100000);
  Memory target(domain, 100000);
  for (std::size_t i = 0; i < source.bytes.size(); ++i) source.bytes[i] = static_cast<char>(i * 7);
  Completion completion;
  const uct_iov_t iov = source.iov(source.bytes.size());
  ASSERT_EQ(uct_ep_put_zcopy(ep_a.ep, &iov, 1, target.address(), target.rkey.rkey, &completion.uct), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return completion.is_done(); }));
  EXPECT_EQ(completion.uct.status, UCS_OK);
  EXPECT_EQ(source.bytes, target.bytes);
}

TEST_F(UctTest, PutShortAndBcopyArrive) {
  Memory target(domain, 256);
  ASSERT_EQ(uct_ep_put_short(ep_a.ep, "short", 5, target.address(), target.rkey.rkey), UCS_OK);
  const auto pack = [](void* to, void* arg) -> std::size_t {
    std::memcpy(to, arg, 6);
    return 6;
  };
  char text[] = "copied";
  ASSERT_EQ(uct_ep_put_bcopy(ep_a.ep, pack, text, target.address(100), target.rkey.rkey), 6);
  ASSERT_TRUE(progress_until([&] { return uct_ep_flush(ep_a.ep, 0, nullptr) == UCS_OK; }));
  EXPECT_EQ(std::string(target.bytes.data()), "short");
  EXPECT_EQ(std::string(target.bytes.data() + 100), "copied");
}

TEST_F(UctTest, ActiveMessagesReachTheirHandlerInOrder) {
  std::vector<std::string> received;
  const auto handler = [](void* arg, void* data, size_t length, unsigned) -> ucs_status_t {
    static_cast<std::vector<std::string>*>(arg)->emplace_back(static_cast<char*>(data), length);
    return UCS_OK;
  };
  ASSERT_EQ(uct_iface_set_am_handler(b.iface, 3, handler, &received, 0), UCS_OK);
  ASSERT_EQ(uct_ep_am_short(ep_a.ep, 3, 0x4142434445464748, "tail", 4), UCS_OK);
  std::string text(6000, 'x');
  const auto pack = [](void* to, void* arg) -> std::size_t {
    const auto& from = *static_cast<std::string*>(arg);
    std::memcpy(to, from.data(), from.size());
    return from.size();
  };
  ASSERT_EQ(uct_ep_am_bcopy(ep_a.ep, 3, pack, &text, 0), 6000);
  const uct_iov_t iov[2] = {{.buffer = text.data(), .length = 2, .memh = nullptr, .stride = 0, .count = 1}, {.buffer = text.data(), .length = 3, .memh = nullptr, .stride = 0, .count = 1}};
  ASSERT_EQ(uct_ep_am_short_iov(ep_a.ep, 3, iov, 2), UCS_OK);
  ASSERT_TRUE(progress_until([&] { return received.size() == 3; }));
  EXPECT_EQ(received[0], "HGFEDCBAtail");
  EXPECT_EQ(received[1], text);
  EXPECT_EQ(received[2], "xxxxx");
}

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

TEST_F(UctTest, CountersOfTheProcessGrow) {
  uct_ina_counters_t before;
  uct_ina_query_counters(&before);
  Memory target(domain, 64);
  ASSERT_EQ(uct_ep_put_short(ep_a.ep, "12345678", 8, target.address(), target.rkey.rkey), UCS_OK);
  ASSERT_TRUE(progress_until([&] { return uct_ep_flush(ep_a.ep, 0, nullptr) == UCS_OK; }));
  uct_ina_counters_t after;
  uct_ina_query_counters(&after);
  EXPECT_GE(after.packets_sent, before.packets_sent + 2);
  EXPECT_GE(after.bytes_received, before.bytes_received + 8);
}

class ShortRetries : public UctTest {
 protected:
  ShortRetries() : UctTest({{"RETRY_COUNT", "3"}, {"RTO_MAX", "5ms"}}) {}
};

TEST_F(ShortRetries, PeerThatIsGoneFailsTheEndpoint) {
  Memory source(domain, 64);
  ep_b.destroy();
  const uct_iov_t iov = source.iov(64);
  Completion put;
  ASSERT_EQ(uct_ep_put_zcopy(ep_a.ep, &iov, 1, source.address(), source.rkey.rkey, &put.uct), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return put.is_done() && !a.errors.empty(); }));
  EXPECT_EQ(put.uct.status, UCS_ERR_ENDPOINT_TIMEOUT);
  EXPECT_EQ(a.errors, std::vector<ucs_status_t>{UCS_ERR_ENDPOINT_TIMEOUT});
}

TEST(UctSettings, WrongOnesAreRefused) {
  MemoryDomain domain;
  const Settings wrong = {{"MTU", "100"}, {"MTU", "1001"}, {"MTU", "8192"}, {"SEG_SIZE", "1"}, {"WINDOW", "1"}, {"RTO_MIN", "0"}, {"RTO_MAX", "1us"},
                          {"RELAY", "nonsense"}, {"RELAY", "127.0.0.1:0"}, {"RELAY", "127.0.0.1:99999"}, {"TICK", "1000"}};
  for (const auto& setting : wrong) {
    const Iface iface(domain, {setting});
    EXPECT_EQ(iface.status, UCS_ERR_INVALID_PARAM) << setting.first << " = " << setting.second;
  }
}

TEST(UctSettings, RelayThatDoesNotAnswerIsGivenUpInTime) {
  MemoryDomain domain;
  const Iface iface(domain, {{"RELAY", "127.0.0.1:9"}, {"RELAY_TIMEOUT", "50ms"}});
  EXPECT_EQ(iface.status, UCS_ERR_UNREACHABLE);
}

TEST(UctSettings, MtuIsWhatTheUserSets) {
  MemoryDomain domain;
  const Iface iface(domain, {{"MTU", "1024"}});
  ASSERT_EQ(iface.status, UCS_OK);
  EXPECT_EQ(iface.attr.cap.put.align_mtu, 1024u);
}

TEST(UctAddresses, OnesThatMakeNoSenseAreRefused) {
  MemoryDomain domain;
  const Iface iface(domain);
  const Endpoint endpoint(iface);
  std::vector<char> device(iface.attr.device_addr_len);
  const std::vector<char> address(iface.attr.ep_addr_len);
  const auto* const device_address = reinterpret_cast<const uct_device_addr_t*>(device.data());
  const auto* const ep_address = reinterpret_cast<const uct_ep_addr_t*>(address.data());
  EXPECT_FALSE(uct_iface_is_reachable(iface.iface, device_address, nullptr));
  EXPECT_EQ(uct_ep_connect_to_ep(endpoint.ep, device_address, ep_address), UCS_ERR_INVALID_ADDR);
  ASSERT_EQ(uct_iface_get_device_address(iface.iface, reinterpret_cast<uct_device_addr_t*>(device.data())), UCS_OK);
  EXPECT_EQ(uct_ep_connect_to_ep(endpoint.ep, device_address, ep_address), UCS_ERR_INVALID_ADDR);
}

}  // namespace
