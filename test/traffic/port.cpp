#include "test/traffic/port.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace traffic {
namespace {

constexpr auto kGuardByte = std::byte{0xa5};

// A part of a message: its length, then its bytes.
void put_part(Bytes& to, const void* from, std::size_t length) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&length);
  to.insert(to.end(), bytes, bytes + sizeof length);
  bytes = static_cast<const std::byte*>(from);
  to.insert(to.end(), bytes, bytes + length);
}

Bytes take_part(std::span<const std::byte>& from) {
  std::size_t length = 0;
  check(from.size() >= sizeof length, "a short description");
  std::memcpy(&length, from.data(), sizeof length);
  from = from.subspan(sizeof length);
  check(from.size() >= length, "a short description");
  Bytes part(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(length));
  from = from.subspan(length);
  return part;
}

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes) : bytes_(bytes + 2 * kGuard) {
  std::fill_n(bytes_.begin(), kGuard, kGuardByte);
  std::fill(bytes_.end() - kGuard, bytes_.end(), kGuardByte);
}

void GuardedMemory::check_guards() const {
  const auto is_intact = [](std::byte byte) { return byte == kGuardByte; };
  check(std::all_of(bytes_.begin(), bytes_.begin() + kGuard, is_intact) && std::all_of(bytes_.end() - kGuard, bytes_.end(), is_intact),
        "memory outside the registered region was changed");
}

Port::Port(const Options& options) : options_(options) {
  open_md();
  check(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async_), "ucs_async_context_create");
  check(uct_worker_create(async_, UCS_THREAD_MODE_SINGLE, &worker_), "uct_worker_create");
  open_iface();
}

Port::~Port() {
  destroy_endpoints();
  uct_iface_close(iface_);
  uct_worker_destroy(worker_);
  ucs_async_context_destroy(async_);
  (void)uct_rkey_release(component_, &rkey_);
  uct_md_close(md_);
}

void Port::open_md() {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  check(uct_query_components(&components, &count), "uct_query_components");
  for (unsigned i = 0; i < count; ++i) {
    uct_component_attr_t attr{};
    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
    check(uct_component_query(components[i], &attr), "uct_component_query");
    if (options_.transport == attr.name) component_ = components[i];
  }
  uct_release_component_list(components);
  check(component_ != nullptr, "UCX does not know the transport " + options_.transport);
  uct_md_config_t* config = nullptr;
  check(uct_md_config_read(component_, nullptr, nullptr, &config), "uct_md_config_read");
  check(uct_md_open(component_, options_.transport.c_str(), config, &md_), "uct_md_open");
  uct_config_release(config);
  check(uct_md_query(md_, &md_attr_), "uct_md_query");
}

void Port::open_iface() {
  uct_iface_config_t* config = nullptr;
  check(uct_md_iface_config_read(md_, options_.transport.c_str(), nullptr, nullptr, &config), "uct_md_iface_config_read");
  uct_iface_params_t params{};
  params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE | UCT_IFACE_PARAM_FIELD_ERR_HANDLER | UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG;
  params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  params.mode.device.tl_name = options_.transport.c_str();
  params.mode.device.dev_name = options_.device.c_str();
  params.err_handler = &Port::on_error;
  params.err_handler_arg = this;
  check(uct_iface_open(md_, worker_, &params, config, &iface_), "uct_iface_open");
  uct_config_release(config);
  check(uct_iface_query(iface_, &attr_), "uct_iface_query");
  uct_iface_progress_enable(iface_, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
  check(!options_.to_iface || can(UCT_IFACE_FLAG_CONNECT_TO_IFACE), "the transport has no connections to interfaces");
  if (options_.sleeps) check(uct_iface_event_fd_get(iface_, &event_descriptor_), "uct_iface_event_fd_get");
}

ucs_status_t Port::on_error(void*, uct_ep_h, ucs_status_t status) { fail(std::string("an endpoint failed: ") + ucs_status_string(status)); }

uct_mem_h Port::register_memory(std::byte* memory, std::size_t bytes) {
  uct_mem_h handle = nullptr;
  check(uct_md_mem_reg(md_, memory, bytes, UCT_MD_MEM_ACCESS_ALL, &handle), "uct_md_mem_reg");
  return handle;
}

void Port::deregister(uct_mem_h handle) { check(uct_md_mem_dereg(md_, handle), "uct_md_mem_dereg"); }

Bytes Port::describe(const std::byte* region, uct_mem_h handle) {
  Bytes message, address(attr_.device_addr_len);
  check(uct_iface_get_device_address(iface_, reinterpret_cast<uct_device_addr_t*>(address.data())), "uct_iface_get_device_address");
  put_part(message, address.data(), address.size());
  address.assign(attr_.iface_addr_len, {});
  if (options_.to_iface) check(uct_iface_get_address(iface_, reinterpret_cast<uct_iface_addr_t*>(address.data())), "uct_iface_get_address");
  put_part(message, address.data(), address.size());
  Bytes key(md_attr_.rkey_packed_size);
  check(uct_md_mkey_pack(md_, handle, key.data()), "uct_md_mkey_pack");
  put_part(message, key.data(), key.size());
  put_part(message, &region, sizeof region);
  for (unsigned i = 0; !options_.to_iface && i < options_.endpoints; ++i) {
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
    params.iface = iface_;
    eps_.push_back(nullptr);
    check(uct_ep_create(&params, &eps_.back()), "uct_ep_create");
    address.assign(attr_.ep_addr_len, {});
    check(uct_ep_get_address(eps_.back(), reinterpret_cast<uct_ep_addr_t*>(address.data())), "uct_ep_get_address");
    put_part(message, address.data(), address.size());
  }
  return message;
}

void Port::connect(const Bytes& description) {
  std::span<const std::byte> rest(description);
  const Bytes device = take_part(rest), interface = take_part(rest), key = take_part(rest), region = take_part(rest);
  std::memcpy(&peer_region_, region.data(), sizeof peer_region_);
  check(uct_rkey_unpack(component_, key.data(), &rkey_), "uct_rkey_unpack");
  const auto* const device_address = reinterpret_cast<const uct_device_addr_t*>(device.data());
  const auto* const iface_address = reinterpret_cast<const uct_iface_addr_t*>(interface.data());
  check(uct_iface_is_reachable(iface_, device_address, options_.to_iface ? iface_address : nullptr) != 0, "the other side is not reachable");
  for (unsigned i = 0; i < options_.endpoints; ++i) {
    if (!options_.to_iface) {
      const Bytes address = take_part(rest);
      check(uct_ep_connect_to_ep(eps_[i], device_address, reinterpret_cast<const uct_ep_addr_t*>(address.data())), "uct_ep_connect_to_ep");
      continue;
    }
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
    params.iface = iface_;
    params.dev_addr = device_address;
    params.iface_addr = iface_address;
    eps_.push_back(nullptr);
    check(uct_ep_create(&params, &eps_.back()), "uct_ep_create");
  }
}

void Port::destroy_endpoints() {
  for (uct_ep_h ep : eps_) uct_ep_destroy(ep);
  eps_.clear();
}

}  // namespace traffic
