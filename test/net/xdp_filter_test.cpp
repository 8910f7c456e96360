// xdp_filter_test.cpp: which packets the XDP programs take, by running its instructions here. That the kernel takes them, and what
// they do on a device, is for the labs, which need root.
#include <gtest/gtest.h>

#include <linux/bpf.h>

#include <array>
#include <cstring>
#include <optional>
#include <random>

#include "net/xdp_filter.hpp"
#include "wire/frame.hpp"

namespace ina::net {
namespace {

constexpr std::uint64_t kPass = XDP_PASS;
constexpr std::uint64_t kRedirected = 100;
constexpr int kMap = 77;
constexpr std::uint64_t kQueue = 3;
constexpr unsigned kDevice = 21;
constexpr std::uint64_t kNext = static_cast<std::uint64_t>(std::int64_t{-1});

// Addresses in the program's world: the context's at 0, the packet's from kPacket on.
constexpr std::uint64_t kPacket = 0x1000;

class Machine {
 public:
  explicit Machine(std::span<const std::byte> packet, std::size_t in_other_pieces = 0) : packet_(packet), in_other_pieces_(in_other_pieces) {}

  // The context is a socket buffer, of which so many bytes can be read, and which stands for packets of that size if it is a super-frame.
  Machine& is_socket_buffer(std::size_t readable, std::uint64_t segment_bytes = 0) {
    is_socket_buffer_ = true;
    readable_ = readable;
    segment_bytes_ = segment_bytes;
    return *this;
  }

  std::uint64_t run(std::span<const XdpInstruction> program) {
    for (std::size_t at = 0; at < program.size(); ++at) {
      const XdpInstruction& i = program[at];
      std::uint64_t& to = r_[i.registers & 15];
      const std::uint64_t from = r_[i.registers >> 4];
      switch (i.code) {
        case BPF_ALU64 | BPF_MOV | BPF_X: to = from; break;
        case BPF_ALU64 | BPF_MOV | BPF_K: to = static_cast<std::uint64_t>(std::int64_t{i.immediate}); break;
        case BPF_ALU64 | BPF_ADD | BPF_K: to += static_cast<std::uint64_t>(std::int64_t{i.immediate}); break;
        case BPF_ALU | BPF_AND | BPF_K: to = static_cast<std::uint32_t>(to) & static_cast<std::uint32_t>(i.immediate); break;
        case BPF_LDX | BPF_MEM | BPF_B: to = load(from + static_cast<std::uint64_t>(std::int64_t{i.offset}), 1); break;
        case BPF_LDX | BPF_MEM | BPF_H: to = load(from + static_cast<std::uint64_t>(std::int64_t{i.offset}), 2); break;
        case BPF_LDX | BPF_MEM | BPF_W: to = load(from + static_cast<std::uint64_t>(std::int64_t{i.offset}), 4); break;
        case BPF_JMP | BPF_JGT | BPF_X: at += to > from ? static_cast<std::size_t>(i.offset) : 0; break;
        case BPF_JMP | BPF_JLE | BPF_X: at += to <= from ? static_cast<std::size_t>(i.offset) : 0; break;
        case BPF_JMP | BPF_JEQ | BPF_K: at += to == static_cast<std::uint64_t>(std::int64_t{i.immediate}) ? static_cast<std::size_t>(i.offset) : 0; break;
        case BPF_JMP | BPF_JGT | BPF_K: at += to > static_cast<std::uint64_t>(std::int64_t{i.immediate}) ? static_cast<std::size_t>(i.offset) : 0; break;
        case BPF_JMP | BPF_JLT | BPF_X: at += to < from ? static_cast<std::size_t>(i.offset) : 0; break;
        case BPF_JMP | BPF_JA: at += static_cast<std::size_t>(i.offset); break;
        case BPF_JMP32 | BPF_JEQ | BPF_K:
          at += static_cast<std::uint32_t>(to) == static_cast<std::uint32_t>(i.immediate) ? static_cast<std::size_t>(i.offset) : 0;
          break;
        case BPF_JMP32 | BPF_JNE | BPF_K:
          at += static_cast<std::uint32_t>(to) != static_cast<std::uint32_t>(i.immediate) ? static_cast<std::size_t>(i.offset) : 0;
          break;
        case BPF_LD | BPF_DW | BPF_IMM: to = static_cast<std::uint64_t>(i.immediate), ++at; break;
        case BPF_JMP | BPF_CALL:
          if (i.immediate == BPF_FUNC_xdp_get_buff_len) {
            r_[0] = packet_.size() + in_other_pieces_;
            break;
          }
          if (i.immediate == BPF_FUNC_skb_pull_data) {  // brings what there is into the first piece
            EXPECT_LT(readable_, r_[2]);
            readable_ = packet_.size();
            break;
          }
          if (i.immediate == BPF_FUNC_redirect) {
            EXPECT_EQ(r_[1], std::uint64_t{kDevice});
            EXPECT_EQ(r_[2], 0u);
            r_[0] = kRedirected;
            break;
          }
          EXPECT_EQ(i.immediate, BPF_FUNC_redirect_map);
          EXPECT_EQ(r_[1], std::uint64_t{kMap});
          EXPECT_EQ(r_[2], kQueue);
          EXPECT_EQ(r_[3], kPass);
          r_[0] = kRedirected;
          break;
        case BPF_JMP | BPF_EXIT: return r_[0];
        default: ADD_FAILURE() << "instruction " << int{i.code}; return 0;
      }
    }
    ADD_FAILURE() << "the program does not end";
    return 0;
  }

