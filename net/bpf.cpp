#include "net/bpf.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "net/error.hpp"

namespace ina::net {

int bpf(int command, bpf_attr& attributes) noexcept { return static_cast<int>(syscall(__NR_bpf, command, &attributes, sizeof attributes)); }

void fail_bpf(const std::string& what) {
  const bool may_not = errno == EPERM || errno == EACCES;
  throw Error(Failure::kSystem, what + ": " + std::strerror(errno) + (may_not ? " (AF_XDP needs CAP_BPF, CAP_NET_ADMIN and CAP_NET_RAW)" : ""));
}

Descriptor load_program(const std::vector<XdpInstruction>& instructions, const BpfLoad& how) {
  bpf_attr load{};
  load.prog_type = how.type;
  load.insns = reinterpret_cast<std::uintptr_t>(instructions.data());
  load.insn_cnt = static_cast<std::uint32_t>(instructions.size());
  load.license = reinterpret_cast<std::uintptr_t>("BSD");
  load.expected_attach_type = how.attach_type;
  load.prog_flags = how.flags;
  std::memcpy(load.prog_name, "ina", 4);
  Descriptor program(bpf(BPF_PROG_LOAD, load));
  if (!program) fail_bpf("cannot load a program for AF_XDP");
  return program;
}

}  // namespace ina::net
