#include "ompi_coll_ina/core/uct_device.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "ompi_coll_ina/core/error.hpp"

namespace ina::core {
namespace {

class ComponentList {
 public:
  ComponentList() { require(uct_query_components(&components_, &count_), "cannot list UCX's components"); }
  ~ComponentList() { uct_release_component_list(components_); }
  ComponentList(const ComponentList&) = delete;
  ComponentList& operator=(const ComponentList&) = delete;
  // The components in the order in which they are worth a look: domains of another's transports take time to open.
  [[nodiscard]] std::vector<uct_component_h> most_likely_first(std::string_view transport) const {
    std::vector<uct_component_h> components(components_, components_ + count_);
    std::stable_partition(components.begin(), components.end(), [&](uct_component_h c) { return name(c) == transport; });
    return components;
  }

 private:
  static std::string name(uct_component_h component) {
    uct_component_attr_t attr{};
    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
    return uct_component_query(component, &attr) == UCS_OK ? attr.name : "";
  }
  uct_component_h* components_ = nullptr;
  unsigned count_ = 0;
};

std::vector<uct_md_resource_desc_t> domains(uct_component_h component) {
  uct_component_attr_t attr{};
  attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attr) != UCS_OK) return {};
  std::vector<uct_md_resource_desc_t> found(attr.md_resource_count);
  attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attr.md_resources = found.data();
  if (found.empty() || uct_component_query(component, &attr) != UCS_OK) return {};
  return found;
}

// Null if it cannot be opened: another one may do.
MdHandle open_domain(uct_component_h component, const char* name) {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return nullptr;
  const ConfigHandle<uct_md_config_t> owner(config);
  // A NIC must write a packet's trailer last. Only RDMA domains know the setting.
  static_cast<void>(uct_config_modify(config, "PCI_RELAXED_ORDERING", "off"));
  uct_md_h md = nullptr;
  return uct_md_open(component, name, config, &md) == UCS_OK ? MdHandle(md) : nullptr;
}

// Names of the domain's devices that the transport runs on.
std::vector<std::string> devices(uct_md_h md, std::string_view transport) {
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  std::vector<std::string> found;
  if (uct_md_query_tl_resources(md, &resources, &count) != UCS_OK) return found;
  for (const auto& resource : std::span(resources, count)) {
    if (transport == resource.tl_name) found.emplace_back(resource.dev_name);
  }
  uct_release_tl_resource_list(resources);
  return found;
}

// The wanted name, or any that is no loopback before one that is; end() if there is none.
auto choose(const std::vector<std::string>& names, const std::string& wanted) {
  if (!wanted.empty()) return std::find(names.begin(), names.end(), wanted);
  const auto other = std::find_if(names.begin(), names.end(), [](const std::string& n) { return n != "lo"; });
  return other != names.end() ? other : names.begin();
}

}  // namespace

UctDevice find_uct_device(const std::string& transport, const std::string& device) {
  const ComponentList list;
  bool is_known = false;
  for (uct_component_h component : list.most_likely_first(transport)) {
    for (const auto& domain : domains(component)) {
      MdHandle md = open_domain(component, domain.md_name);
      if (md == nullptr) continue;
      const auto names = devices(md.get(), transport);
      is_known = is_known || !names.empty();
      const auto chosen = choose(names, device);
      if (chosen != names.end()) return {component, std::move(md), *chosen};
    }
  }
  if (is_known) throw Error(Status::kUnsupported, "UCX's transport " + transport + " has no device " + device);
  throw Error(Status::kUnsupported, "UCX has no transport " + transport);
}

}  // namespace ina::core