 private:
  std::uint64_t load(std::uint64_t address, std::size_t bytes) const {
    if (is_socket_buffer_) {
      switch (address) {
        case offsetof(__sk_buff, len): return packet_.size();
        case offsetof(__sk_buff, gso_size): return segment_bytes_;
        case offsetof(__sk_buff, data): return kPacket;
        case offsetof(__sk_buff, data_end): return kPacket + readable_;
        default: break;
      }
    }
    if (address == offsetof(xdp_md, data)) return kPacket;
    if (address == offsetof(xdp_md, data_end)) return kPacket + packet_.size();
    if (address == offsetof(xdp_md, rx_queue_index)) return kQueue;
    if (address < kPacket || address + bytes > kPacket + readable_) {
      ADD_FAILURE() << "reads outside the packet, at " << address;
      return 0;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, &packet_[address - kPacket], bytes);
    return value;
  }
  std::span<const std::byte> packet_;  // what of the frame the program can read
  std::size_t in_other_pieces_;
  std::size_t readable_ = packet_.size();
  bool is_socket_buffer_ = false;
  std::uint64_t segment_bytes_ = 0;
  std::array<std::uint64_t, 11> r_{};
};

constexpr std::size_t kPayloadBytes = 16;
constexpr std::uint32_t kQpn = 0x123456;

std::vector<std::byte> packet_to(const char* local, const char* peer, std::optional<std::uint16_t> vlan = {}) {
  wire::Frame frame;
  frame.vlan = vlan;
  frame.ip.source = *wire::UdpAddress::parse(peer);
  frame.ip.destination = *wire::UdpAddress::parse(local);
  std::vector<std::byte> bytes(wire::kMaxFrameHeaderBytes);
  bytes.resize(wire::encode_frame(frame, kPayloadBytes, bytes));
  bytes.resize(bytes.size() + kPayloadBytes);
  wire::store_be(&bytes[bytes.size() - kPayloadBytes + 4], kQpn);
  return bytes;
}

std::uint64_t verdict(std::span<const std::byte> packet, const XdpAddressFilter& filter) { return Machine(packet).run(assemble(filter, kMap)); }

struct Family {
  const char* local;
  const char* peer;
  std::size_t next_protocol_at;
};

class XdpAddressFilterTest : public testing::TestWithParam<Family> {
 protected:
  std::vector<std::byte> packet_ = packet_to(GetParam().local, GetParam().peer);
  XdpAddressFilter filter_{.local = *wire::UdpAddress::parse(GetParam().local)};
};

TEST_P(XdpAddressFilterTest, PacketToOurAddressAndPortIsTaken) { EXPECT_EQ(verdict(packet_, filter_), kRedirected); }

TEST_P(XdpAddressFilterTest, OtherPortOrAddressIsPassedOn) {
  XdpAddressFilter other = filter_;
  ++other.local.port;
  EXPECT_EQ(verdict(packet_, other), kPass);
  for (std::size_t i = 0; i < (filter_.local.is_ipv6 ? 16u : 4u); ++i) {
    other = filter_;
    other.local.ip[i] ^= 0x80;
    EXPECT_EQ(verdict(packet_, other), kPass) << i;
  }
}

TEST_P(XdpAddressFilterTest, OtherProtocolIsPassedOn) {
  packet_[GetParam().next_protocol_at] = std::byte{6};
  EXPECT_EQ(verdict(packet_, filter_), kPass);
}

TEST_P(XdpAddressFilterTest, QpnsOutsideTheBlockArePassedOn) {
  filter_.qpn_mask = 0xff0000;
  filter_.qpn = 0x120000;
  EXPECT_EQ(verdict(packet_, filter_), kRedirected);
  filter_.qpn = 0x130000;
  EXPECT_EQ(verdict(packet_, filter_), kPass);
}

TEST_P(XdpAddressFilterTest, TruncatedPacketIsNeitherTakenNorReadPastItsEnd) {
  const std::size_t needed = packet_.size() - kPayloadBytes + 8;
  for (std::size_t bytes = 0; bytes < needed; ++bytes) EXPECT_EQ(verdict(std::span(packet_).first(bytes), filter_), kPass) << bytes;
  EXPECT_EQ(verdict(std::span(packet_).first(needed), filter_), kRedirected);
}

TEST_P(XdpAddressFilterTest, RandomBytesAreReadWithinThePacketOnly) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    auto damaged = packet_;
    for (int n = 0; n < 3; ++n) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    damaged.resize(random() % (damaged.size() + 1));
    const std::uint64_t result = verdict(damaged, filter_);
    EXPECT_TRUE(result == kPass || result == kRedirected);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, XdpAddressFilterTest, testing::Values(Family{"192.0.2.1:4791", "192.0.2.2:5000", 23}, Family{"[2001:db8::1]:4791", "[2001:db8::2]:5000", 20}),
                         [](const auto& family) { return family.index == 0 ? "Ipv4" : "Ipv6"; });

TEST(XdpFilter, Ipv4OptionsAndFragmentsArePassedOn) {
  const XdpAddressFilter filter{.local = *wire::UdpAddress::parse("192.0.2.1:4791")};
  const auto packet = packet_to("192.0.2.1:4791", "192.0.2.2:5000");
  auto options = packet;
  options[14] = std::byte{0x46};
  EXPECT_EQ(verdict(options, filter), kPass);
  for (const std::uint16_t flags : std::initializer_list<std::uint16_t>{0x2000, 0x0001, 0x1fff, 0x6000}) {
    auto fragment = packet;
    wire::store_be(&fragment[20], flags);
    EXPECT_EQ(verdict(fragment, filter), kPass) << flags;
  }
  auto may_be_fragmented = packet;
  wire::store_be<std::uint16_t>(&may_be_fragmented[20], 0);
  EXPECT_EQ(verdict(may_be_fragmented, filter), kRedirected);
}

struct PortCase {
  Family family;
  bool has_fragments;
  std::optional<std::uint16_t> vlan;
};

class XdpPortFilterTest : public testing::TestWithParam<PortCase> {
 protected:
  std::vector<std::byte> packet_ = packet_to(GetParam().family.local, GetParam().family.peer, GetParam().vlan);
  std::size_t tag_bytes_ = GetParam().vlan ? 4 : 0;
  XdpPortFilter filter_{.port = 4791, .max_frame_bytes = 3840, .has_fragments = GetParam().has_fragments};
  [[nodiscard]] std::uint64_t verdict(std::span<const std::byte> packet) const { return Machine(packet).run(assemble(filter_, kMap)); }
};

TEST_P(XdpPortFilterTest, PacketToThePortOfAnyAddressIsTaken) {
  EXPECT_EQ(verdict(packet_), kRedirected);
  packet_[packet_.size() - kPayloadBytes - 10] ^= std::byte{1};  // another address
  EXPECT_EQ(verdict(packet_), kRedirected);
}

TEST_P(XdpPortFilterTest, OtherPortProtocolOrTypeIsPassedOn) {
  for (const std::size_t at : {packet_.size() - kPayloadBytes - 5, tag_bytes_ + GetParam().family.next_protocol_at, tag_bytes_ + 13}) {
    auto other = packet_;
    other[at] ^= std::byte{1};
    EXPECT_EQ(verdict(other), kPass) << at;
  }
}

TEST_P(XdpPortFilterTest, ASecondTagIsPassedOn) {
  packet_.insert(packet_.begin() + 12, {std::byte{0x81}, std::byte{0}, std::byte{0}, std::byte{1}});
  EXPECT_EQ(verdict(packet_), GetParam().vlan ? kPass : kRedirected);
}

TEST_P(XdpPortFilterTest, FramesLargerThanASocketTakesArePassedOn) {
  packet_.resize(filter_.max_frame_bytes);
  EXPECT_EQ(verdict(packet_), kRedirected);
  packet_.resize(filter_.max_frame_bytes + 1);
  EXPECT_EQ(verdict(packet_), kPass);
}

TEST_P(XdpPortFilterTest, PiecesBehindTheFirstCount) {
  if (!filter_.has_fragments) return;
  const std::size_t most = filter_.max_frame_bytes - packet_.size();
  EXPECT_EQ(Machine(packet_, most).run(assemble(filter_, kMap)), kRedirected);
  EXPECT_EQ(Machine(packet_, most + 1).run(assemble(filter_, kMap)), kPass);
}

TEST_P(XdpPortFilterTest, TruncatedPacketIsNeitherTakenNorReadPastItsEnd) {
  const std::size_t needed = packet_.size() - kPayloadBytes;
  for (std::size_t bytes = 0; bytes < needed; ++bytes) EXPECT_EQ(verdict(std::span(packet_).first(bytes)), kPass) << bytes;
  EXPECT_EQ(verdict(std::span(packet_).first(needed)), kRedirected);
}

TEST_P(XdpPortFilterTest, RandomBytesAreReadWithinThePacketOnly) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    auto damaged = packet_;
    for (int n = 0; n < 3; ++n) damaged[random() % 40] = static_cast<std::byte>(random());
    damaged.resize(random() % (damaged.size() + 1));
    const std::uint64_t result = verdict(damaged);
    EXPECT_TRUE(result == kPass || result == kRedirected);
  }
}

