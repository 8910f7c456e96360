// xdp_filter.hpp: which packets a program hands to AF_XDP sockets, and the instructions that find them.
// Used by the owners of XdpProgram and TcProgram: the transport, which takes what is for its own address, and the switch, which takes all that is RoCE.
// Loads nothing into the kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/address.hpp"

namespace ina::net {

// An instruction as the kernel takes it (struct bpf_insn).
struct XdpInstruction {
  std::uint8_t code;
  std::uint8_t registers;  // source << 4 | destination
  std::int16_t offset;
  std::int32_t immediate;
};

// UDP to this address and port, without VLAN tag, IP options, extension headers or fragments, whose destination QPN is in the block (of
// the bits in the mask).
struct XdpAddressFilter {
  wire::UdpAddress local;
  std::uint32_t qpn = 0;
  std::uint32_t qpn_mask = 0;  // 0: all
};

// UDP to this port of any address, with at most one VLAN tag, without IP options, extension headers or fragments, in frames up to a size.
struct XdpPortFilter {
  std::uint16_t port = 0;
  std::uint32_t max_frame_bytes = 0;
  bool has_fragments = false;  // frames may lie in several pieces: the program asks the kernel how long they are
};

[[nodiscard]] std::vector<XdpInstruction> assemble(const XdpAddressFilter&, int map);
[[nodiscard]] std::vector<XdpInstruction> assemble(const XdpPortFilter&, int map);
// The same for a place behind the driver, where frames are socket buffers: what fits is sent out by a device. The tag may be beside the
// frame there, and a super-frame counts by its segments.
[[nodiscard]] std::vector<XdpInstruction> assemble_redirect(const XdpPortFilter&, unsigned to_device);

}  // namespace ina::net
