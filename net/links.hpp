// links.hpp: the links of this network namespace by rtnetlink: what one is, and making, joining and removing bridges and veth pairs.
// Used at set-up by the switch, which needs its ports in a kernel bridge where AF_XDP takes only some of the frames.
// Listens to no events, and keeps nothing: every call asks the system.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "net/descriptor.hpp"
#include "net/netlink_message.hpp"

namespace ina::net {

struct Link {
  unsigned index = 0;
  unsigned master = 0;  // 0: none
  std::uint32_t mtu = 0;
  bool is_up = false;
  std::string name;
  std::string kind;  // "bridge", "veth"; empty: hardware
};

class Links {
 public:
  Links();  // throws Error
  [[nodiscard]] std::optional<Link> find(const std::string& name);
  [[nodiscard]] std::optional<Link> find(unsigned index);
  // A bridge that is up, forwards all that it can, and has no address of its own. The others change a link. All throw Error.
  void make_bridge(const std::string& name);
  // Two devices that are up, without addresses: what one sends the other receives.
  void make_veth(const std::string& one, const std::string& other, std::uint32_t mtu);
  void set_master(unsigned index, unsigned master);  // 0: out of its bridge
  void set_up(unsigned index);
  void remove(unsigned index);

 private:
  void take_up_without_address(const std::string& name);
  [[nodiscard]] std::optional<Link> ask(const ifinfomsg&, const std::string* name);
  // The answer's message; empty with errno: the kernel refused.
  [[nodiscard]] std::span<const std::byte> answer(NetlinkRequest&) noexcept;
  void command(NetlinkRequest&, const std::string& what);

  Descriptor netlink_;
  std::uint32_t sequence_ = 0;
  alignas(8) std::array<std::byte, 16384> answer_{};
};

}  // namespace ina::net
