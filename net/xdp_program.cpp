#include "net/xdp_program.hpp"

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "net/error.hpp"
#include "wire/frame.hpp"

namespace ina::net {
namespace {

static_assert(sizeof(XdpInstruction) == sizeof(bpf_insn));

constexpr std::int32_t kTypeAt = 12;
constexpr std::int32_t kIpAt = wire::kEthernetBytes;
constexpr std::int32_t kQpnInUdpPayload = 4;  // the BTH's second word: reserved byte, QPN

int bpf(int command, bpf_attr& attributes) noexcept { return static_cast<int>(syscall(__NR_bpf, command, &attributes, sizeof attributes)); }

[[noreturn]] void fail(const std::string& what) {
  const bool may_not = errno == EPERM || errno == EACCES;
  throw Error(Failure::kSystem, what + ": " + std::strerror(errno) + (may_not ? " (AF_XDP needs CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW)" : ""));
}

// A program in the making: every comparison that does not hold jumps to the end, where the packet is passed on.
class Assembler {
 public:
  enum Register : std::uint8_t { r0, r1, r2, r3, r4, r5, r6 };

  void move(Register to, Register from) { add(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void move(Register to, std::int32_t value) { add(BPF_ALU64 | BPF_MOV | BPF_K, to, r0, 0, value); }
  void add_to(Register to, std::int32_t value) { add(BPF_ALU64 | BPF_ADD | BPF_K, to, r0, 0, value); }
  void load(std::uint8_t size, Register to, Register from, std::int32_t offset) { add(static_cast<std::uint8_t>(BPF_LDX | BPF_MEM | size), to, from, static_cast<std::int16_t>(offset), 0); }
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
  void land_jumps() noexcept {
    for (const std::size_t at : jumps_) program_[at].offset = static_cast<std::int16_t>(program_.size() - at - 1);
  }
  [[nodiscard]] std::vector<XdpInstruction> take() noexcept { return std::move(program_); }

 private:
  template <typename T>
  static T order(T value) noexcept {
    return std::endian::native == std::endian::little ? wire::byte_swapped(value) : value;
  }
  void add(std::uint8_t code, Register to, Register from, std::int16_t offset, std::int32_t immediate) {
    program_.push_back({.code = code, .registers = static_cast<std::uint8_t>(from << 4 | to), .offset = offset, .immediate = immediate});
  }
  std::vector<XdpInstruction> program_;
  std::vector<std::size_t> jumps_;
};

}  // namespace

std::vector<XdpInstruction> assemble(const XdpFilter& filter, int map) {
  using A = Assembler;
  const wire::UdpAddress& local = filter.local;
  const auto udp_at = static_cast<std::int32_t>(kIpAt + (local.is_ipv6 ? wire::kIpv6HeaderBytes : wire::kIpv4HeaderBytes));
  const auto payload_at = static_cast<std::int32_t>(udp_at + wire::kUdpHeaderBytes);
  A program;
  program.move(A::r6, A::r1);
  program.load(BPF_W, A::r2, A::r6, offsetof(xdp_md, data));
  program.load(BPF_W, A::r3, A::r6, offsetof(xdp_md, data_end));
  program.move(A::r4, A::r2);
  program.add_to(A::r4, payload_at + kQpnInUdpPayload + 4);
  program.pass_unless(BPF_JMP | BPF_JGT | BPF_X, A::r4, A::r3, 0);
  if (local.is_ipv6) {
    program.require16(kTypeAt, 0x86dd);
    program.require8(kIpAt + 6, 17);
    program.require_bytes(kIpAt + 24, local.ip.data(), 16);
  } else {
    program.require16(kTypeAt, 0x0800);
    program.require8(kIpAt, 0x45);
    program.require16(kIpAt + 6, 0, 0x3fff);  // no fragment; DF does not matter
    program.require8(kIpAt + 9, 17);
    program.require_bytes(kIpAt + 16, local.ip.data(), 4);
  }
  program.require16(udp_at + 2, local.port);
  if (filter.qpn_mask != 0) program.require32(payload_at + kQpnInUdpPayload, filter.qpn & filter.qpn_mask, filter.qpn_mask);
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

XdpProgram::XdpProgram(const XdpProgramOptions& options) {
  bpf_attr map{};
  map.map_type = BPF_MAP_TYPE_XSKMAP;
  map.key_size = map.value_size = 4;
  map.max_entries = options.queues;
  map_ = Descriptor(bpf(BPF_MAP_CREATE, map));
  if (!map_) fail("cannot create a map of AF_XDP sockets");
  const auto instructions = assemble(options.filter, map_.get());
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_XDP;
  load.insns = reinterpret_cast<std::uintptr_t>(instructions.data());
  load.insn_cnt = static_cast<std::uint32_t>(instructions.size());
  load.license = reinterpret_cast<std::uintptr_t>("BSD");
  load.expected_attach_type = BPF_XDP;
  std::memcpy(load.prog_name, "ina", 4);
  program_ = Descriptor(bpf(BPF_PROG_LOAD, load));
  if (!program_) fail("cannot load an XDP program");
  attach(options);
}

void XdpProgram::attach(const XdpProgramOptions& options) {
  bpf_attr create{};
  create.link_create.prog_fd = static_cast<std::uint32_t>(program_.get());
  create.link_create.target_ifindex = options.device_index;
  create.link_create.attach_type = BPF_XDP;
  for (const std::uint32_t mode : {XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE}) {
    if (mode == XDP_FLAGS_DRV_MODE && options.prefers_generic) continue;
    create.link_create.flags = mode;
    link_ = Descriptor(bpf(BPF_LINK_CREATE, create));
    is_native_ = mode == XDP_FLAGS_DRV_MODE;
    if (link_) return;
    if (errno == EBUSY || errno == EEXIST) throw Error(Failure::kSystem, "device " + options.device + " has an XDP program already: one process a device can use AF_XDP");
  }
  fail("cannot attach an XDP program to device " + options.device);
}

void XdpProgram::redirect(unsigned queue, int socket) {
  bpf_attr update{};
  update.map_fd = static_cast<std::uint32_t>(map_.get());
  update.key = reinterpret_cast<std::uintptr_t>(&queue);
  update.value = reinterpret_cast<std::uintptr_t>(&socket);
  if (bpf(BPF_MAP_UPDATE_ELEM, update) != 0) fail("cannot redirect a receive queue to an AF_XDP socket");
}

}  // namespace ina::net
