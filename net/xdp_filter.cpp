// xdp_filter.cpp: puts the instructions together. The kernel's verifier sees every way through them, so that every read stands behind a
// comparison of where it ends with the end of the frame.
#include "net/xdp_filter.hpp"

#include <linux/bpf.h>

#include <bit>

#include "wire/frame.hpp"
#include "wire/roce.hpp"

namespace ina::net {
namespace {

static_assert(sizeof(XdpInstruction) == sizeof(bpf_insn));

constexpr std::int32_t kTypeAt = 12;
constexpr std::int32_t kIpAt = wire::kEthernetBytes;
constexpr std::int32_t kQpnInUdpPayload = 4;  // the BTH's second word: reserved byte, QPN
constexpr std::uint16_t kIpv4Type = 0x0800;
constexpr std::uint16_t kIpv6Type = 0x86dd;
constexpr std::uint16_t kVlanType = 0x8100;
constexpr std::uint8_t kUdpProtocol = 17;
constexpr std::int32_t kNextProgram = -1;  // TCX_NEXT

template <typename T>
T order(T value) noexcept {
  return std::endian::native == std::endian::little ? wire::byte_swapped(value) : value;
}

// A program in the making: every comparison that does not hold jumps to the end, where the packet is passed on.
class Assembler {
 public:
  enum Register : std::uint8_t { r0, r1, r2, r3, r4, r5, r6 };

