// kernel_bridge.hpp: the kernel's bridge that the ports are members of in xdp mode: it forwards all that AF_XDP does not take.
// Used by the program. A bridge of the operator's is used as it is; else one is made, and removed at the end.
// Forwards nothing itself. A bridge that a killed switch has left goes on forwarding, and is replaced by the next switch on its ports.
#pragma once

#include <string>
#include <vector>

#include "net/links.hpp"

namespace ina::softswitch {

class KernelBridge {
 public:
  // Open the ports' AF_XDP sockets first: they fail if another switch has a port. Throws net::Error.
  explicit KernelBridge(const std::vector<std::string>& ports);
  ~KernelBridge();
  KernelBridge(const KernelBridge&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_own() const noexcept { return is_own_; }
  // An interface that has come back under its name is made a member again if the bridge is our own. Throws net::Error.
  void join(const std::string& port);

  // A bridge that a switch has made, and may have left.
  [[nodiscard]] static bool is_ours(const net::Link&);
  // Takes the ports out of such a bridge and removes it: for a switch that forwards everything itself. Throws net::Error.
  static void remove_left_over(const std::vector<std::string>& ports);

 private:
  void make(const std::vector<std::string>& ports);

  net::Links links_;
  std::string name_;
  unsigned index_ = 0;
  bool is_own_ = false;
};

}  // namespace ina::softswitch
