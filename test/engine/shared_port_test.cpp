// shared_port_test.cpp: one UDP port for many sockets and processes: who gets which packet, whatever the order of joining and leaving.
#include <gtest/gtest.h>

#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <new>
#include <numeric>
#include <random>

#include "ucx_tl/engine/engine.hpp"
#include "ucx_tl/engine/error.hpp"
#include "ucx_tl/engine/udp_socket.hpp"

namespace ina::engine {
namespace {

std::uint64_t draw() {
  std::uint64_t value = 0;
  EXPECT_EQ(getrandom(&value, sizeof value, 0), static_cast<ssize_t>(sizeof value));
  return value;
}

// An address that no other test has.
wire::UdpAddress own_address() {
  const std::uint64_t random = draw();
  return {.ip = {127, static_cast<std::uint8_t>(1 + random % 254), static_cast<std::uint8_t>(random >> 8), static_cast<std::uint8_t>(1 + (random >> 16) % 254)},
          .port = wire::kRocePort,
          .is_ipv6 = false};
}

std::unique_ptr<UdpSocket> join(const wire::UdpAddress& address) {
  UdpSocketOptions options{.local = address};
  options.local.port = 0;
  options.prefer_roce_port = true;
  options.share_port = true;
  return std::make_unique<UdpSocket>(options);
}

class SharedPortTest : public testing::Test {
 protected:
  void SetUp() override {
    UdpSocketOptions options{.local = address};
    options.local.port = 0;
    sender = std::make_unique<UdpSocket>(options);
  }
  void join_many(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      members.push_back(join(address));
      ASSERT_TRUE(members.back()->qpn_top_byte());
      ASSERT_EQ(members.back()->local(), address);
    }
  }
  void send(std::uint8_t top_byte, std::uint8_t content) {
    std::array<std::byte, 16> bytes{};
    bytes[5] = std::byte{top_byte};
    bytes[15] = std::byte{content};
    const Destination to(address);
    const iovec piece{.iov_base = bytes.data(), .iov_len = bytes.size()};
    const OutgoingPacket packet{.to = &to, .pieces = &piece, .piece_count = 1};
    ASSERT_EQ(sender->send({&packet, 1}).taken, 1u);
  }
  // All members ask for packets as often as it takes to see handed-over ones.
  void poll_all() {
    for (int i = 0; i < 32; ++i) {
      for (auto& member : members) {
        if (!member) continue;
        for (const IncomingPacket& packet : member->receive()) {
          ASSERT_EQ(packet.bytes.size(), 16u);
          EXPECT_EQ(packet.bytes[5], std::byte{*member->qpn_top_byte()});
          EXPECT_EQ(packet.from, sender->local());
          received.push_back(std::to_integer<std::uint8_t>(packet.bytes[15]));
        }
      }
    }
  }
  // Sends until it arrives, as a connection would.
  unsigned tries_until_received(std::uint8_t top_byte) {
    for (unsigned tries = 1; tries <= 20; ++tries) {
      received.clear();
      send(top_byte, 1);
      poll_all();
      if (!received.empty()) return tries;
    }
    return ~0u;
  }
  // Until the kernel knows who is where, and every packet arrives at once.
  [[nodiscard]] bool settle() {
    for (int tries = 0; tries < 5000; ++tries) {
      const std::uint64_t before = misled();
      const bool all_at_once = std::all_of(members.begin(), members.end(), [&](const auto& member) { return !member || tries_until_received(*member->qpn_top_byte()) == 1; });
      if (all_at_once && misled() == before) return true;
      (void)poll(nullptr, 0, 1);
    }
    return false;
  }
  std::uint64_t misled() const {
    return std::accumulate(members.begin(), members.end(), std::uint64_t{0}, [](std::uint64_t sum, const auto& member) { return sum + (member ? member->misled() : 0); });
  }

