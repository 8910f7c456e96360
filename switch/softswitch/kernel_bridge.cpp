#include "switch/softswitch/kernel_bridge.hpp"

#include "net/error.hpp"

namespace ina::softswitch {
namespace {

constexpr const char* kNamePrefix = "inabr";

net::Link must_find(net::Links& links, const std::string& port) {
  auto link = links.find(port);
  if (!link) throw net::Error(net::Failure::kInvalid, "there is no interface " + port);
  return *std::move(link);
}

void remove_if_left_over(net::Links& links, unsigned master) {
  const auto bridge = master != 0 ? links.find(master) : std::nullopt;
  if (bridge && KernelBridge::is_ours(*bridge)) links.remove(bridge->index);
}

}  // namespace

bool KernelBridge::is_ours(const net::Link& link) { return link.kind == "bridge" && link.name.rfind(kNamePrefix, 0) == 0; }

void KernelBridge::remove_left_over(const std::vector<std::string>& ports) {
  net::Links links;
  for (const std::string& port : ports) {
    if (const auto link = links.find(port)) remove_if_left_over(links, link->master);
  }
}

KernelBridge::KernelBridge(const std::vector<std::string>& ports) {
  const net::Link* operators = nullptr;  // the operator's bridge
  std::vector<net::Link> masters;
  masters.reserve(ports.size());
  std::size_t members = 0;
  for (const std::string& port : ports) {
    const net::Link link = must_find(links_, port);
    const auto master = link.master != 0 ? links_.find(link.master) : std::nullopt;
    if (!master || is_ours(*master)) continue;
    if (master->kind != "bridge") throw net::Error(net::Failure::kInvalid, "interface " + port + " belongs to " + master->name + ", which is no bridge");
    masters.push_back(*master);
    if (operators == nullptr) operators = &masters.front();
    if (master->index != operators->index) throw net::Error(net::Failure::kInvalid, "ports belong to different bridges, " + operators->name + " and " + master->name);
    ++members;
  }
  if (operators == nullptr) {
    make(ports);
    return;
  }
  if (members != ports.size()) {
    throw net::Error(net::Failure::kInvalid, "some ports belong to bridge " + operators->name + " and some to none: make all of them members of it, or none");
  }
  name_ = operators->name;
  index_ = operators->index;
}

void KernelBridge::make(const std::vector<std::string>& ports) {
  for (const std::string& port : ports) remove_if_left_over(links_, must_find(links_, port).master);
  name_ = kNamePrefix + std::to_string(must_find(links_, ports.front()).index);
  if (const auto left_over = links_.find(name_); left_over && is_ours(*left_over)) links_.remove(left_over->index);
  links_.make_bridge(name_);
  is_own_ = true;
  index_ = must_find(links_, name_).index;
  try {
    for (const std::string& port : ports) join(port);
  } catch (const net::Error&) {
    links_.remove(index_);
    throw;
  }
}

void KernelBridge::join(const std::string& port) {
  if (!is_own_) return;
  const net::Link link = must_find(links_, port);
  if (link.master != index_) links_.set_master(link.index, index_);
}

KernelBridge::~KernelBridge() {
  if (!is_own_) return;
  try {
    links_.remove(index_);
  } catch (const net::Error&) {  // somebody else has removed it
  }
}

}  // namespace ina::softswitch
