#include "net/links.hpp"

#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/veth.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "net/error.hpp"

namespace ina::net {
namespace {

// Everything but what bridges must never pass on (spanning tree, pause, LACP): 01:80:c2:00:00:03 to :0f.
constexpr std::uint16_t kForwardLinkLocal = 0xfff8;

std::string text_of(std::span<const std::byte> value) {
  const auto* const text = reinterpret_cast<const char*>(value.data());
  return {text, strnlen(text, value.size())};
}

std::string kind_of(std::span<const std::byte> info) {
  std::string kind;
  for_each_nested(info, [&](std::uint16_t type, std::span<const std::byte> value) {
    if (type == IFLA_INFO_KIND) kind = text_of(value);
  });
  return kind;
}

}  // namespace

Links::Links() : netlink_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {
  if (!netlink_) throw Error(Failure::kSystem, std::string("cannot ask for links: ") + std::strerror(errno));
}

std::span<const std::byte> Links::answer(NetlinkRequest& request) noexcept {
  const auto bytes = request.bytes();
  if (::send(netlink_.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  for (;;) {
    const auto got = ::recv(netlink_.get(), answer_.data(), answer_.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < static_cast<ssize_t>(sizeof(nlmsghdr))) return {};
    nlmsghdr header;
    std::memcpy(&header, answer_.data(), sizeof header);
    if (header.nlmsg_seq != sequence_) continue;
    if (header.nlmsg_len > static_cast<std::size_t>(got)) {
      errno = EMSGSIZE;
      return {};
    }
    const std::span<const std::byte> message(answer_.data(), header.nlmsg_len);
    if (header.nlmsg_type != NLMSG_ERROR) return message;
    const auto error = fixed_part<nlmsgerr>(message);
    errno = error ? -error->error : EPROTO;
    return error && error->error == 0 ? message : std::span<const std::byte>{};
  }
}

std::optional<Link> Links::ask(const ifinfomsg& which, const std::string* name) {
  NetlinkRequest request(RTM_GETLINK, 0, ++sequence_, which);
  if (name != nullptr) request.add(IFLA_IFNAME, name->c_str(), name->size() + 1);
  const auto message = answer(request);
  const auto fixed = fixed_part<ifinfomsg>(message);
  if (!fixed) return std::nullopt;
  Link link{.index = static_cast<unsigned>(fixed->ifi_index), .is_up = (fixed->ifi_flags & IFF_UP) != 0, .name = {}, .kind = {}};
  for_each_attribute(message, sizeof(ifinfomsg), [&](std::uint16_t type, std::span<const std::byte> value) {
    if (type == IFLA_MASTER && value.size() == sizeof link.master) std::memcpy(&link.master, value.data(), sizeof link.master);
    if (type == IFLA_MTU && value.size() == sizeof link.mtu) std::memcpy(&link.mtu, value.data(), sizeof link.mtu);
    if (type == IFLA_IFNAME) link.name = text_of(value);
    if (type == IFLA_LINKINFO) link.kind = kind_of(value);
  });
  return link;
}

std::optional<Link> Links::find(const std::string& name) {
  if (name.empty() || name.size() >= IFNAMSIZ) return std::nullopt;
  return ask(ifinfomsg{}, &name);
}

std::optional<Link> Links::find(unsigned index) {
  ifinfomsg which{};
  which.ifi_index = static_cast<int>(index);
  return ask(which, nullptr);
}

void Links::command(NetlinkRequest& request, const std::string& what) {
  if (!answer(request).empty()) return;
  const int error = errno;
  throw Error(Failure::kSystem, what + ": " + std::strerror(error) + (error == EPERM ? " (it needs CAP_NET_ADMIN)" : error == EOPNOTSUPP ? " (has the kernel bridges?)" : ""));
}

void Links::make_bridge(const std::string& name) {
  NetlinkRequest request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, ++sequence_, ifinfomsg{});
  request.add(IFLA_IFNAME, name.c_str(), name.size() + 1);
  const std::size_t info = request.begin(IFLA_LINKINFO);
  request.add(IFLA_INFO_KIND, "bridge", sizeof "bridge");
  const std::size_t data = request.begin(IFLA_INFO_DATA);
  request.add(IFLA_BR_GROUP_FWD_MASK, &kForwardLinkLocal, sizeof kForwardLinkLocal);
  const std::uint8_t no_snooping = 0;
  request.add(IFLA_BR_MCAST_SNOOPING, &no_snooping, sizeof no_snooping);
  request.end(data);
  request.end(info);
  command(request, "cannot make bridge " + name);
  take_up_without_address(name);
}

void Links::make_veth(const std::string& one, const std::string& other, std::uint32_t mtu) {
  NetlinkRequest request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, ++sequence_, ifinfomsg{});
  request.add(IFLA_IFNAME, one.c_str(), one.size() + 1);
  request.add(IFLA_MTU, &mtu, sizeof mtu);
  const std::size_t info = request.begin(IFLA_LINKINFO);
  request.add(IFLA_INFO_KIND, "veth", sizeof "veth");
  const std::size_t data = request.begin(IFLA_INFO_DATA);
  const std::size_t peer = request.begin(VETH_INFO_PEER);
  request.append(ifinfomsg{});
  request.add(IFLA_IFNAME, other.c_str(), other.size() + 1);
  request.add(IFLA_MTU, &mtu, sizeof mtu);
  request.end(peer);
  request.end(data);
  request.end(info);
  command(request, "cannot make devices " + one + " and " + other);
  take_up_without_address(one);
  take_up_without_address(other);
}

void Links::take_up_without_address(const std::string& name) {
  const auto made = find(name);
  if (!made) throw Error(Failure::kSystem, "device " + name + " is gone as soon as it is made");
  ifinfomsg which{};
  which.ifi_index = static_cast<int>(made->index);
  NetlinkRequest no_address(RTM_SETLINK, NLM_F_ACK, ++sequence_, which);
  const std::size_t families = no_address.begin(IFLA_AF_SPEC);
  const std::size_t ipv6 = no_address.begin(AF_INET6);
  const std::uint8_t mode = 1;  // IN6_ADDR_GEN_MODE_NONE
  no_address.add(IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof mode);
  no_address.end(ipv6);
  no_address.end(families);
  (void)answer(no_address);  // refused by a kernel without IPv6
  set_up(made->index);
}

void Links::set_master(unsigned index, unsigned master) {
  ifinfomsg fixed{};
  fixed.ifi_index = static_cast<int>(index);
  NetlinkRequest request(RTM_SETLINK, NLM_F_ACK, ++sequence_, fixed);
  request.add(IFLA_MASTER, &master, sizeof master);
  command(request, "cannot change the bridge of interface " + std::to_string(index));
}

void Links::set_up(unsigned index) {
  ifinfomsg fixed{};
  fixed.ifi_index = static_cast<int>(index);
  fixed.ifi_flags = fixed.ifi_change = IFF_UP;
  NetlinkRequest request(RTM_SETLINK, NLM_F_ACK, ++sequence_, fixed);
  command(request, "cannot take interface " + std::to_string(index) + " up");
}

void Links::remove(unsigned index) {
  ifinfomsg fixed{};
  fixed.ifi_index = static_cast<int>(index);
  NetlinkRequest request(RTM_DELLINK, NLM_F_ACK, ++sequence_, fixed);
  command(request, "cannot remove interface " + std::to_string(index));
}

}  // namespace ina::net
