// uct_interface.hpp: one opened UCT interface and what belongs to it.
// Used by the UCT fabric (owner) and its rings.
// Does not decide which transport and device to open: that is uct_device.hpp.
#pragma once

#include <string>
#include <vector>

#include "ompi_coll_ina/core/uct_handles.hpp"

namespace ina::core {

class UctRing;

// Members are destroyed in reverse order: interface, worker, domain, context. Rings must be gone by then.
struct UctInterface {
  AsyncHandle async;
  uct_component_h component = nullptr;  // UCX's, lives as long as the process
  MdHandle md;
  WorkerHandle worker;
  IfaceHandle iface;
  uct_md_attr_t md_attr{};
  uct_iface_attr_t attr{};
  std::string transport;
  std::string device;
  std::vector<UctRing*> rings;  // for the error handler
};

}  // namespace ina::core