  void move(Register to, Register from) { add(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void move(Register to, std::int32_t value) { add(BPF_ALU64 | BPF_MOV | BPF_K, to, r0, 0, value); }
  void add_to(Register to, std::int32_t value) { add(BPF_ALU64 | BPF_ADD | BPF_K, to, r0, 0, value); }
  void load(std::uint8_t size, Register to, Register from, std::int32_t offset) { add(static_cast<std::uint8_t>(BPF_LDX | BPF_MEM | size), to, from, static_cast<std::int16_t>(offset), 0); }
  // r2 is where the frame begins, r3 where it ends.
  void require_bytes_up_to(std::int32_t offset) {
    move(r4, r2);
    add_to(r4, offset);
    pass_unless(BPF_JMP | BPF_JGT | BPF_X, r4, r3, 0);
  }
  void require_plain_ipv4_udp() {
    require8(kIpAt, 0x45);
    require16(kIpAt + 6, 0, 0x3fff);  // no fragment; DF does not matter
    require8(kIpAt + 9, kUdpProtocol);
  }
  // Compares 1, 2 or 4 bytes of the packet, under a mask, with those of a value in network order.
  void require(std::uint8_t size, std::int32_t offset, std::uint32_t mask, std::uint32_t value) {
    load(size, r4, r2, offset);
    if (mask != ~0u) add(BPF_ALU | BPF_AND | BPF_K, r4, r0, 0, static_cast<std::int32_t>(mask));
    pass_unless(BPF_JMP32 | BPF_JNE | BPF_K, r4, r0, static_cast<std::int32_t>(value));
  }
  void require8(std::int32_t offset, std::uint8_t value) { require(BPF_B, offset, ~0u, value); }
  void require16(std::int32_t offset, std::uint16_t value, std::uint16_t mask = 0xffff) { require(BPF_H, offset, mask == 0xffff ? ~0u : order(mask), order(value)); }
  void require32(std::int32_t offset, std::uint32_t value, std::uint32_t mask = ~0u) { require(BPF_W, offset, order(mask), order(value)); }
  void require_bytes(std::int32_t offset, const std::uint8_t* bytes, std::int32_t count) {
    for (std::int32_t i = 0; i < count; i += 4) require32(offset + i, wire::load_be<std::uint32_t>(reinterpret_cast<const std::byte*>(bytes + i)));
  }
  void pass_unless(std::uint8_t code, Register a, Register b, std::int32_t value) {
    jumps_.push_back(program_.size());
    add(code, a, b, 0, value);
  }
  void load_map(Register to, int map) {
    add(BPF_LD | BPF_DW | BPF_IMM, to, static_cast<Register>(BPF_PSEUDO_MAP_FD), 0, map);
    add(0, r0, r0, 0, 0);
  }
  void call(std::int32_t function) { add(BPF_JMP | BPF_CALL, r0, r0, 0, function); }
  void exit() { add(BPF_JMP | BPF_EXIT, r0, r0, 0, 0); }
  // What pass_unless() left over jumps to here.
  void land_jumps() noexcept {
    for (const std::size_t at : jumps_) land(at);
    jumps_.clear();
  }
  // A jump to be landed where its target begins.
  [[nodiscard]] std::size_t jump_if(std::uint8_t code, Register a, Register b, std::int32_t value) {
    add(code, a, b, 0, value);
    return program_.size() - 1;
  }
  void land(std::size_t jump) noexcept { program_[jump].offset = static_cast<std::int16_t>(program_.size() - jump - 1); }
  [[nodiscard]] std::vector<XdpInstruction> take() noexcept { return std::move(program_); }

 private:
  void add(std::uint8_t code, Register to, Register from, std::int16_t offset, std::int32_t immediate) {
    program_.push_back({.code = code, .registers = static_cast<std::uint8_t>(from << 4 | to), .offset = offset, .immediate = immediate});
  }
  std::vector<XdpInstruction> program_;
  std::vector<std::size_t> jumps_;
};

// The end of every program: what came so far goes to the socket of its queue, what jumped is passed on. r6 is the context.
std::vector<XdpInstruction> redirect_or_pass(Assembler& program, int map) {
  using A = Assembler;
  program.load(BPF_W, A::r2, A::r6, offsetof(xdp_md, rx_queue_index));
  program.load_map(A::r1, map);
  program.move(A::r3, XDP_PASS);  // what becomes of packets of a queue without a socket
  program.call(BPF_FUNC_redirect_map);
  program.exit();
  program.land_jumps();
  program.move(A::r0, XDP_PASS);
  program.exit();
  return program.take();
}

// r2 is where the frame begins, r3 where it ends.
void require_udp_port(Assembler& program, std::uint16_t port) {
  using A = Assembler;
  constexpr auto udp_end = [](std::size_t ip_bytes) { return static_cast<std::int32_t>(kIpAt + ip_bytes + wire::kUdpHeaderBytes); };
  constexpr std::int32_t port_from_end = 6;  // the destination port, from the end of the UDP header
  // From here on a VLAN tag's bytes count as if they stood in front of the frame.
  program.require_bytes_up_to(kIpAt + static_cast<std::int32_t>(wire::kVlanTagBytes));
  program.load(BPF_H, A::r4, A::r2, kTypeAt);
  const auto untagged = program.jump_if(BPF_JMP32 | BPF_JNE | BPF_K, A::r4, A::r0, order(kVlanType));
  program.add_to(A::r2, wire::kVlanTagBytes);
  program.load(BPF_H, A::r4, A::r2, kTypeAt);
  program.land(untagged);
  const auto is_ipv6 = program.jump_if(BPF_JMP32 | BPF_JEQ | BPF_K, A::r4, A::r0, order(kIpv6Type));
  program.pass_unless(BPF_JMP32 | BPF_JNE | BPF_K, A::r4, A::r0, order(kIpv4Type));
  program.require_bytes_up_to(udp_end(wire::kIpv4HeaderBytes));
  program.require_plain_ipv4_udp();
  program.require16(udp_end(wire::kIpv4HeaderBytes) - port_from_end, port);
  const auto is_ours = program.jump_if(BPF_JMP | BPF_JA, A::r0, A::r0, 0);
  program.land(is_ipv6);
  program.require_bytes_up_to(udp_end(wire::kIpv6HeaderBytes));
  program.require8(kIpAt + 6, kUdpProtocol);
  program.require16(udp_end(wire::kIpv6HeaderBytes) - port_from_end, port);
  program.land(is_ours);
}

}  // namespace

std::vector<XdpInstruction> assemble(const XdpAddressFilter& filter, int map) {
  using A = Assembler;
  const wire::UdpAddress& local = filter.local;
  const auto udp_at = static_cast<std::int32_t>(kIpAt + (local.is_ipv6 ? wire::kIpv6HeaderBytes : wire::kIpv4HeaderBytes));
  const auto payload_at = static_cast<std::int32_t>(udp_at + wire::kUdpHeaderBytes);
  A program;
  program.move(A::r6, A::r1);
  program.load(BPF_W, A::r2, A::r6, offsetof(xdp_md, data));
  program.load(BPF_W, A::r3, A::r6, offsetof(xdp_md, data_end));
  program.require_bytes_up_to(payload_at + kQpnInUdpPayload + 4);
  if (local.is_ipv6) {
    program.require16(kTypeAt, kIpv6Type);
    program.require8(kIpAt + 6, kUdpProtocol);
    program.require_bytes(kIpAt + 24, local.ip.data(), 16);
  } else {
    program.require16(kTypeAt, kIpv4Type);
    program.require_plain_ipv4_udp();
    program.require_bytes(kIpAt + 16, local.ip.data(), 4);
  }
  program.require16(udp_at + 2, local.port);
  if (filter.qpn_mask != 0) program.require32(payload_at + kQpnInUdpPayload, filter.qpn & filter.qpn_mask, filter.qpn_mask);
  return redirect_or_pass(program, map);
}

std::vector<XdpInstruction> assemble(const XdpPortFilter& filter, int map) {
  using A = Assembler;
  A program;
  program.move(A::r6, A::r1);
  if (filter.has_fragments) {
    program.call(BPF_FUNC_xdp_get_buff_len);
    program.pass_unless(BPF_JMP | BPF_JGT | BPF_K, A::r0, A::r0, static_cast<std::int32_t>(filter.max_frame_bytes));
  }
  program.load(BPF_W, A::r2, A::r6, offsetof(xdp_md, data));
  program.load(BPF_W, A::r3, A::r6, offsetof(xdp_md, data_end));
  if (!filter.has_fragments) {
    program.move(A::r4, A::r2);
    program.add_to(A::r4, static_cast<std::int32_t>(filter.max_frame_bytes));
    program.pass_unless(BPF_JMP | BPF_JLT | BPF_X, A::r4, A::r3, 0);
  }
  require_udp_port(program, filter.port);
  return redirect_or_pass(program, map);
}

std::vector<XdpInstruction> assemble_redirect(const XdpPortFilter& filter, unsigned to_device) {
  using A = Assembler;
  constexpr std::int32_t kShortest = kIpAt + wire::kIpv4HeaderBytes + wire::kUdpHeaderBytes + wire::kBthBytes + wire::kIcrcBytes;
  const auto most = static_cast<std::int32_t>(filter.max_frame_bytes);
  A program;
  program.move(A::r6, A::r1);
  program.load(BPF_W, A::r4, A::r6, offsetof(__sk_buff, gso_size));
  const auto is_single = program.jump_if(BPF_JMP | BPF_JEQ | BPF_K, A::r4, A::r0, 0);
  program.pass_unless(BPF_JMP | BPF_JGT | BPF_K, A::r4, A::r0, most - static_cast<std::int32_t>(wire::kMaxFrameHeaderBytes));
  const auto fits = program.jump_if(BPF_JMP | BPF_JA, A::r0, A::r0, 0);
  program.land(is_single);
  program.load(BPF_W, A::r4, A::r6, offsetof(__sk_buff, len));
  program.pass_unless(BPF_JMP | BPF_JGT | BPF_K, A::r4, A::r0, most);
  program.land(fits);
  // The headers are hardly ever anywhere but in the first piece; if they are, they are brought there.
  program.load(BPF_W, A::r2, A::r6, offsetof(__sk_buff, data));
  program.load(BPF_W, A::r3, A::r6, offsetof(__sk_buff, data_end));
  program.move(A::r4, A::r2);
  program.add_to(A::r4, kShortest);
  const auto is_there = program.jump_if(BPF_JMP | BPF_JLE | BPF_X, A::r4, A::r3, 0);
  program.move(A::r1, A::r6);
  program.move(A::r2, static_cast<std::int32_t>(wire::kMaxFrameHeaderBytes));
  program.call(BPF_FUNC_skb_pull_data);
  program.load(BPF_W, A::r2, A::r6, offsetof(__sk_buff, data));
  program.load(BPF_W, A::r3, A::r6, offsetof(__sk_buff, data_end));
  program.land(is_there);
  require_udp_port(program, filter.port);
  program.move(A::r1, static_cast<std::int32_t>(to_device));
  program.move(A::r2, 0);
  program.call(BPF_FUNC_redirect);
  program.exit();
  program.land_jumps();
  program.move(A::r0, kNextProgram);
  program.exit();
  return program.take();
}

}  // namespace ina::net
