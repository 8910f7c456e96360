// bpf.hpp: the bpf system call, and instructions into a program of the kernel's.
// Used by XdpProgram and TcProgram; raw, because libbpf's loaders, dispatchers and pins are more than a process of MPI should carry.
// Does not check instructions: the kernel does.
#pragma once

#include <linux/bpf.h>

#include <string>
#include <vector>

#include "net/descriptor.hpp"
#include "net/xdp_filter.hpp"

namespace ina::net {

[[nodiscard]] int bpf(int command, bpf_attr& attributes) noexcept;
// Throws Error: what, errno's text, and the capabilities if they are missing.
[[noreturn]] void fail_bpf(const std::string& what);

struct BpfLoad {
  bpf_prog_type type;
  unsigned attach_type;
  std::uint32_t flags = 0;
};
[[nodiscard]] Descriptor load_program(const std::vector<XdpInstruction>&, const BpfLoad&);  // throws Error

}  // namespace ina::net
