// xdp_program.hpp: the XDP program that hands the UDP packets of one address to AF_XDP sockets, and passes everything else on.
// Used by XdpIo. Program, map and attachment belong to descriptors: they are gone when the process is, however it ends.
// Does not share a device: where a program is attached already, attaching fails.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/descriptor.hpp"
#include "wire/address.hpp"

namespace ina::net {

// An instruction as the kernel takes it (struct bpf_insn).
struct XdpInstruction {
  std::uint8_t code;
  std::uint8_t registers;  // source << 4 | destination
  std::int16_t offset;
  std::int32_t immediate;
};

// Which packets are taken: UDP to this address and port, without IP options, extension headers or fragments, whose destination QPN is
// in the block (of the bits in the mask).
struct XdpFilter {
  wire::UdpAddress local;
  std::uint32_t qpn = 0;
  std::uint32_t qpn_mask = 0;  // 0: all
};

[[nodiscard]] std::vector<XdpInstruction> assemble(const XdpFilter&, int map);

struct XdpProgramOptions {
  std::string device;
  unsigned device_index = 0;
  XdpFilter filter;
  unsigned queues = 1;           // how many sockets the map has room for
  bool prefers_generic = false;  // leave the driver's XDP alone
};

class XdpProgram {
 public:
  explicit XdpProgram(const XdpProgramOptions&);  // throws Error

  // Packets of this receive queue go to this AF_XDP socket from now on. Throws Error.
  void redirect(unsigned queue, int socket);
  // The driver runs it; else the kernel does, behind the driver, where packets are copied once more.
  [[nodiscard]] bool is_native() const noexcept { return is_native_; }

 private:
  void attach(const XdpProgramOptions&);

  Descriptor map_;
  Descriptor program_;
  Descriptor link_;
  bool is_native_ = false;
};

}  // namespace ina::net
