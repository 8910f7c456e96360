// uct_device.hpp: finds the component, memory domain and device of a UCT transport by their names.
// Used by the UCT fabric when it is opened.
// Does not open the interface.
#pragma once

#include <string>

#include "ompi_coll_ina/core/uct_handles.hpp"

namespace ina::core {

struct UctDevice {
  uct_component_h component = nullptr;
  MdHandle md;
  std::string name;  // of the device
};

// transport: a UCT transport name; device: a device name, or empty for the first one that is no loopback if there is such a one. Throws Error.
[[nodiscard]] UctDevice find_uct_device(const std::string& transport, const std::string& device);

}  // namespace ina::core
