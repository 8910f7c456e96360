// xdp_program.hpp: an XDP program on a device, that hands packets to AF_XDP sockets and passes everything else on.
// Used by the transport and by the switch. Program, map and attachment belong to descriptors: they are gone when the process is, however it ends.
// Does not share a device: where a program is attached already, attaching fails.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "net/descriptor.hpp"
#include "net/xdp_filter.hpp"

namespace ina::net {

struct XdpProgramOptions {
  std::string device;
  unsigned device_index = 0;
  std::function<std::vector<XdpInstruction>(int map)> assemble;
  bool takes_fragments = false;  // frames in several pieces, which kernels have from 5.18 on: larger than what one page holds
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