  wire::UdpAddress address = own_address();
  std::unique_ptr<UdpSocket> sender;
  std::vector<std::unique_ptr<UdpSocket>> members;
  std::vector<std::uint8_t> received;
};

TEST_F(SharedPortTest, EveryMemberGetsThePacketsOfItsOwnQps) {
  join_many(8);
  for (std::size_t i = 0; i < members.size(); ++i) {
    EXPECT_EQ(*members[i]->qpn_top_byte(), i);
    EXPECT_EQ(tries_until_received(*members[i]->qpn_top_byte()), 1u);
  }
  EXPECT_EQ(misled(), 0u);
}

TEST_F(SharedPortTest, PacketsForNobodyAreDropped) {
  join_many(3);
  for (int i = 0; i < 20; ++i) send(200, 1);
  poll_all();
  EXPECT_TRUE(received.empty());
}

TEST_F(SharedPortTest, MessagesForNobodyStayWithWhoeverGetsThem) {
  join_many(3);
  std::array<std::byte, 16> bytes{std::byte{0x64}};
  bytes[5] = std::byte{200};
  const Destination to(address);
  const iovec piece{.iov_base = bytes.data(), .iov_len = bytes.size()};
  const OutgoingPacket packet{.to = &to, .pieces = &piece, .piece_count = 1};
  for (int i = 0; i < 20; ++i) ASSERT_EQ(sender->send({&packet, 1}).taken, 1u);
  std::size_t count = 0;
  for (int i = 0; i < 32; ++i) {
    for (auto& member : members) count += member->receive().size();
  }
  EXPECT_EQ(count, 20u);
}

TEST_F(SharedPortTest, MemberThatTheKernelMovedStillGetsItsPackets) {
  join_many(4);
  members[1].reset();  // the last one is moved to its place
  for (const std::size_t i : {0, 2, 3}) EXPECT_LE(tries_until_received(*members[i]->qpn_top_byte()), 4u) << i;
  EXPECT_TRUE(settle());
}

TEST_F(SharedPortTest, JoiningAfterAMoveFindsANumber) {
  join_many(4);
  members[1].reset();
  members[1] = join(address);
  ASSERT_TRUE(members[1]->qpn_top_byte());
  for (const auto& member : members) EXPECT_LE(tries_until_received(*member->qpn_top_byte()), 6u);
  EXPECT_TRUE(settle());
}

TEST_F(SharedPortTest, AnyOrderOfJoiningAndLeavingEndsRight) {
  const std::uint64_t seed = draw();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  join_many(6);
  for (int round = 0; round < 12; ++round) {
    auto& member = members[random() % members.size()];
    if (member) {
      member.reset();
    } else {
      member = join(address);
      ASSERT_TRUE(member->qpn_top_byte());
    }
    for (const auto& each : members) {
      if (each) {
        EXPECT_LE(tries_until_received(*each->qpn_top_byte()), 10u);
      }
    }
  }
}

TEST_F(SharedPortTest, MoreThanThePlacesGetAnotherPort) {
  join_many(256);
  const auto further = join(address);
  EXPECT_FALSE(further->qpn_top_byte());
  EXPECT_NE(further->local().port, wire::kRocePort);
}

TEST_F(SharedPortTest, PortOfAProgramThatDoesNotShareIsLeftAlone) {
  UdpSocketOptions options{.local = address};
  const UdpSocket alone(options);
  const auto member = join(address);
  EXPECT_FALSE(member->qpn_top_byte());
  EXPECT_NE(member->local().port, wire::kRocePort);
}

// Runs in a child as another user; returns what it returns.
int as_other_user(const std::function<int()>& function) {
  const pid_t child = fork();
  if (child == 0) _exit(setgid(65534) == 0 && setuid(65534) == 0 ? function() : 99);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(SharedPortTest, OtherUsersGetAnotherPort) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  join_many(2);
  EXPECT_EQ(as_other_user([&] {
    const auto member = join(address);
    return member->qpn_top_byte() || member->local().port == wire::kRocePort ? 1 : 0;
  }), 0);
}

TEST_F(SharedPortTest, PacketsThatOtherUsersHandOverAreDropped) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  join_many(1);
  const auto hand_over = [&] {
    const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const std::string name = "ina-port/" + address.text() + "/00";
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    name.copy(to.sun_path + 1, sizeof to.sun_path - 1);
    std::array<std::byte, 48> message{std::byte{1}, std::byte{1}};
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    const bool is_sent = sendto(descriptor, message.data(), message.size(), 0, reinterpret_cast<const sockaddr*>(&to), length) == static_cast<ssize_t>(message.size());
    close(descriptor);
    return is_sent ? 0 : 1;
  };
  ASSERT_EQ(as_other_user(hand_over), 0);
  std::size_t count = 0;
  for (int i = 0; i < 64; ++i) count += members[0]->receive().size();
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(hand_over(), 0);  // the same from our own user arrives
  for (int i = 0; i < 64; ++i) count += members[0]->receive().size();
  EXPECT_EQ(count, 1u);
}

