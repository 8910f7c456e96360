// uct_ina_test.cpp: attributes, settings, addresses and counters of the transport.
#include "test/engine/uct_ina_fixture.hpp"

#include <string>
#include <vector>

namespace ina::test {
namespace {



TEST_F(UctTest, AttributesSayWhatTheTransportCan) {
  const std::uint64_t flags = UCT_IFACE_FLAG_CONNECT_TO_EP | UCT_IFACE_FLAG_CONNECT_TO_IFACE | UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY |
                              UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_GET_BCOPY | UCT_IFACE_FLAG_GET_ZCOPY | UCT_IFACE_FLAG_AM_SHORT |
                              UCT_IFACE_FLAG_AM_BCOPY | UCT_IFACE_FLAG_AM_ZCOPY | UCT_IFACE_FLAG_PENDING | UCT_IFACE_FLAG_ATOMIC_CPU;
  EXPECT_EQ(a.attr.cap.flags & flags, flags);
  EXPECT_EQ(a.attr.cap.put.align_mtu, 4096u);
  EXPECT_EQ(a.attr.cap.get.max_zcopy, a.attr.cap.put.max_zcopy);
  EXPECT_LE(a.attr.cap.am.max_hdr, a.attr.cap.am.max_zcopy);
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
}  // namespace ina::test
