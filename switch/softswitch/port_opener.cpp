#include "ina_config.h"

#include "switch/softswitch/port_opener.hpp"

#include <spdlog/spdlog.h>

#include <limits>

#include "net/error.hpp"
#include "switch/softswitch/listening.hpp"
#include "switch/softswitch/packet_port.hpp"
#include "switch/softswitch/xdp_port.hpp"
#include "wire/frame.hpp"

namespace ina::softswitch {

PortOpener::PortOpener(PortMode mode, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!links_.find(name)) throw SetupError("port " + name + ": there is no such interface (ip link shows those that are here)");
  }
  if (mode != PortMode::kPacket) {
    try {
      open_xdp(names);
      return;
    } catch (const std::exception& error) {
      opened_.clear();
      frames_.reset();
      if (mode == PortMode::kXdp) throw SetupError(std::string("--mode xdp: ") + error.what());
      spdlog::info("packet sockets and no AF_XDP: {}", error.what());
    }
  }
  open_packet(names);
}

void PortOpener::open_xdp(const std::vector<std::string>& names) {
  frames_ = std::make_shared<XdpFrames>(static_cast<std::uint32_t>(names.size() * XdpPort::kFramesPerPort));
  std::string ways;
  for (const std::string& name : names) {
    auto port = std::make_unique<XdpPort>(name, frames_);
    const std::string way = port->way();
    if (ways.find(way) == std::string::npos) ways += (ways.empty() ? "" : "; ") + way;
    opened_.push_back(std::move(port));
  }
  bridge_.emplace(names);
  description_ = "by AF_XDP (" + ways + "), all but RoCE by " + (bridge_->is_own() ? "bridge " + bridge_->name() + " of its own" : "bridge " + bridge_->name());
}

void PortOpener::open_packet(const std::vector<std::string>& names) {
  KernelBridge::remove_left_over(names);
  for (const std::string& name : names) {
    const auto link = links_.find(name);
    if (!link) throw SetupError("port " + name + ": its interface has gone");
    if (const std::string why_not = objection(*link); !why_not.empty()) throw SetupError(why_not);
    opened_.push_back(open(*link));
  }
  description_ = "by packet sockets";
}

std::unique_ptr<FramePort> PortOpener::open(const net::Link& link) {
  if (frames_ == nullptr) return std::make_unique<PacketPort>(link.name, link.index);
  auto port = std::make_unique<XdpPort>(link.name, frames_);
  if (bridge_) bridge_->join(link.name);
  return port;
}

std::string PortOpener::objection(const net::Link& link) {
  if (frames_ != nullptr || link.master == 0) return {};  // in xdp mode a port is where the operator puts it
  const auto master = links_.find(link.master);
  const std::string way_out = "; take it out with ip link set " + link.name + " nomaster, or let AF_XDP leave the other frames to the bridge (--mode xdp)";
  if (master && master->kind == "bridge") return "port " + link.name + " is a port of the kernel's bridge " + master->name + ", which would forward every frame once more" + way_out;
  return "port " + link.name + " belongs to another interface" + (master ? ", " + master->name : "") + "; take it out with ip link set " + link.name + " nomaster";
}

std::size_t PortOpener::max_ip_bytes() const noexcept {
  if (frames_ == nullptr) return std::numeric_limits<std::size_t>::max();
  // A tag in the frame, and what SideEntry keeps free for one beside it. Hosts that use IPv6 know what it takes of their MTU, not of this.
  return XdpPort::kMaxFrameBytes - wire::kEthernetBytes - 2 * wire::kVlanTagBytes - (wire::kIpv6HeaderBytes - wire::kIpv4HeaderBytes);
}

}  // namespace ina::softswitch
