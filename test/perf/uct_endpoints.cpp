// uct_endpoints: what an idle endpoint costs, of 1,000 on each of two interfaces of this process that have sent one message each.
// Prints a line for each way to connect: its name, and bytes.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" {
#include <ucs/async/async_fwd.h>
#include <uct/api/uct.h>
}

namespace {

constexpr unsigned kEndpoints = 1000;

void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  std::fprintf(stderr, "uct_endpoints: %s: %s\n", what, ucs_status_string(status));
  std::exit(1);
}

struct Domain {
  Domain() {
    uct_component_h* components = nullptr;
    unsigned count = 0;
    check(uct_query_components(&components, &count), "uct_query_components");
    uct_component_h found = nullptr;
    for (unsigned i = 0; i < count; ++i) {
      uct_component_attr_t attr{};
      attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
      check(uct_component_query(components[i], &attr), "uct_component_query");
      if (std::strcmp(attr.name, "ina") == 0) found = components[i];
    }
    uct_release_component_list(components);
    check(found == nullptr ? UCS_ERR_NO_DEVICE : UCS_OK, "the transport");
    uct_md_config_t* config = nullptr;
    check(uct_md_config_read(found, nullptr, nullptr, &config), "uct_md_config_read");
    check(uct_md_open(found, "ina", config, &md), "uct_md_open");
    uct_config_release(config);
    check(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async), "ucs_async_context_create");
    check(uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker), "uct_worker_create");
  }
  uct_md_h md = nullptr;
  ucs_async_context_t* async = nullptr;
  uct_worker_h worker = nullptr;
};

struct Iface {
  explicit Iface(const Domain& domain) {
    uct_iface_config_t* config = nullptr;
    check(uct_md_iface_config_read(domain.md, "ina", nullptr, nullptr, &config), "uct_md_iface_config_read");
    uct_iface_params_t params{};
    params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE;
    params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
    params.mode.device.tl_name = "ina";
    params.mode.device.dev_name = "lo";
    check(uct_iface_open(domain.md, domain.worker, &params, config, &iface), "uct_iface_open");
    uct_config_release(config);
    check(uct_iface_query(iface, &attr), "uct_iface_query");
    uct_iface_progress_enable(iface, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
    check(uct_iface_set_am_handler(iface, 1, [](void* count, void*, size_t, unsigned) { ++*static_cast<unsigned*>(count); return UCS_OK; }, &received, 0),
          "uct_iface_set_am_handler");
    device_address.resize(attr.device_addr_len);
    check(uct_iface_get_device_address(iface, reinterpret_cast<uct_device_addr_t*>(device_address.data())), "uct_iface_get_device_address");
    iface_address.resize(std::max<std::size_t>(attr.iface_addr_len, 1));
  }
  [[nodiscard]] uct_ep_h create() {
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
    params.iface = iface;
    uct_ep_h ep = nullptr;
    check(uct_ep_create(&params, &ep), "uct_ep_create");
    return ep;
  }
  [[nodiscard]] uct_ep_h create_to(const Iface& peer) {
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface = iface;
    params.dev_addr = reinterpret_cast<const uct_device_addr_t*>(peer.device_address.data());
    params.iface_addr = reinterpret_cast<const uct_iface_addr_t*>(peer.iface_address.data());
    uct_ep_h ep = nullptr;
    check(uct_ep_create(&params, &ep), "uct_ep_create");
    return ep;
  }
  uct_iface_h iface = nullptr;
  uct_iface_attr_t attr{};
  std::vector<char> device_address, iface_address;
  unsigned received = 0;
};

void connect(uct_ep_h ep, uct_ep_h to, const Iface& peer) {
  std::vector<char> address(peer.attr.ep_addr_len);
  check(uct_ep_get_address(to, reinterpret_cast<uct_ep_addr_t*>(address.data())), "uct_ep_get_address");
  check(uct_ep_connect_to_ep(ep, reinterpret_cast<const uct_device_addr_t*>(peer.device_address.data()), reinterpret_cast<const uct_ep_addr_t*>(address.data())),
        "uct_ep_connect_to_ep");
}

// One message on each, one after the other: buffers for what is in flight belong to the interface.
void use(const Domain& domain, const std::vector<uct_ep_h>& eps) {
  for (uct_ep_h ep : eps) {
    ucs_status_t status;
    while ((status = uct_ep_am_short(ep, 1, 0, nullptr, 0)) == UCS_ERR_NO_RESOURCE) uct_worker_progress(domain.worker);
    check(status, "uct_ep_am_short");
    while ((status = uct_ep_flush(ep, 0, nullptr)) == UCS_INPROGRESS || status == UCS_ERR_NO_RESOURCE) uct_worker_progress(domain.worker);
    check(status, "uct_ep_flush");
  }
}

[[nodiscard]] std::size_t memory_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// The more of: what is allocated, and what is resident.
template <typename Create>
void measure(const char* how, const Domain& domain, const Create& create) {
  const auto resident = [] {
    long size = 0, pages = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%ld %ld", &size, &pages) != 2) std::exit(1);
    std::fclose(file);
    return static_cast<std::size_t>(pages * sysconf(_SC_PAGESIZE));
  };
  std::vector<uct_ep_h> eps;
  eps.reserve(2 * kEndpoints);
  const std::size_t resident_before = resident(), before = memory_in_use();
  create(eps);
  use(domain, eps);
  const std::size_t allocated = memory_in_use() - before, touched = resident() - resident_before;
  std::printf("idle endpoint, connected %s, bytes %zu\n", how, std::max(allocated, touched) / (2 * kEndpoints));
  for (uct_ep_h ep : eps) uct_ep_destroy(ep);
}

}  // namespace

int main() {
  const Domain domain;
  Iface a(domain), b(domain);
  // What the interfaces need once is not the endpoints'.
  std::vector<uct_ep_h> first{a.create(), b.create()};
  connect(first[0], first[1], b);
  connect(first[1], first[0], a);
  use(domain, first);
  measure("to an endpoint", domain, [&](std::vector<uct_ep_h>& eps) {
    for (unsigned i = 0; i < kEndpoints; ++i) {
      eps.push_back(a.create());
      eps.push_back(b.create());
      connect(eps[2 * i], eps[2 * i + 1], b);
      connect(eps[2 * i + 1], eps[2 * i], a);
    }
  });
  if ((a.attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE) == 0) return 0;
  check(uct_iface_get_address(b.iface, reinterpret_cast<uct_iface_addr_t*>(b.iface_address.data())), "uct_iface_get_address");
  // The other half are those that the receiving interface makes.
  measure("to an interface", domain, [&](std::vector<uct_ep_h>& eps) {
    for (unsigned i = 0; i < kEndpoints; ++i) eps.push_back(a.create_to(b));
  });
  return 0;
}
