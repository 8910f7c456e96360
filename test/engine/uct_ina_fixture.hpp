// uct_ina_fixture.hpp: objects of UCX's public interface for tests of the transport over loopback, in one process.
// Used by the uct_ina_*_test.cpp sources.
// Includes nothing of the transport but its counters.
#pragma once

#include <gtest/gtest.h>

#include <poll.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>
}

#include "ucx_tl/uct_ina_counters.h"

namespace ina::test {

// UCX's log goes to stdout; what a test provokes is expected there.
inline uct_component_h find_component() {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  EXPECT_EQ(uct_query_components(&components, &count), UCS_OK);
  uct_component_h found = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    uct_component_attr_t attr{};
    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
    EXPECT_EQ(uct_component_query(components[i], &attr), UCS_OK);
    if (std::strcmp(attr.name, "ina") == 0) found = components[i];
  }
  uct_release_component_list(components);
  return found;
}

class MemoryDomain {
 public:
  MemoryDomain() : component(find_component()) {
    uct_md_config_t* config = nullptr;
    EXPECT_EQ(uct_md_config_read(component, nullptr, nullptr, &config), UCS_OK);
    EXPECT_EQ(uct_md_open(component, "ina", config, &md), UCS_OK);
    uct_config_release(config);
  }
  ~MemoryDomain() { uct_md_close(md); }
  MemoryDomain(const MemoryDomain&) = delete;
  MemoryDomain& operator=(const MemoryDomain&) = delete;
  uct_component_h component;
  uct_md_h md = nullptr;
};

using Settings = std::vector<std::pair<const char*, const char*>>;

// A worker with one interface on lo.
class Iface {
 public:
  explicit Iface(const MemoryDomain& domain, const Settings& settings = {}) {
    EXPECT_EQ(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async), UCS_OK);
    EXPECT_EQ(uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker), UCS_OK);
    uct_iface_config_t* config = nullptr;
    EXPECT_EQ(uct_md_iface_config_read(domain.md, "ina", nullptr, nullptr, &config), UCS_OK);
    for (const auto& [name, value] : settings) {
      ucs_status_t modified = uct_config_modify(config, name, value);
      if (modified == UCS_ERR_NO_ELEM) modified = uct_config_modify(config, (std::string("INA_") + name).c_str(), value);  // UCX 1.17 and later
      EXPECT_EQ(modified, UCS_OK) << name;
    }
    uct_iface_params_t params{};
    params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE | UCT_IFACE_PARAM_FIELD_ERR_HANDLER | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG;
    params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name = "ina";
    params.mode.device.dev_name = "lo";
    params.err_handler = &Iface::on_error;
    params.err_handler_arg = this;
    status = uct_iface_open(domain.md, worker, &params, config, &iface);
    uct_config_release(config);
    if (status != UCS_OK) return;
    EXPECT_EQ(uct_iface_query(iface, &attr), UCS_OK);
    uct_iface_progress_enable(iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
  }
  ~Iface() {
    if (status == UCS_OK) uct_iface_close(iface);
    uct_worker_destroy(worker);
    ucs_async_context_destroy(async);
  }
  Iface(const Iface&) = delete;
  Iface& operator=(const Iface&) = delete;

  static ucs_status_t on_error(void* self, uct_ep_h, ucs_status_t error) {
    static_cast<Iface*>(self)->errors.push_back(error);
    return UCS_OK;
  }
  ucs_async_context_t* async = nullptr;
  uct_worker_h worker = nullptr;
  uct_iface_h iface = nullptr;
  uct_iface_attr_t attr{};
  ucs_status_t status = UCS_OK;
  std::vector<ucs_status_t> errors;
};

struct Completion {
  Completion() {
    uct.func = [](uct_completion_t*) {};
    uct.count = 1;
    uct.status = UCS_OK;
  }
  bool is_done() const { return uct.count == 0; }
  uct_completion_t uct;
};

