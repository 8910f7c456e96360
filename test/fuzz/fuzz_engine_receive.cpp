// fuzz_engine_receive.cpp: a connection is fed any packets, in any order; no byte outside registered memory changes, and no call fails.
// Input: records of a length byte, a mode byte and that many bytes of a packet from the BTH on. The mode puts right what chance would hardly find.
#include <cstdlib>
#include <cstring>

#include "test/engine/test_network.hpp"

namespace {

using namespace ina::engine;
using namespace ina::engine::test;
namespace wire = ina::wire;

constexpr std::size_t kGuard = 4096;
constexpr std::size_t kRegistered = 8192;
constexpr std::byte kGuardByte{0xa5};

enum Mode : std::uint8_t {
  kFixQpn = 1,
  kFixPsn = 2,      // the PSN is counted from the first one of its direction
  kFixRkey = 4,
  kFixAddress = 8,  // the address is an offset, signed 16 bits, from the registered memory
  kSeal = 16,       // a valid ICRC
  kLetTimePass = 32,
  kPost = 64,       // the connection sends something itself
  kGrow = 128,      // a whole MTU of payload
};

class Connection {
 public:
  Connection() : network_(clock_, 1), memory_(kGuard + kRegistered + kGuard, kGuardByte), host_(network_, clock_, 1, {.send_buffers = 1, .receive_buffers = 3}, 8) {
    rkey_ = *host_.memory.add(memory_.data() + kGuard, kRegistered);
    qp_ = host_.engine.create_qp();
    if (!host_.engine.connect(*qp_, address(9), {.qpn = 0x999, .first_psn = kFirstPsn, .mtu = 1024})) std::abort();
    network_.tap = [](const CapturedPacket&) { return false; };
  }

  void feed(std::span<const std::byte> packet, std::uint8_t mode) {
    if ((mode & kLetTimePass) != 0) clock_.advance(3 * kMillisecond);
    if ((mode & kPost) != 0) post(packet.size());
    std::vector<std::byte> bytes(packet.begin(), packet.end());
    if ((mode & kGrow) != 0 && bytes.size() >= wire::kBthBytes) grow(bytes);
    put_right(bytes, mode);
    network_.inject({.from = address(9), .to = address(1), .bytes = std::move(bytes)});
    host_.engine.tick();
    host_.progress();
    host_.messages.clear();
    host_.completions.clear();
    host_.failures.clear();
  }
  void check() const {
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (memory_[i] != kGuardByte || memory_[kGuard + kRegistered + i] != kGuardByte) std::abort();
    }
    for (std::size_t i = kSource; i < source_.size(); ++i) {
      if (source_[i] != kGuardByte) std::abort();
    }
  }

 private:
  static constexpr std::uint32_t kFirstPsn = 0xfffff0;
  static constexpr std::size_t kSource = 16 * 256;

  // What is written here are answers to READs and atomics: behind its first half nothing may change.
  void post(std::size_t bytes) {
    constexpr MessageKind kKinds[] = {MessageKind::kWrite, MessageKind::kSend, MessageKind::kRead, MessageKind::kFetchAdd, MessageKind::kCompareSwap};
    Message message;
    message.kind = kKinds[bytes % std::size(kKinds)];
    const bool is_atomic = is_answered_with_data(message.kind) && message.kind != MessageKind::kRead;
    message.length = static_cast<std::uint32_t>(is_atomic ? 8 : bytes * 16);
    message.pieces[0] = {.address = source_.data(), .bytes = message.length};
    message.piece_count = 1;
    message.token = this;
    (void)host_.engine.post(*qp_, message);
  }
  static void grow(std::vector<std::byte>& bytes) {
    const auto opcode = static_cast<wire::Opcode>(bytes[0]);
    if (!wire::traits(opcode).known) return;
    bytes.resize(wire::headers_bytes(opcode) + 1024 + wire::kIcrcBytes);
    bytes[1] &= std::byte{0xcf};  // no pad
  }
  void put_right(std::vector<std::byte>& bytes, std::uint8_t mode) const {
    if (bytes.size() < wire::kBthBytes + wire::kIcrcBytes) return;
    if ((mode & kFixQpn) != 0) wire::store_be(&bytes[4], wire::load_be<std::uint32_t>(&bytes[4]) << 24 | qp_->number());
    if ((mode & kFixPsn) != 0) {
      const bool is_answer = bytes[0] >= static_cast<std::byte>(wire::Opcode::kReadResponseFirst) && bytes[0] <= static_cast<std::byte>(wire::Opcode::kAtomicAcknowledge);
      const std::uint32_t psn = wire::psn_add(is_answer ? qp_->first_psn() : kFirstPsn, static_cast<std::uint32_t>(bytes[11]));
      wire::store_be(&bytes[8], (wire::load_be<std::uint32_t>(&bytes[8]) & 0xff000000u) | psn);
    }
    const wire::OpcodeTraits traits = wire::traits(static_cast<wire::Opcode>(bytes[0]));
    if ((traits.reth || traits.atomic_eth) && bytes.size() >= wire::kBthBytes + wire::kRethBytes) {
      if ((mode & kFixAddress) != 0) {
        const auto offset = static_cast<std::int16_t>(wire::load_be<std::uint16_t>(&bytes[12]));
        wire::store_be(&bytes[12], reinterpret_cast<std::uintptr_t>(memory_.data() + kGuard) + static_cast<std::uint64_t>(std::int64_t{offset}));
      }
      if ((mode & kFixRkey) != 0) wire::store_be(&bytes[20], rkey_);
    }
    constexpr std::size_t kMessageAt = wire::kBthBytes + wire::kDethBytes;
    if (bytes[0] == static_cast<std::byte>(wire::Opcode::kUdSendOnly) && bytes.size() == kMessageAt + wire::kConnectMessageBytes + wire::kIcrcBytes) {
      const ServiceAddress own = host_.engine.service_address();
      if ((mode & kFixQpn) != 0) wire::store_be(&bytes[4], own.qpn);
      if ((mode & kFixRkey) != 0) wire::store_be(&bytes[wire::kBthBytes], wire::kConnectQueueKey);
      if ((mode & kFixAddress) != 0) wire::store_be(&bytes[kMessageAt + 16], own.instance);
    }
    if ((mode & kSeal) != 0) wire::IcrcFlow(address(9), address(1)).seal(bytes);
  }

  VirtualClock clock_;
  TestNetwork network_;
  std::vector<std::byte> memory_;
  std::vector<std::byte> source_ = std::vector<std::byte>(2 * kSource, kGuardByte);
  Host host_;
  std::uint32_t rkey_ = 0;
  Qp* qp_ = nullptr;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Connection connection;
  const auto* const bytes = reinterpret_cast<const std::byte*>(data);
  for (std::size_t at = 0; at + 2 <= size;) {
    const std::size_t length = std::min<std::size_t>(data[at], size - at - 2);
    connection.feed({bytes + at + 2, length}, data[at + 1]);
    at += 2 + length;
  }
  connection.check();
  return 0;
}
