// socket_test.cpp: the data port and the listening sockets on loopback.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "switch/softswitch/datagram_port.hpp"
#include "switch/softswitch/listening.hpp"
#include "test/aggregator/ring.hpp"

#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#endif

namespace ina::test {
namespace {

using softswitch::DatagramPort;
using net::Descriptor;
using softswitch::Listening;
using softswitch::open_listening;
using softswitch::SetupError;

void wait_readable(int fd) {
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&waiting, 1, 5000), 1);
}

std::string error_of(const std::string& listen, const std::string& data = "127.0.0.1:0") {
  try {
    (void)open_listening(listen, data);
  } catch (const SetupError& error) {
    return error.what();
  }
  return "none";
}

class TemporaryFolder {
 public:
  TemporaryFolder() { EXPECT_NE(::mkdtemp(path_.data()), nullptr); }
  ~TemporaryFolder() {
    (void)::unlink((path() + "/s").c_str());
    (void)::rmdir(path_.c_str());
  }
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::string path_ = ::testing::TempDir() + "ina-socket-test-XXXXXX";
};

TEST(DatagramPort, PacketsOverIpv6NeedNoChecksum) {
  const Descriptor host(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 own{.sin6_family = AF_INET6, .sin6_port = 0, .sin6_flowinfo = 0, .sin6_addr = IN6ADDR_LOOPBACK_INIT, .sin6_scope_id = 0};
  if (!host || ::bind(host.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) GTEST_SKIP() << "this machine has no ::1";
  const int on = 1;
  ASSERT_EQ(::setsockopt(host.get(), IPPROTO_UDP, UDP_NO_CHECK6_TX, &on, sizeof on), 0);
  const Listening listening = open_listening("[::1]:0", "");
  sockaddr_storage to{};
  const socklen_t size = listening.data_address.to_sockaddr(to);

  ASSERT_EQ(::sendto(host.get(), "packet", 6, 0, reinterpret_cast<const sockaddr*>(&to), size), 6);

  wait_readable(listening.data.get());
}

TEST(DatagramPort, BatchesCrossWhole) {
  Listening here = open_listening("127.0.0.1:0", ""), there = open_listening("127.0.0.1:0", "");
  DatagramPort sender(std::move(here.data)), receiver(std::move(there.data));
  const Bytes head(52, std::byte{1}), body(4000, std::byte{2}), tail(8, std::byte{3});
  for (int i = 0; i < 100; ++i) {
    const Bytes short_lived = head;
    sender.send(there.data_address, {.head = short_lived, .body = body, .tail = std::span(tail).first(8)});
  }
  sender.flush();
  EXPECT_EQ(sender.counters().datagrams_out, 100u);
  EXPECT_EQ(sender.counters().send_calls, 2u);
  std::size_t count = 0;
  while (count < 100) {
    wait_readable(receiver.fd());
    count += receiver.receive([&](const wire::UdpAddress& from, std::span<std::byte> bytes) {
      EXPECT_EQ(from, here.data_address);
      ASSERT_EQ(bytes.size(), 4060u);
      EXPECT_EQ(bytes[51], std::byte{1});
      EXPECT_EQ(bytes[52], std::byte{2});
      EXPECT_EQ(bytes[4059], std::byte{3});
    });
  }
  EXPECT_EQ(receiver.receive([](auto&&, auto&&) { FAIL(); }), 0u);
  EXPECT_EQ(receiver.counters().receive_calls_empty, 1u);
}

TEST(DatagramPort, WhatRefersToBytesThatAreAboutToChangeLeavesFirst) {
  Listening here = open_listening("127.0.0.1:0", ""), there = open_listening("127.0.0.1:0", "");
  DatagramPort sender(std::move(here.data));
  const Bytes head(52), body(100), other(100);
  sender.send(there.data_address, {.head = head, .body = body, .tail = {}});
  sender.before_change(other);
  EXPECT_EQ(sender.counters().datagrams_out, 0u);
  sender.before_change(body);
  EXPECT_EQ(sender.counters().datagrams_out, 1u);
  sender.flush();
  EXPECT_EQ(sender.counters().datagrams_out, 1u);
}

TEST(DatagramPort, ADatagramThatCannotBeSentIsCountedAndTheOthersGo) {
  Listening here = open_listening("127.0.0.1:0", ""), there = open_listening("127.0.0.1:0", "");
  DatagramPort sender(std::move(here.data));
  const Bytes body(100);
  wire::UdpAddress nowhere = there.data_address;
  nowhere.port = 0;
  sender.send(there.data_address, {.head = {}, .body = body, .tail = {}});
  sender.send(nowhere, {.head = {}, .body = body, .tail = {}});
  sender.send(there.data_address, {.head = {}, .body = body, .tail = {}});
  sender.flush();
  EXPECT_EQ(sender.counters().datagrams_out, 2u);
  EXPECT_EQ(sender.counters().not_sent, 1u);
}

TEST(Listening, PortZeroIsOneNumberForBoth) {
  const Listening listening = open_listening("127.0.0.1:0", "");
  EXPECT_NE(listening.data_address.port, 0);
  EXPECT_EQ(listening.manager_text, listening.data_address.text());
}

TEST(Listening, WrongAddressesAreClearErrors) {
  EXPECT_NE(error_of("nonsense").find("HOST:PORT"), std::string::npos);
  EXPECT_NE(error_of("127.0.0.1:").find("no number from 0 to 65535"), std::string::npos);
  EXPECT_NE(error_of("127.0.0.1:x").find("no number"), std::string::npos);
  EXPECT_NE(error_of("127.0.0.1:70000").find("no number"), std::string::npos);
  EXPECT_NE(error_of("0.0.0.0:0").find("name one address"), std::string::npos);
  EXPECT_NE(error_of("[::]:0").find("name one address"), std::string::npos);
  EXPECT_NE(error_of("192.0.2.1:0").find("cannot bind udp 192.0.2.1:0"), std::string::npos);
  EXPECT_NE(error_of("no-such-host.invalid:1").find("cannot resolve"), std::string::npos);
  const Listening taken = open_listening("127.0.0.1:0", "");
  EXPECT_NE(error_of(taken.manager_text).find("Address already in use"), std::string::npos);
}

TEST(Listening, AStaleSocketIsReplacedALiveOneIsNot) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/s";
  {
    const Listening first = open_listening("unix:" + path, "127.0.0.1:0");
    EXPECT_EQ(first.manager_text, "unix:" + path);
    EXPECT_NE(error_of("unix:" + path).find("is served by another process"), std::string::npos);
  }
  const Listening second = open_listening("unix:" + path, "127.0.0.1:0");
  EXPECT_NE(second.data_address.port, 0);
}

TEST(Listening, WrongPathsAreClearErrors) {
  const TemporaryFolder folder;
  EXPECT_NE(error_of("unix:").find("1 to 107 bytes"), std::string::npos);
  EXPECT_NE(error_of("unix:" + std::string(200, 'x')).find("1 to 107 bytes"), std::string::npos);
  EXPECT_NE(error_of("unix:" + folder.path()).find("is no socket"), std::string::npos);
  EXPECT_NE(error_of("unix:" + folder.path() + "/no/s").find("No such file"), std::string::npos);
  EXPECT_NE(error_of("unix:" + folder.path() + "/s", "x").find("HOST:PORT"), std::string::npos);
}

}  // namespace
}  // namespace ina::test
