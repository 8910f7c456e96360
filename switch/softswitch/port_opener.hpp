// port_opener.hpp: opens the ports of a switch in the wire, by AF_XDP beside a kernel bridge or by packet sockets.
// Used by WirePath, at the start and when an interface comes back.
// Serves no port. All ports are of one kind: between a port that the bridge forwards for and one that it does not, frames would be lost or doubled.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/links.hpp"
#include "switch/softswitch/frame_port.hpp"
#include "switch/softswitch/kernel_bridge.hpp"
#include "switch/softswitch/xdp_frames.hpp"

namespace ina::softswitch {

enum class PortMode : std::uint8_t { kAuto, kXdp, kPacket };

class PortOpener {
 public:
  // Throws SetupError, in auto mode only if neither kind can be opened.
  PortOpener(PortMode, const std::vector<std::string>& names);

  // The ports that the constructor has opened, once, in the order of their names.
  [[nodiscard]] std::vector<std::unique_ptr<FramePort>> take() noexcept { return std::move(opened_); }
  // Throws SetupError or net::Error.
  [[nodiscard]] std::unique_ptr<FramePort> open(const net::Link&);
  // Why an interface cannot be a port; empty: it can.
  [[nodiscard]] std::string objection(const net::Link&);
  [[nodiscard]] bool is_xdp() const noexcept { return frames_ != nullptr; }
  // The longest IPv4 packet that a port takes, whatever the MTU of its interface, and that still fits with the longer header of IPv6.
  [[nodiscard]] std::size_t max_ip_bytes() const noexcept;
  [[nodiscard]] const std::string& description() const noexcept { return description_; }  // "by AF_XDP (...), beside bridge br0"

 private:
  void open_xdp(const std::vector<std::string>& names);
  void open_packet(const std::vector<std::string>& names);

  net::Links links_;
  std::shared_ptr<XdpFrames> frames_;  // none: packet sockets
  std::optional<KernelBridge> bridge_;
  std::vector<std::unique_ptr<FramePort>> opened_;
  std::string description_;
};

}  // namespace ina::softswitch
