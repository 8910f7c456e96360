#include "net/xdp_program.hpp"

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "net/error.hpp"

namespace ina::net {
namespace {

int bpf(int command, bpf_attr& attributes) noexcept { return static_cast<int>(syscall(__NR_bpf, command, &attributes, sizeof attributes)); }

[[noreturn]] void fail(const std::string& what) {
  const bool may_not = errno == EPERM || errno == EACCES;
  throw Error(Failure::kSystem, what + ": " + std::strerror(errno) + (may_not ? " (AF_XDP needs CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW)" : ""));
}

}  // namespace

XdpProgram::XdpProgram(const XdpProgramOptions& options) {
  bpf_attr map{};
  map.map_type = BPF_MAP_TYPE_XSKMAP;
  map.key_size = map.value_size = 4;
  map.max_entries = options.queues;
  map_ = Descriptor(bpf(BPF_MAP_CREATE, map));
  if (!map_) fail("cannot create a map of AF_XDP sockets");
  load(options.assemble(map_.get()), options.takes_fragments);
  attach(options);
}

void XdpProgram::load(const std::vector<XdpInstruction>& instructions, bool takes_fragments) {
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_XDP;
  load.insns = reinterpret_cast<std::uintptr_t>(instructions.data());
  load.insn_cnt = static_cast<std::uint32_t>(instructions.size());
  load.license = reinterpret_cast<std::uintptr_t>("BSD");
  load.expected_attach_type = BPF_XDP;
  load.prog_flags = takes_fragments ? BPF_F_XDP_HAS_FRAGS : 0;
  std::memcpy(load.prog_name, "ina", 4);
  program_ = Descriptor(bpf(BPF_PROG_LOAD, load));
  if (!program_) fail("cannot load an XDP program");
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
