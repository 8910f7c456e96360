// link_watch.hpp: a descriptor that tells when anything about network interfaces has changed.
// Used by the switch in the wire, whose ports are interfaces that come and go.
// Does not say what has changed: events may be lost, so whoever is woken asks (links.hpp).
#pragma once

#include "net/descriptor.hpp"

namespace ina::net {

class LinkWatch {
 public:
  LinkWatch();  // throws Error
  [[nodiscard]] int descriptor() const noexcept { return netlink_.get(); }
  // Reads what is there. True: something has changed since the last call.
  [[nodiscard]] bool has_changed() noexcept;

 private:
  Descriptor netlink_;
};

}  // namespace ina::net