TEST_P(XdpPortFilterTest, SocketBuffersAreSentToTheDeviceWhateverPieceTheHeadersAreIn) {
  const auto program = assemble_redirect(filter_, kDevice);
  packet_.resize(100);
  for (const std::size_t readable : {std::size_t{0}, std::size_t{14}, packet_.size()}) {
    EXPECT_EQ(Machine(packet_).is_socket_buffer(readable).run(program), kRedirected) << readable;
  }
  packet_[packet_.size() - 1] ^= std::byte{1};
  packet_[tag_bytes_ + GetParam().family.next_protocol_at] = std::byte{6};
  EXPECT_EQ(Machine(packet_).is_socket_buffer(packet_.size()).run(program), kNext);
}

TEST_P(XdpPortFilterTest, SuperFramesCountByTheirSegments) {
  const auto program = assemble_redirect(filter_, kDevice);
  packet_.resize(60000);
  EXPECT_EQ(Machine(packet_).is_socket_buffer(200).run(program), kNext);
  EXPECT_EQ(Machine(packet_).is_socket_buffer(200, 1400).run(program), kRedirected);
  EXPECT_EQ(Machine(packet_).is_socket_buffer(200, filter_.max_frame_bytes - 60).run(program), kNext);
}

constexpr Family kIpv4{"192.0.2.1:4791", "192.0.2.2:5000", 23};
constexpr Family kIpv6{"[2001:db8::1]:4791", "[2001:db8::2]:5000", 20};
INSTANTIATE_TEST_SUITE_P(Frames, XdpPortFilterTest, testing::Values(PortCase{kIpv4, false, {}}, PortCase{kIpv6, false, {}}, PortCase{kIpv4, true, {}}, PortCase{kIpv6, true, 5},
                                                                   PortCase{kIpv4, false, 5}, PortCase{kIpv6, false, 5}));

}  // namespace
}  // namespace ina::net
