#include "net/tc_program.hpp"

#include "net/bpf.hpp"

namespace ina::net {
namespace {

constexpr unsigned kTcxIngress = 46;  // BPF_TCX_INGRESS, which older headers have not

}  // namespace

TcProgram::TcProgram(const std::string& device, unsigned device_index, const XdpPortFilter& filter, unsigned to_device_index)
    : program_(load_program(assemble_redirect(filter, to_device_index), {.type = BPF_PROG_TYPE_SCHED_CLS, .attach_type = kTcxIngress})) {
  bpf_attr create{};
  create.link_create.prog_fd = static_cast<std::uint32_t>(program_.get());
  create.link_create.target_ifindex = device_index;
  create.link_create.attach_type = kTcxIngress;
  link_ = Descriptor(bpf(BPF_LINK_CREATE, create));
  if (!link_) fail_bpf("cannot attach a program to what comes from device " + device);
}

}  // namespace ina::net
