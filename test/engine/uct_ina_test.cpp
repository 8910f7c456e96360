// uct_ina_test.cpp: attributes, settings, addresses and counters of the transport.
#include "test/engine/uct_ina_fixture.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace ina::test {
namespace {



TEST_F(UctTest, AttributesSayWhatTheTransportCan) {
  const std::uint64_t flags = UCT_IFACE_FLAG_CONNECT_TO_EP | UCT_IFACE_FLAG_CONNECT_TO_IFACE | UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY |
                              UCT_IFACE_FLAG_PUT_ZCOPY | UCT_IFACE_FLAG_GET_BCOPY | UCT_IFACE_FLAG_GET_ZCOPY | UCT_IFACE_FLAG_AM_SHORT |
                              UCT_IFACE_FLAG_AM_BCOPY | UCT_IFACE_FLAG_AM_ZCOPY | UCT_IFACE_FLAG_PENDING | UCT_IFACE_FLAG_ATOMIC_CPU;
  EXPECT_EQ(a.attr.cap.flags & flags, flags);
  EXPECT_EQ(a.attr.cap.put.align_mtu, 8960u);
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
  const Settings wrong = {{"MTU", "100"}, {"MTU", "1001"}, {"MTU", "9000"}, {"SEG_SIZE", "1"}, {"WINDOW", "1"}, {"RTO_MIN", "0"}, {"RTO_MAX", "1us"},
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

std::vector<char> device_address(const Iface& iface) {
  std::vector<char> address(iface.attr.device_addr_len);
  EXPECT_EQ(uct_iface_get_device_address(iface.iface, reinterpret_cast<uct_device_addr_t*>(address.data())), UCS_OK);
  return address;
}

bool is_reachable(const Iface& from, const std::vector<char>& address) {
  return uct_iface_is_reachable(from.iface, reinterpret_cast<const uct_device_addr_t*>(address.data()), nullptr) != 0;
}

TEST(UctAddresses, LoopbackOfAnotherHostIsNotReachable) {
  MemoryDomain domain;
  const Iface iface(domain);
  std::vector<char> address = device_address(iface);
  EXPECT_TRUE(is_reachable(iface, address));
  address[27] = static_cast<char>(address[27] ^ 1);
  EXPECT_FALSE(is_reachable(iface, address));
}

bool has_ipv6() {
  const int descriptor = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const bool bound = descriptor >= 0 && bind(descriptor, reinterpret_cast<const sockaddr*>(&loopback), sizeof loopback) == 0;
  if (descriptor >= 0) close(descriptor);
  return bound;
}

class Ipv6 : public UctTest {
 protected:
  Ipv6() : UctTest({{"IP_VERSION", has_ipv6() ? "6" : "auto"}}) {}
  void SetUp() override {
    if (!has_ipv6()) GTEST_SKIP() << "no IPv6 on this host";
  }
};

TEST_F(Ipv6, MessagesArrive) {
  Memory target(domain, 8192);
  Memory source(domain, 8192);
  source.bytes.assign(8192, 'x');
  const uct_iov_t iov = source.iov(8192);
  Completion put;
  ASSERT_EQ(uct_ep_put_zcopy(ep_a.ep, &iov, 1, target.address(), target.rkey.rkey, &put.uct), UCS_INPROGRESS);
  ASSERT_TRUE(progress_until([&] { return put.is_done(); }));
  EXPECT_EQ(put.uct.status, UCS_OK);
  EXPECT_EQ(target.bytes, source.bytes);
}

TEST_F(Ipv6, OtherFamilyIsNotReachable) {
  const Iface ipv4(domain, {{"IP_VERSION", "4"}});
  ASSERT_EQ(ipv4.status, UCS_OK);
  EXPECT_FALSE(is_reachable(ipv4, device_address(a)));
  EXPECT_FALSE(is_reachable(a, device_address(ipv4)));
}

TEST(UctAddresses, PeerThatTakesShorterMessagesIsRefused) {
  MemoryDomain domain;
  const Iface longer(domain, {{"SEG_SIZE", "16k"}});
  const Iface shorter(domain, {{"SEG_SIZE", "4k"}});
  Endpoint from_longer(longer);
  Endpoint from_shorter(shorter);
  EXPECT_EQ(from_longer.connect(from_shorter), UCS_ERR_INVALID_ADDR);
  EXPECT_EQ(from_shorter.connect(from_longer), UCS_OK);
}

// UCP asserts that a new interface has no events, and the port may have been somebody else's a moment ago.
TEST(UctInterface, WhatComesForNobodyIsNoEvent) {
  MemoryDomain domain;
  const Iface sender(domain);
  const Iface receiver(domain);
  Endpoint from(sender);
  {
    Endpoint gone(receiver);
    ASSERT_EQ(from.connect(gone), UCS_OK);
  }
  uct_ina_counters_t before{};
  uct_ina_query_counters(&before);
  ASSERT_EQ(uct_ep_am_short(from.ep, 1, 0, nullptr, 0), UCS_OK);
  unsigned events = 0;
  uct_ina_counters_t after = before;
  while (after.dropped == before.dropped) {
    uct_worker_progress(sender.worker);
    events += uct_worker_progress(receiver.worker);
    uct_ina_query_counters(&after);
  }
  EXPECT_EQ(events, 0u);
}

TEST(UctMemory, RegistrationsOverlapAndEndOnTheirOwn) {
  MemoryDomain domain;
  std::vector<char> bytes(4096);
  uct_mem_h memh = nullptr;
  EXPECT_EQ(uct_md_mem_reg(domain.md, bytes.data(), 0, UCT_MD_MEM_ACCESS_ALL | UCT_MD_MEM_FLAG_HIDE_ERRORS, &memh), UCS_ERR_INVALID_PARAM);
  uct_mem_h inner = nullptr;
  ASSERT_EQ(uct_md_mem_reg(domain.md, bytes.data(), bytes.size(), UCT_MD_MEM_ACCESS_ALL, &memh), UCS_OK);
  ASSERT_EQ(uct_md_mem_reg(domain.md, bytes.data() + 100, 100, UCT_MD_MEM_ACCESS_ALL, &inner), UCS_OK);
  std::uint32_t outer_key = 0;
  std::uint32_t inner_key = 0;
  EXPECT_EQ(uct_md_mkey_pack(domain.md, memh, &outer_key), UCS_OK);
  EXPECT_EQ(uct_md_mkey_pack(domain.md, inner, &inner_key), UCS_OK);
  EXPECT_NE(outer_key, inner_key);
  EXPECT_EQ(uct_md_mem_dereg(domain.md, memh), UCS_OK);
  EXPECT_EQ(uct_md_mem_dereg(domain.md, inner), UCS_OK);
  uct_mem_h huge = nullptr;  // nothing is pinned: what a range holds is looked at only when it is used
  ASSERT_EQ(uct_md_mem_reg(domain.md, bytes.data(), std::size_t{1} << 46, UCT_MD_MEM_ACCESS_ALL, &huge), UCS_OK);
  EXPECT_EQ(uct_md_mem_dereg(domain.md, huge), UCS_OK);
  uct_md_attr_t attr;
  ASSERT_EQ(uct_md_query(domain.md, &attr), UCS_OK);
  EXPECT_EQ(attr.rkey_packed_size, 4u);
  EXPECT_EQ(attr.cap.reg_mem_types, UCS_BIT(UCS_MEMORY_TYPE_HOST));
}

TEST_F(UctTest, RkeyIsOfNoUseAfterItsMemoryIsDeregistered) {
  std::vector<char> bytes(64, 'x');
  uct_mem_h memh = nullptr;
  ASSERT_EQ(uct_md_mem_reg(domain.md, bytes.data(), bytes.size(), UCT_MD_MEM_ACCESS_ALL, &memh), UCS_OK);
  char packed[16];
  uct_rkey_bundle_t rkey{};
  ASSERT_EQ(uct_md_mkey_pack(domain.md, memh, packed), UCS_OK);
  ASSERT_EQ(uct_rkey_unpack(domain.component, packed, &rkey), UCS_OK);
  ASSERT_EQ(uct_md_mem_dereg(domain.md, memh), UCS_OK);
  ASSERT_EQ(uct_ep_put_short(ep_a.ep, "replaced", 8, reinterpret_cast<std::uintptr_t>(bytes.data()), rkey.rkey), UCS_OK);
  ASSERT_TRUE(progress_until([&] { return !a.errors.empty(); }));
  EXPECT_EQ(bytes, std::vector<char>(64, 'x'));
  EXPECT_EQ(uct_rkey_release(domain.component, &rkey), UCS_OK);
}

TEST_F(UctTest, MemoryRegisteredForGetsCannotBePutTo) {
  std::vector<char> bytes(64, 'x');
  uct_mem_h memh = nullptr;
  ASSERT_EQ(uct_md_mem_reg(domain.md, bytes.data(), bytes.size(), UCT_MD_MEM_ACCESS_REMOTE_GET | UCT_MD_MEM_ACCESS_LOCAL_WRITE, &memh), UCS_OK);
  char packed[16];
  uct_rkey_bundle_t rkey{};
  ASSERT_EQ(uct_md_mkey_pack(domain.md, memh, packed), UCS_OK);
  ASSERT_EQ(uct_rkey_unpack(domain.component, packed, &rkey), UCS_OK);
  ASSERT_EQ(uct_ep_put_short(ep_a.ep, "replaced", 8, reinterpret_cast<std::uintptr_t>(bytes.data()), rkey.rkey), UCS_OK);
  ASSERT_TRUE(progress_until([&] { return !a.errors.empty(); }));
  EXPECT_EQ(bytes, std::vector<char>(64, 'x'));
  EXPECT_EQ(uct_md_mem_dereg(domain.md, memh), UCS_OK);
  EXPECT_EQ(uct_rkey_release(domain.component, &rkey), UCS_OK);
}

}  // namespace
}  // namespace ina::test
