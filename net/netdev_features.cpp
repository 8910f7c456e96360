#include "net/netdev_features.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "net/descriptor.hpp"

namespace ina::net {
namespace {

bool ask(int descriptor, const std::string& device, void* question) noexcept {
  ifreq request{};
  device.copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_data = static_cast<char*>(question);
  return ioctl(descriptor, SIOCETHTOOL, &request) == 0;
}

// Room for one of ethtool's structures, which end with an array, in units that it may be accessed in.
template <typename Header>
std::vector<std::uint64_t> room_for(std::size_t array_bytes) {
  return std::vector<std::uint64_t>((sizeof(Header) + array_bytes) / sizeof(std::uint64_t) + 1);
}

std::optional<std::uint32_t> count_features(int descriptor, const std::string& device) {
  auto room = room_for<ethtool_sset_info>(sizeof(std::uint32_t));
  auto* const info = reinterpret_cast<ethtool_sset_info*>(room.data());
  info->cmd = ETHTOOL_GSSET_INFO;
  info->sset_mask = std::uint64_t{1} << ETH_SS_FEATURES;
  if (!ask(descriptor, device, info) || info->sset_mask == 0) return std::nullopt;
  return info->data[0];
}

std::optional<std::uint32_t> find_feature(int descriptor, const std::string& device, std::uint32_t count, const char* name) {
  auto room = room_for<ethtool_gstrings>(std::size_t{count} * ETH_GSTRING_LEN);
  auto* const names = reinterpret_cast<ethtool_gstrings*>(room.data());
  names->cmd = ETHTOOL_GSTRINGS;
  names->string_set = ETH_SS_FEATURES;
  names->len = count;
  if (!ask(descriptor, device, names)) return std::nullopt;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (std::strncmp(reinterpret_cast<const char*>(&names->data[std::size_t{i} * ETH_GSTRING_LEN]), name, ETH_GSTRING_LEN) == 0) return i;
  }
  return std::nullopt;
}

std::optional<bool> is_feature_on(const std::string& device, const char* name) {
  const Descriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto count = count_features(any.get(), device);
  if (!count) return std::nullopt;
  const auto feature = find_feature(any.get(), device, *count, name);
  if (!feature) return std::nullopt;
  constexpr std::uint32_t kBlockBits = 32;
  const std::uint32_t blocks = (*count + kBlockBits - 1) / kBlockBits;
  auto room = room_for<ethtool_gfeatures>(blocks * sizeof(ethtool_get_features_block));
  auto* const features = reinterpret_cast<ethtool_gfeatures*>(room.data());
  features->cmd = ETHTOOL_GFEATURES;
  features->size = blocks;
  if (!ask(any.get(), device, features)) return std::nullopt;
  return (features->features[*feature / kBlockBits].active >> *feature % kBlockBits & 1) != 0;
}

}  // namespace

bool takes_large_datagrams(const std::string& device) noexcept {
  try {
    return is_feature_on(device, "tx-udp-segmentation").value_or(true);
  } catch (const std::bad_alloc&) {
    return true;
  }
}

}  // namespace ina::net
