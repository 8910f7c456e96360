// tc_program.hpp: a program where frames of a device enter the kernel, that sends those for AF_XDP to another device and leaves the rest alone.
// Used by the switch on devices where an XDP program would slow down everything else (virtual ones, whose frames are socket buffers already).
// Program and attachment belong to descriptors: they are gone when the process is. Other programs at the same place go on working.
#pragma once

#include <string>

#include "net/descriptor.hpp"
#include "net/xdp_filter.hpp"

namespace ina::net {

class TcProgram {
 public:
  // Throws Error; also where the kernel has no such links (before 6.6).
  TcProgram(const std::string& device, unsigned device_index, const XdpPortFilter&, unsigned to_device_index);

 private:
  Descriptor program_;
  Descriptor link_;
};

}  // namespace ina::net
