// port.hpp: the UCT objects of one process of uct_traffic: memory domain, worker, interface, endpoints, registered memory.
// Used by Side.
// Knows nothing of what is sent over them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "test/traffic/channel.hpp"
#include "test/traffic/check.hpp"
#include "test/traffic/options.hpp"

extern "C" {
#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>
}

namespace traffic {

// Memory with a guard on both sides that is not registered and must never change.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::size_t bytes);
  [[nodiscard]] std::byte* data() { return bytes_.data() + kGuard; }
  [[nodiscard]] std::size_t size() const { return bytes_.size() - 2 * kGuard; }
  void check_guards() const;

 private:
  static constexpr std::size_t kGuard = 65536;
  Bytes bytes_;
};

class Port {
 public:
  explicit Port(const Options&);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  [[nodiscard]] uct_mem_h register_memory(std::byte* memory, std::size_t bytes);
  void deregister(uct_mem_h);
  // Addresses of the interface and of every endpoint, the region's address and rkey: what the other side needs.
  [[nodiscard]] Bytes describe(const std::byte* region, uct_mem_h);
  void connect(const Bytes& description_of_peer);
  void destroy_endpoints();

  [[nodiscard]] uct_ep_h ep(unsigned index) const { return eps_[index]; }
  [[nodiscard]] uct_iface_h iface() const { return iface_; }
  [[nodiscard]] const uct_iface_attr_t& attr() const { return attr_; }
  [[nodiscard]] bool can(std::uint64_t flag) const { return (attr_.cap.flags & flag) != 0; }
  [[nodiscard]] unsigned progress() { return uct_worker_progress(worker_); }
  [[nodiscard]] int event_descriptor() const { return event_descriptor_; }
  [[nodiscard]] std::uint64_t peer_region() const { return peer_region_; }
  [[nodiscard]] uct_rkey_t rkey() const { return rkey_.rkey; }

 private:
  void open_md();
  void open_iface();
  static ucs_status_t on_error(void*, uct_ep_h, ucs_status_t);

  Options options_;
  uct_component_h component_ = nullptr;
  uct_md_h md_ = nullptr;
  uct_md_attr_t md_attr_{};
  ucs_async_context_t* async_ = nullptr;
  uct_worker_h worker_ = nullptr;
  uct_iface_h iface_ = nullptr;
  uct_iface_attr_t attr_{};
  std::vector<uct_ep_h> eps_;
  uct_rkey_bundle_t rkey_{};
  std::uint64_t peer_region_ = 0;
  int event_descriptor_ = -1;
};

}  // namespace traffic
