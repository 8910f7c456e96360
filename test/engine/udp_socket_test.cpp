// udp_socket_test.cpp: engines over real sockets on loopback, IPv4 and IPv6. What arrives has passed the ICRC check, so the addresses,
// lengths, identification and flags that the sender assumed are those that the kernel sent.
#include <gtest/gtest.h>

#include <netinet/in.h>
#include <poll.h>

#include "ucx_tl/engine/engine.hpp"
#include "ucx_tl/engine/error.hpp"
#include "ucx_tl/engine/payload_limit.hpp"
#include "ucx_tl/engine/resolve.hpp"
#include "ucx_tl/engine/udp_socket.hpp"

namespace ina::engine {
namespace {

class Recorder final : public EventSink {
 public:
  void on_completed(void*, QpError error) noexcept override { completed += error == QpError::kNone ? 1 : 0; }
  void on_received(std::span<std::byte> message) noexcept override { received.assign(message.begin(), message.end()); }
  void on_failed(Qp&, QpError) noexcept override {}
  int completed = 0;
  std::vector<std::byte> received;
};

struct Side {
  explicit Side(const char* local, bool segmentation = false)
      : socket({.local = *wire::UdpAddress::parse(local), .buffer_bytes = 1 << 20, .segmentation = segmentation}), memory(1), engine(options(socket), socket, clock, memory) {}
  static EngineOptions options(const UdpSocket& socket) {
    EngineOptions options;
    options.local = socket.local();
    options.seed = socket.local().port;
    options.mtu = 512;
    return options;
  }
  SteadyClock clock;
  UdpSocket socket;
  MemoryTable memory;
  Engine engine;
  Recorder recorder;
};

// An address, and whether runs of packets are sent as large datagrams.
class LoopbackTest : public testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(LoopbackTest, MessagesPassBothWays) {
  const auto [address, segmentation] = GetParam();
  try {
    UdpSocket({.local = *wire::UdpAddress::parse(address)});
  } catch (const Error&) {
    GTEST_SKIP() << "this host has no " << address;
  }
  Side a(address, segmentation);
  Side b(address, segmentation);
  Qp* qp_a = a.engine.create_qp();
  Qp* qp_b = b.engine.create_qp();
  ASSERT_TRUE(a.engine.connect(*qp_a, b.socket.local(), b.engine.address(*qp_b)));
  ASSERT_TRUE(b.engine.connect(*qp_b, a.socket.local(), a.engine.address(*qp_a)));
  for (const std::size_t bytes : {0ul, 1ul, 2ul, 3ul, 100ul, 512ul, 1500ul, 4096ul, 8192ul}) {
    std::vector<std::byte> payload(bytes, std::byte{7});
    Message message;
    message.kind = MessageKind::kSend;
    message.pieces[0] = {.address = payload.data(), .bytes = bytes};
    message.piece_count = 1;
    message.length = static_cast<std::uint32_t>(bytes);
    message.token = &message;
    a.recorder.completed = 0;
    ASSERT_EQ(a.engine.post(*qp_a, message), PostStatus::kPosted);
    while (a.recorder.completed == 0) {
      a.engine.progress();
      a.engine.report(a.recorder);
      b.engine.progress();
      b.engine.report(b.recorder);
    }
    EXPECT_EQ(b.recorder.received, payload);
  }
  EXPECT_EQ(b.engine.counters().bad_icrc.value(), 0u);
  EXPECT_FALSE(a.socket.sender().was_refused());
}

INSTANTIATE_TEST_SUITE_P(Families, LoopbackTest, testing::Combine(testing::Values("127.0.0.1:0", "[::1]:0"), testing::Bool()), [](const auto& test) {
  return std::string(test.index / 2 == 0 ? "Ipv4" : "Ipv6") + (std::get<1>(test.param) ? "InLargeDatagrams" : "");
});

class MarkTest : public testing::TestWithParam<const char*> {};

// A router would change the bits; here the sender writes them itself.
TEST_P(MarkTest, MarkedPacketsAreAnsweredWithANotification) {
  UdpSocketOptions options{.local = *wire::UdpAddress::parse(GetParam()), .ecn = true};
  std::unique_ptr<UdpSocket> socket;
  try {
    socket = std::make_unique<UdpSocket>(options);
  } catch (const Error&) {
    GTEST_SKIP() << "this host has no " << GetParam();
  }
  UdpSocket peer(options);
  const bool ipv6 = options.local.is_ipv6;
  int bits = 0;
  socklen_t length = sizeof bits;
  ASSERT_EQ(getsockopt(peer.descriptor(), ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_TCLASS : IP_TOS, &bits, &length), 0);
  EXPECT_EQ(bits, kEcnCapable);
  bits = kEcnCongestionExperienced;
  ASSERT_EQ(setsockopt(peer.descriptor(), ipv6 ? IPPROTO_IPV6 : IPPROTO_IP, ipv6 ? IPV6_TCLASS : IP_TOS, &bits, sizeof bits), 0);

  SteadyClock clock;
  MemoryTable memory(1);
  EngineOptions engine_options{.local = socket->local(), .seed = 1};
  engine_options.ecn = true;
  Engine engine(engine_options, *socket, clock, memory);
  Qp* const qp = engine.create_qp();
  ASSERT_TRUE(engine.connect(*qp, peer.local(), {.qpn = 0x999, .first_psn = 0, .mtu = 1024}));
  wire::Packet header{};
  header.bth.opcode = wire::Opcode::kSendOnly;
  header.bth.dest_qpn = qp->number();
  std::array<std::byte, wire::kBthBytes + wire::kIcrcBytes> request{};
  wire::encode_headers(header, request);
  wire::IcrcFlow(peer.local(), socket->local()).seal(request);
  const Destination to(socket->local());
  const iovec piece{.iov_base = request.data(), .iov_len = request.size()};
  const OutgoingPacket packet{.to = &to, .pieces = &piece, .piece_count = 1};
  ASSERT_EQ(peer.send({&packet, 1}).taken, 1u);
  pollfd ready{.fd = socket->descriptor(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&ready, 1, 5000), 1);
  engine.tick();
  EXPECT_EQ(engine.counters().congestion_marks.value(), 1u);

  ready.fd = peer.descriptor();
  ASSERT_EQ(poll(&ready, 1, 5000), 1);
  bool is_notified = false;
  for (const IncomingPacket& answer : peer.receive()) {
    EXPECT_FALSE(answer.has_congestion_mark);
    const auto decoded = wire::decode_packet(answer.bytes);
    ASSERT_TRUE(decoded);
    is_notified = is_notified || (decoded->bth.opcode == wire::Opcode::kCnp && decoded->bth.dest_qpn == 0x999u);
  }
  EXPECT_TRUE(is_notified);
}

INSTANTIATE_TEST_SUITE_P(Families, MarkTest, testing::Values("127.0.0.1:0", "[::1]:0"),
                         [](const auto& family) { return family.index == 0 ? "Ipv4" : "Ipv6"; });

TEST(UdpSocket, DatagramLongerThanAnyPacketIsHandedOnEmpty) {
  UdpSocket socket({.local = *wire::UdpAddress::parse("127.0.0.1:0")});
  UdpSocket sender({.local = *wire::UdpAddress::parse("127.0.0.1:0")});
  std::vector<std::byte> bytes(kMaxUdpPayload + 1);
  const Destination to(socket.local());
  const iovec piece{.iov_base = bytes.data(), .iov_len = bytes.size()};
  const OutgoingPacket packet{.to = &to, .pieces = &piece, .piece_count = 1};
  ASSERT_EQ(sender.send({&packet, 1}).taken, 1u);
  pollfd ready{.fd = socket.descriptor(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&ready, 1, 5000), 1);
  const auto received = socket.receive();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_TRUE(received[0].bytes.empty());
  EXPECT_EQ(received[0].from, sender.local());
}

TEST(UdpSocket, RefusedPacketDoesNotStopTheOthers) {
  UdpSocket socket({.local = *wire::UdpAddress::parse("127.0.0.1:0")});
  std::vector<std::byte> bytes(70000);  // longer than UDP can be
  const Destination to(socket.local());
  const iovec too_long{.iov_base = bytes.data(), .iov_len = bytes.size()};
  const iovec good{.iov_base = bytes.data(), .iov_len = 20};
  const std::array<OutgoingPacket, 3> packets = {{{&to, &good, 1}, {&to, &too_long, 1}, {&to, &good, 1}}};
  const SendResult result = socket.send(packets);
  EXPECT_EQ(result.taken, 3u);
  EXPECT_EQ(result.refused, 1u);
}

TEST(UdpSocket, AddressInUseOrNotOursIsAClearError) {
  UdpSocket socket({.local = *wire::UdpAddress::parse("127.0.0.1:0")});
  try {
    UdpSocket again({.local = socket.local()});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "cannot bind udp address " + socket.local().text() + ": Address already in use");
  }
  EXPECT_THROW(UdpSocket({.local = *wire::UdpAddress::parse("192.0.2.1:0")}), Error);
}

TEST(PayloadLimit, IsAMultipleOfEightThatFits) {
  EXPECT_EQ(payload_limit(1500, false), 1440u);
  EXPECT_EQ(payload_limit(1500, true), 1416u);
  EXPECT_EQ(payload_limit(65536, false), 8960u);
  EXPECT_EQ(payload_limit(9000, false), 8936u);
  EXPECT_EQ(payload_limit(4156, false), 4096u);
  EXPECT_EQ(payload_limit(4155, false), 4088u);
  EXPECT_EQ(payload_limit(60, false), 0u);
}

TEST(Resolve, NumbersAndNamesWithAPort) {
  EXPECT_EQ(resolve("127.0.0.1:80", false).text(), "127.0.0.1:80");
  EXPECT_EQ(resolve("[::1]:80", true).text(), "[::1]:80");
  EXPECT_EQ(resolve("localhost:81", false).text(), "127.0.0.1:81");
  for (const char* wrong : {"", ":", "x", "x:", ":80", "127.0.0.1:0", "127.0.0.1:65536", "localhost:x", "localhost:80x", "[::1]:80"}) {
    EXPECT_THROW((void)resolve(wrong, false), Error) << wrong;
  }
}

}  // namespace
}  // namespace ina::engine
