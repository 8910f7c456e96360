// side_entry.hpp: a way for RoCE packets beside a virtual interface: a program takes them off where they enter the kernel and sends them
// through a veth pair, whose far end has the AF_XDP socket. All other frames stay as they are; an XDP program on the interface would copy each.
// Used by XdpPort. On its way through the pair a packet gets its tag, its checksum, and super-frames become packets.
// Does not send: what leaves the port leaves by the interface itself. A killed switch leaves the pair, without its program: nothing uses it.
#pragma once

#include <optional>
#include <string>

#include "net/links.hpp"
#include "net/tc_program.hpp"
#include "net/xdp_filter.hpp"

namespace ina::softswitch {

class SideEntry {
 public:
  // Throws net::Error: the kernel is too old, or the process may not.
  SideEntry(const std::string& device, unsigned device_index);
  ~SideEntry();
  SideEntry(const SideEntry&) = delete;

  // Where an AF_XDP socket receives.
  [[nodiscard]] const std::string& device() const noexcept { return far_end_; }
  // From now on the packets come there.
  void open(const net::XdpPortFilter&);

 private:
  void remove() noexcept;

  net::Links links_;
  std::string from_;
  unsigned from_index_;
  std::string near_end_, far_end_;
  std::optional<net::TcProgram> program_;
};

}  // namespace ina::softswitch
