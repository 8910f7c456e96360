#include "net/xdp_program.hpp"

#include <linux/bpf.h>
#include <linux/if_link.h>

#include <cerrno>

#include "net/bpf.hpp"
#include "net/error.hpp"

namespace ina::net {
XdpProgram::XdpProgram(const XdpProgramOptions& options) {
  bpf_attr map{};
  map.map_type = BPF_MAP_TYPE_XSKMAP;
  map.key_size = map.value_size = 4;
  map.max_entries = options.queues;
  map_ = Descriptor(bpf(BPF_MAP_CREATE, map));
  if (!map_) fail_bpf("cannot create a map of AF_XDP sockets");
  program_ = load_program(options.assemble(map_.get()),
                          {.type = BPF_PROG_TYPE_XDP, .attach_type = BPF_XDP, .flags = options.takes_fragments ? BPF_F_XDP_HAS_FRAGS : 0});
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
  fail_bpf("cannot attach an XDP program to device " + options.device);
}

void XdpProgram::redirect(unsigned queue, int socket) {
  bpf_attr update{};
  update.map_fd = static_cast<std::uint32_t>(map_.get());
  update.key = reinterpret_cast<std::uintptr_t>(&queue);
  update.value = reinterpret_cast<std::uintptr_t>(&socket);
  if (bpf(BPF_MAP_UPDATE_ELEM, update) != 0) fail_bpf("cannot redirect a receive queue to an AF_XDP socket");
}

}  // namespace ina::net