// Processes that all talk to each other, some of which are killed.
constexpr unsigned kProcesses = 8;
constexpr std::uint32_t kMessagesBefore = 50;
constexpr std::uint32_t kMessages = 200;
constexpr bool dies(unsigned process) { return process == 1 || process == 4 || process == 6; }

struct Board {
  std::atomic<unsigned> present{0};
  std::atomic<unsigned> halfway{0};
  std::atomic<unsigned> done{0};
  std::atomic<bool> are_killed{false};
  std::array<std::array<QpAddress, kProcesses>, kProcesses> qps;  // [owner][peer]
  std::array<std::uint8_t, kProcesses> top_bytes;
};

class Process final : public EventSink {
 public:
  Process(unsigned number, const wire::UdpAddress& address, Board& board)
      : number_(number), address_(address), board_(board), socket_(join(address)), memory_(1), engine_(options(*socket_, number), *socket_, clock_, memory_) {}

  // 0: all is well.
  int run() {
    if (!socket_->qpn_top_byte()) return 1;
    board_.top_bytes[number_] = *socket_->qpn_top_byte();
    for (unsigned peer = 0; peer < kProcesses; ++peer) {
      qps_[peer] = engine_.create_qp();
      board_.qps[number_][peer] = engine_.address(*qps_[peer]);
    }
    ++board_.present;
    if (!progress_until([&] { return board_.present == kProcesses; })) return 2;
    for (unsigned peer = 0; peer < kProcesses; ++peer) {
      if (!engine_.connect(*qps_[peer], address_, board_.qps[peer][number_])) return 3;
    }
    if (!exchange(kMessagesBefore, [](unsigned) { return true; })) return 4;
    ++board_.halfway;
    if (!progress_until([&] { return board_.are_killed.load(); })) return 5;
    if (!exchange(kMessages, [](unsigned peer) { return !dies(peer); })) return 6;
    ++board_.done;  // the others may need our acknowledgements
    if (!progress_until([&] { return board_.done == kProcesses - 3; })) return 7;
    return is_right_ && engine_.counters().bad_icrc.value() == 0 && engine_.counters().unknown_qpn.value() == 0 ? 0 : 8;
  }

  void on_completed(void*, QpError) noexcept override {}
  void on_failed(Qp&, QpError) noexcept override { is_right_ = false; }
  void on_received(std::span<std::byte> message) noexcept override {
    const auto from = std::to_integer<unsigned>(message[0]);
    const std::vector<std::byte> expected = message_for(from, number_, received_[from]++);
    is_right_ = is_right_ && std::equal(message.begin(), message.end(), expected.begin(), expected.end());
  }

