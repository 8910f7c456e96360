#include "ucx_tl/engine/next_hop.hpp"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "net/netlink_message.hpp"
#include "ucx_tl/engine/error.hpp"

namespace ina::engine {
namespace {

constexpr std::uint8_t kUsable = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;
constexpr std::uint8_t kCertain = NUD_REACHABLE | NUD_PERMANENT | NUD_NOARP;

std::uint8_t family_of(const wire::UdpAddress& address) noexcept { return address.is_ipv6 ? AF_INET6 : AF_INET; }
std::size_t ip_bytes(const wire::UdpAddress& address) noexcept { return address.is_ipv6 ? 16 : 4; }

}  // namespace

RouteTable::RouteTable(unsigned device_index, const wire::UdpAddress& local)
    : device_index_(device_index), local_(local), netlink_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {
  if (!netlink_) throw Error(Failure::kSystem, std::string("cannot ask for routes: ") + std::strerror(errno));
}

std::span<const std::byte> RouteTable::ask(std::span<const std::byte> question, std::uint16_t answer_type) noexcept {
  const int netlink = netlink_.get();
  if (send(netlink, question.data(), question.size(), MSG_DONTWAIT) != static_cast<ssize_t>(question.size())) return {};
  // The kernel has answered by now. What is left of an older question is passed over.
  for (;;) {
    const auto bytes = recv(netlink, answer_.data(), answer_.size(), MSG_DONTWAIT);
    if (bytes < static_cast<ssize_t>(sizeof(nlmsghdr))) return {};
    nlmsghdr header;
    std::memcpy(&header, answer_.data(), sizeof header);
    if (header.nlmsg_seq != sequence_) continue;
    if (header.nlmsg_type != answer_type || header.nlmsg_len > static_cast<std::size_t>(bytes)) return {};
    return {answer_.data(), header.nlmsg_len};
  }
}

std::optional<wire::UdpAddress> RouteTable::find_gateway(const wire::UdpAddress& to) noexcept {
  rtmsg route{};
  route.rtm_family = family_of(to);
  route.rtm_dst_len = route.rtm_src_len = static_cast<unsigned char>(8 * ip_bytes(to));
  net::NetlinkRequest question(RTM_GETROUTE, 0, ++sequence_, route);
  question.add(RTA_DST, to.ip.data(), ip_bytes(to));
  question.add(RTA_SRC, local_.ip.data(), ip_bytes(to));
  const auto answer = ask(question.bytes(), RTM_NEWROUTE);
  const auto fixed = net::fixed_part<rtmsg>(answer);
  if (!fixed || fixed->rtm_type != RTN_UNICAST) return std::nullopt;
  wire::UdpAddress gateway = to;
  std::uint32_t device = 0;
  net::for_each_attribute(answer, sizeof(rtmsg), [&](std::uint16_t type, std::span<const std::byte> value) {
    if (type == RTA_OIF && value.size() == sizeof device) std::memcpy(&device, value.data(), sizeof device);
    if (type == RTA_GATEWAY && value.size() == ip_bytes(to)) std::memcpy(gateway.ip.data(), value.data(), value.size());
    if (type != RTA_VIA || value.size() < sizeof(rtvia)) return;  // a gateway of the other family
    rtvia via;
    std::memcpy(&via, value.data(), sizeof via);
    gateway = {.ip = {}, .port = 0, .is_ipv6 = via.rtvia_family == AF_INET6};
    const auto ip = value.subspan(sizeof via);
    if (ip.size() == ip_bytes(gateway)) std::memcpy(gateway.ip.data(), ip.data(), ip.size());
  });
  if (device != device_index_) return std::nullopt;
  return gateway;
}

NextHop RouteTable::find_neighbour(const wire::UdpAddress& of) noexcept {
  ndmsg neighbour{};
  neighbour.ndm_family = family_of(of);
  neighbour.ndm_ifindex = static_cast<int>(device_index_);
  net::NetlinkRequest question(RTM_GETNEIGH, 0, ++sequence_, neighbour);
  question.add(NDA_DST, of.ip.data(), ip_bytes(of));
  const auto answer = ask(question.bytes(), RTM_NEWNEIGH);
  const auto fixed = net::fixed_part<ndmsg>(answer);
  NextHop hop;
  if (!fixed || (fixed->ndm_state & kUsable) == 0) return hop;
  hop.is_certain = (fixed->ndm_state & kCertain) != 0;
  net::for_each_attribute(answer, sizeof(ndmsg), [&](std::uint16_t type, std::span<const std::byte> value) {
    if (type != NDA_LLADDR || value.size() != hop.mac.size()) return;
    std::memcpy(hop.mac.data(), value.data(), value.size());
    hop.is_known = true;
  });
  return hop;
}

NextHop RouteTable::find(const wire::UdpAddress& to) noexcept {
  const auto gateway = find_gateway(to);
  return gateway ? find_neighbour(*gateway) : NextHop{};
}

const wire::MacAddress* NextHopCache::find(const wire::UdpAddress& to, Nanoseconds now) noexcept {
  Entry& entry = entries_[wire::UdpAddressHash{}({.ip = to.ip, .port = 0, .is_ipv6 = to.is_ipv6}) % kEntries];
  if (now < entry.until) return entry.ip == to.ip && entry.hop.is_known ? &entry.hop.mac : nullptr;
  const bool was_known = entry.ip == to.ip && entry.hop.is_known;
  entry.ip = to.ip;
  entry.hop = source_.find(to);
  entry.until = now + (entry.hop.is_known ? kValid : kRetry);
  // An uncertain neighbour's packet goes through the kernel, which then asks the neighbour; one that just became known is certain enough.
  const bool let_the_kernel_ask = was_known && !entry.hop.is_certain;
  return entry.hop.is_known && !let_the_kernel_ask ? &entry.hop.mac : nullptr;
}

}  // namespace ina::engine