class Endpoint {
 public:
  explicit Endpoint(const Iface& owner) : iface(owner) {
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
    params.iface = owner.iface;
    EXPECT_EQ(uct_ep_create(&params, &ep), UCS_OK);
  }
  // Connected in band to that interface.
  Endpoint(const Iface& owner, const Iface& peer) : iface(owner) {
    const std::vector<char> device = device_address(peer);
    const std::vector<char> address = iface_address(peer);
    EXPECT_TRUE(uct_iface_is_reachable(owner.iface, reinterpret_cast<const uct_device_addr_t*>(device.data()), reinterpret_cast<const uct_iface_addr_t*>(address.data())));
    status = create(device, address);
    EXPECT_EQ(status, UCS_OK);
  }
  Endpoint(const Iface& owner, const std::vector<char>& device, const std::vector<char>& address) : iface(owner) { status = create(device, address); }
  static std::vector<char> device_address(const Iface& of) {
    std::vector<char> address(of.attr.device_addr_len);
    EXPECT_EQ(uct_iface_get_device_address(of.iface, reinterpret_cast<uct_device_addr_t*>(address.data())), UCS_OK);
    return address;
  }
  static std::vector<char> iface_address(const Iface& of) {
    std::vector<char> address(of.attr.iface_addr_len);
    EXPECT_EQ(uct_iface_get_address(of.iface, reinterpret_cast<uct_iface_addr_t*>(address.data())), UCS_OK);
    return address;
  }
  ~Endpoint() {
    if (ep != nullptr) uct_ep_destroy(ep);
  }
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ucs_status_t connect(const Endpoint& peer) {
    std::vector<char> device(peer.iface.attr.device_addr_len);
    std::vector<char> address(peer.iface.attr.ep_addr_len);
    EXPECT_EQ(uct_iface_get_device_address(peer.iface.iface, reinterpret_cast<uct_device_addr_t*>(device.data())), UCS_OK);
    EXPECT_EQ(uct_ep_get_address(peer.ep, reinterpret_cast<uct_ep_addr_t*>(address.data())), UCS_OK);
    EXPECT_TRUE(uct_iface_is_reachable(iface.iface, reinterpret_cast<uct_device_addr_t*>(device.data()), nullptr));
    return uct_ep_connect_to_ep(ep, reinterpret_cast<uct_device_addr_t*>(device.data()), reinterpret_cast<uct_ep_addr_t*>(address.data()));
  }
  void destroy() {
    uct_ep_destroy(ep);
    ep = nullptr;
  }
  const Iface& iface;
  uct_ep_h ep = nullptr;
  ucs_status_t status = UCS_OK;

 private:
  ucs_status_t create(const std::vector<char>& device, const std::vector<char>& address) {
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface = iface.iface;
    params.dev_addr = reinterpret_cast<const uct_device_addr_t*>(device.data());
    params.iface_addr = reinterpret_cast<const uct_iface_addr_t*>(address.data());
    return uct_ep_create(&params, &ep);
  }
};

class Memory {
 public:
  Memory(const MemoryDomain& owner, std::size_t length) : domain(owner), bytes(length) {
    EXPECT_EQ(uct_md_mem_reg(domain.md, bytes.data(), length, UCT_MD_MEM_ACCESS_ALL, &memh), UCS_OK);
    std::vector<char> packed(64);
    EXPECT_EQ(uct_md_mkey_pack(domain.md, memh, packed.data()), UCS_OK);
    EXPECT_EQ(uct_rkey_unpack(domain.component, packed.data(), &rkey), UCS_OK);
  }
  ~Memory() {
    uct_rkey_release(domain.component, &rkey);
    uct_md_mem_dereg(domain.md, memh);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::uint64_t address(std::size_t offset = 0) const { return reinterpret_cast<std::uintptr_t>(bytes.data()) + offset; }
  uct_iov_t iov(std::size_t length) const { return {.buffer = const_cast<char*>(bytes.data()), .length = length, .memh = memh, .stride = 0, .count = 1}; }
  const MemoryDomain& domain;
  std::vector<char> bytes;
  uct_mem_h memh = nullptr;
  uct_rkey_bundle_t rkey{};
};

class UctTest : public testing::Test {
 protected:
  explicit UctTest(const Settings& settings = {}) : a(domain, settings), b(domain, settings), ep_a(a), ep_b(b) {
    EXPECT_EQ(ep_a.connect(ep_b), UCS_OK);
    EXPECT_EQ(ep_b.connect(ep_a), UCS_OK);
  }
  // Progresses both sides until the fact is true.
  template <typename Fact>
  bool progress_until(Fact fact) {
    for (std::uint64_t i = 0; i < 20000000; ++i) {
      if (fact()) return true;
      uct_worker_progress(a.worker);
      uct_worker_progress(b.worker);
    }
    return fact();
  }
  MemoryDomain domain;
  Iface a;
  Iface b;
  Endpoint ep_a;
  Endpoint ep_b;
};

}  // namespace ina::test
