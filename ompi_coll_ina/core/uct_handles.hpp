// uct_handles.hpp: owners of UCT's handles, and the text of its statuses.
// Used by the UCT fabric and ring only.
// Does not wrap UCT's functions: the code that uses them calls UCT.
#pragma once

#include <uct/api/uct.h>

#include <memory>
#include <string>

namespace ina::core {

template <auto kRelease>
struct HandleRelease {
  template <typename T>
  void operator()(T* handle) const noexcept { kRelease(handle); }
};

using AsyncHandle = std::unique_ptr<ucs_async_context_t, HandleRelease<&ucs_async_context_destroy>>;
using WorkerHandle = std::unique_ptr<uct_worker, HandleRelease<&uct_worker_destroy>>;
using MdHandle = std::unique_ptr<uct_md, HandleRelease<&uct_md_close>>;
using IfaceHandle = std::unique_ptr<uct_iface, HandleRelease<&uct_iface_close>>;
using EpHandle = std::unique_ptr<uct_ep, HandleRelease<&uct_ep_destroy>>;
// Of uct_md_config_read and uct_md_iface_config_read.
template <typename T>
using ConfigHandle = std::unique_ptr<T, HandleRelease<&uct_config_release>>;

// One registration of memory for a domain.
class Registration {
 public:
  // Throws Error.
  Registration(uct_md_h md, void* memory, std::size_t bytes, unsigned access);
  ~Registration();
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  [[nodiscard]] uct_mem_h handle() const noexcept { return handle_; }

 private:
  uct_md_h md_;
  uct_mem_h handle_ = nullptr;
};

// A peer's remote key. Empty until unpack().
class RemoteKey {
 public:
  RemoteKey() = default;
  ~RemoteKey();
  RemoteKey(const RemoteKey&) = delete;
  RemoteKey& operator=(const RemoteKey&) = delete;
  // Throws Error.
  void unpack(uct_component_h component, const void* packed);
  [[nodiscard]] uct_rkey_t key() const noexcept { return bundle_.rkey; }

 private:
  uct_component_h component_ = nullptr;
  uct_rkey_bundle_t bundle_{};
};

// Throws Error {kUnsupported, "what: status text"} unless it is UCS_OK.
void require(ucs_status_t, const std::string& what);

}  // namespace ina::core