 private:
  static EngineOptions options(const UdpSocket& socket, unsigned number) {
    EngineOptions options{.local = socket.local(), .seed = number + 1};
    options.qpn_top_byte = socket.qpn_top_byte();
    return options;
  }
  static std::vector<std::byte> message_for(unsigned from, unsigned to, std::uint32_t index) {
    std::mt19937 random(from * 1000003 + to * 1009 + index);
    std::vector<std::byte> message(1 + random() % 3000);
    for (std::byte& byte : message) byte = static_cast<std::byte>(random());
    message[0] = static_cast<std::byte>(from);
    return message;
  }
  template <typename Fact>
  bool progress_until(const Fact& fact) {
    for (const Nanoseconds end = clock_.now() + 60 * kSecond; clock_.now() < end;) {
      if (fact()) return true;
      if (engine_.progress() + engine_.report(*this) == 0) sched_yield();
    }
    return false;
  }
  template <typename Chosen>
  bool exchange(std::uint32_t count, const Chosen& chosen) {
    return progress_until([&] {
      bool is_done = true;
      for (unsigned peer = 0; peer < kProcesses; ++peer) {
        if (!chosen(peer)) continue;
        if (sent_[peer] < count) send(peer);
        is_done = is_done && sent_[peer] == count && received_[peer] >= count;
      }
      return is_done;
    });
  }
  void send(unsigned peer) {
    std::byte* const buffer = engine_.take_send_buffer();
    if (buffer == nullptr) return;
    const auto content = message_for(number_, peer, sent_[peer]);
    std::copy(content.begin(), content.end(), buffer);
    Message message;
    message.kind = MessageKind::kSend;
    message.pieces[0] = {.address = buffer, .bytes = content.size()};
    message.piece_count = 1;
    message.length = static_cast<std::uint32_t>(content.size());
    message.buffer = buffer;
    if (engine_.post(*qps_[peer], message) == PostStatus::kPosted) {
      ++sent_[peer];
    } else {
      engine_.give_back_send_buffer(buffer);
    }
  }

  unsigned number_;
  wire::UdpAddress address_;
  Board& board_;
  SteadyClock clock_;
  std::unique_ptr<UdpSocket> socket_;
  MemoryTable memory_;
  Engine engine_;
  std::array<Qp*, kProcesses> qps_{};
  std::array<std::uint32_t, kProcesses> sent_{};
  std::array<std::uint32_t, kProcesses> received_{};
  bool is_right_ = true;
};

TEST(SharedPortProcesses, TrafficBetweenAllPairsStaysRightWhenSomeAreKilled) {
  void* const shared = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& board = *new (shared) Board;
  const wire::UdpAddress address = own_address();
  std::array<pid_t, kProcesses> children{};
  for (unsigned i = 0; i < kProcesses; ++i) {
    children[i] = fork();
    ASSERT_GE(children[i], 0);
    if (children[i] == 0) _exit(Process(i, address, board).run());
  }
  SteadyClock clock;
  for (const Nanoseconds end = clock.now() + 60 * kSecond; board.halfway < kProcesses && clock.now() < end;) (void)poll(nullptr, 0, 1);
  EXPECT_EQ(board.halfway, kProcesses);
  for (unsigned i = 0; i < kProcesses; ++i) {
    if (!dies(i)) continue;
    int status = 0;
    EXPECT_EQ(kill(children[i], SIGKILL), 0);
    EXPECT_EQ(waitpid(children[i], &status, 0), children[i]);
  }
  board.are_killed = true;
  for (unsigned i = 0; i < kProcesses; ++i) {
    if (dies(i)) continue;
    int status = 0;
    EXPECT_EQ(waitpid(children[i], &status, 0), children[i]);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "process " << i << " status " << status;
  }
  std::array<std::uint8_t, kProcesses> sorted = board.top_bytes;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end()) << "two have the same QP numbers";
  munmap(shared, sizeof(Board));
}

}  // namespace
}  // namespace ina::engine
