#include "switch/softswitch/side_entry.hpp"

#include "net/error.hpp"
#include "net/netdev.hpp"
#include "net/xdp_socket.hpp"

namespace ina::softswitch {
namespace {

// Whatever fits an AF_XDP socket passes; a native XDP program needs no more room than that.
constexpr std::uint32_t kMtu = net::PacketMemory::kPacketBytes;

}  // namespace

SideEntry::SideEntry(const std::string& device, unsigned device_index)
    : from_(device), from_index_(device_index), near_end_("inato" + std::to_string(device_index)), far_end_("inaxd" + std::to_string(device_index)) {
  remove();  // what a killed switch has left
  links_.make_veth(near_end_, far_end_, kMtu);
  try {
    net::switch_off_offloads(near_end_);
  } catch (const net::Error&) {
    remove();
    throw;
  }
}

SideEntry::~SideEntry() {
  program_.reset();
  remove();
}

void SideEntry::open(const net::XdpPortFilter& filter) {
  const auto near_end = links_.find(near_end_);
  if (!near_end) throw net::Error(net::Failure::kSystem, "device " + near_end_ + " is gone");
  program_.emplace(from_, from_index_, filter, near_end->index);
}

void SideEntry::remove() noexcept {
  try {
    if (const auto near_end = links_.find(near_end_)) links_.remove(near_end->index);
  } catch (const std::exception&) {  // somebody else has removed it
  }
}

}  // namespace ina::softswitch
