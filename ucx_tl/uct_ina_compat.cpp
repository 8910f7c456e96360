// uct_ina_compat.cpp: what differs between versions of UCX: tables of functions, and how to know which version this process has.
#include "ucx_tl/uct_ina_compat.h"

#include <dlfcn.h>

#include <climits>
#include <iterator>

namespace {

const uct_ina_md_calls_t* md_calls = nullptr;

void md_close(uct_md_h md) { md_calls->close(md); }

#if INA_UCX_VERSION >= 114
unsigned registration_flags(const uct_md_mem_reg_params_t* params) {
  return (params->field_mask & UCT_MD_MEM_REG_FIELD_FLAGS) != 0 ? static_cast<unsigned>(params->flags) : 0;
}

ucs_status_t md_mem_reg(uct_md_h md, void* address, size_t length, const uct_md_mem_reg_params_t* params, uct_mem_h* memh_p) {
  return md_calls->mem_reg(md, address, length, registration_flags(params), memh_p);
}
#else
ucs_status_t md_mem_reg(uct_md_h md, void* address, size_t length, unsigned flags, uct_mem_h* memh_p) {
  return md_calls->mem_reg(md, address, length, flags, memh_p);
}
#endif

ucs_status_t md_mem_dereg(uct_md_h md, const uct_md_mem_dereg_params_t* params) {
  UCT_MD_MEM_DEREG_CHECK_PARAMS(params, 0);
  return md_calls->mem_dereg(md, params->memh);
}

#if INA_UCX_VERSION >= 116
ucs_status_t md_mkey_pack(uct_md_h, uct_mem_h memh, void*, size_t, const uct_md_mkey_pack_params_t*, void* buffer) {
#else
ucs_status_t md_mkey_pack(uct_md_h, uct_mem_h memh, const uct_md_mkey_pack_params_t*, void* buffer) {
#endif
  md_calls->mkey_pack(memh, buffer);
  return UCS_OK;
}

// Registration remembers a range in a table: its cost does not depend on the length.
constexpr double kRegistrationSeconds = 0.2e-6;

template <typename Capabilities>
void fill_capabilities(Capabilities* attr) {
  attr->flags = UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_RKEY;
  attr->max_alloc = 0;
  attr->max_reg = ULONG_MAX;
  attr->reg_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
  attr->access_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
  attr->alloc_mem_types = 0;
  attr->detect_mem_types = 0;
}

template <typename Attributes>
void fill_costs(Attributes* attr) {
  attr->rkey_packed_size = kUctInaRkeyBytes;
  attr->reg_cost = ucs_linear_func_make(kRegistrationSeconds, 0);
  std::memset(&attr->local_cpus, 0xff, sizeof attr->local_cpus);
}

#if INA_UCX_VERSION >= 114
ucs_status_t md_query(uct_md_h, uct_md_attr_v2_t* attr) {
  const uint64_t wanted = attr->field_mask;
  *attr = {};
  attr->field_mask = wanted;
  fill_capabilities(attr);
  fill_costs(attr);
#if INA_UCX_VERSION >= 115
  attr->reg_nonblock_mem_types = UCS_BIT(UCS_MEMORY_TYPE_HOST);
#endif
#if INA_UCX_VERSION >= 116
  attr->reg_alignment = 1;
#endif
  return UCS_OK;
}
#else
ucs_status_t md_query(uct_md_h, uct_md_attr_t* attr) {
  fill_capabilities(&attr->cap);
  fill_costs(attr);
  return UCS_OK;
}
#endif

ucs_status_t md_detect_memory_type(uct_md_h, const void*, size_t, ucs_memory_type_t*) { return UCS_ERR_UNSUPPORTED; }

#if INA_UCX_VERSION < 116
int md_is_sockaddr_accessible(uct_md_h, const ucs_sock_addr_t*, uct_sockaddr_accessibility_t) { return 0; }
#else
ucs_status_t rkey_compare(uct_component_t*, uct_rkey_t one, uct_rkey_t other, const uct_rkey_compare_params_t* params, int* result) {
  if (params->field_mask != 0 || result == nullptr) return UCS_ERR_INVALID_PARAM;
  *result = one == other ? 0 : one < other ? -1 : 1;
  return UCS_OK;
}
#endif

void iface_vfs_refresh(uct_iface_h) {}
ucs_status_t ep_query(uct_ep_h, uct_ep_attr_t*) { return UCS_ERR_UNSUPPORTED; }
ucs_status_t ep_invalidate(uct_ep_h, unsigned) { return UCS_ERR_UNSUPPORTED; }

#if INA_UCX_VERSION >= 114
ucs_status_t ep_connect_to_ep_v2(uct_ep_h ep, const uct_device_addr_t* device_address, const uct_ep_addr_t* ep_address,
                                 const uct_ep_connect_to_ep_params_t*) {
  return ep->iface->ops.ep_connect_to_ep(ep, device_address, ep_address);
}
#endif

#if INA_UCX_VERSION >= 115
int iface_is_reachable_v2(const uct_iface_h iface, const uct_iface_is_reachable_params_t* params) {
  if ((params->field_mask & UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR) == 0) return 0;
  const bool has_iface_address = (params->field_mask & UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR) != 0;
  if (!iface->ops.iface_is_reachable(iface, params->device_addr, has_iface_address ? params->iface_addr : nullptr)) return 0;
#if INA_UCX_VERSION >= 116
  return uct_iface_scope_is_reachable(iface, params);
#else
  return 1;
#endif
}
#endif

#if INA_UCX_VERSION >= 116
int ep_is_connected(const uct_ep_h ep, const uct_ep_is_connected_params_t* params) {
  const auto given = [params](uint64_t field) { return (params->field_mask & field) != 0; };
  return uct_ina_ep_is_connected_to(ep, given(UCT_EP_IS_CONNECTED_FIELD_DEVICE_ADDR) ? params->device_addr : nullptr,
                                    given(UCT_EP_IS_CONNECTED_FIELD_IFACE_ADDR) ? params->iface_addr : nullptr,
                                    given(UCT_EP_IS_CONNECTED_FIELD_EP_ADDR) ? params->ep_addr : nullptr);
}
#endif

// Functions of libuct and libucs that appeared in a minor version and have stayed since, the newest first. libuct itself does not tell its
// version, and every version has the same name.
struct Landmark {
  int minor;
  const char* function;
};
constexpr Landmark kLandmarks[] = {
    {20, "uct_iface_base_query_v2"},      {19, "uct_rkey_unpack_v2"},      {18, "uct_iface_fill_info_str_buf"},
    {17, "uct_md_base_md_query"},         {16, "uct_iface_scope_is_reachable"}, {15, "ucs_topo_sys_dev_to_sysfs_path"},
    {14, "uct_ep_connect_to_ep_v2"},      {13, "uct_ep_invalidate"},
};

int minor_of_this_process() {
  for (const Landmark& landmark : kLandmarks) {
    if (dlsym(RTLD_DEFAULT, landmark.function) != nullptr) return landmark.minor;
  }
  return kLandmarks[std::size(kLandmarks) - 1].minor - 1;
}

}  // namespace

void uct_ina_compat_fill_md_ops(uct_md_ops_t* ops, const uct_ina_md_calls_t* calls) {
  md_calls = calls;
  ops->close = md_close;
  ops->query = md_query;
  ops->mem_reg = md_mem_reg;
  ops->mem_dereg = md_mem_dereg;
  ops->mkey_pack = md_mkey_pack;
  ops->detect_memory_type = md_detect_memory_type;
#if INA_UCX_VERSION < 116
  ops->is_sockaddr_accessible = md_is_sockaddr_accessible;
#endif
}

void uct_ina_compat_fill_component(uct_component_t* component) {
#if INA_UCX_VERSION >= 116
  component->rkey_compare = rkey_compare;
#else
  (void)component;
#endif
}

uct_iface_internal_ops_t* uct_ina_compat_internal_ops() {
  static uct_iface_internal_ops_t ops{};
  ops.iface_estimate_perf = uct_base_iface_estimate_perf;
  ops.iface_vfs_refresh = iface_vfs_refresh;
  ops.ep_query = ep_query;
  ops.ep_invalidate = ep_invalidate;
#if INA_UCX_VERSION >= 114
  ops.ep_connect_to_ep_v2 = ep_connect_to_ep_v2;
#endif
#if INA_UCX_VERSION >= 115
  ops.iface_is_reachable_v2 = iface_is_reachable_v2;
#endif
#if INA_UCX_VERSION >= 116
  ops.ep_is_connected = ep_is_connected;
#endif
  return &ops;
}

uint64_t uct_ina_compat_iface_flags() {
#if INA_UCX_VERSION >= 118
  return UCT_IFACE_FLAG_INTER_NODE;
#else
  return 0;
#endif
}

bool uct_ina_compat_is_right_ucx() {
  const int minor = minor_of_this_process();
  if (minor != UCT_VERNO_MINOR) {
    const char* const relation = minor < UCT_VERNO_MINOR ? "or older" : "or newer";
    const bool is_at_end = minor == kLandmarks[0].minor || minor < kLandmarks[std::size(kLandmarks) - 1].minor;
    std::fprintf(stderr, "ina: this transport was built for UCX %d.%d, the libuct of this process is of UCX 1.%d%s%s: it stays unused\n",
                 UCT_VERNO_MAJOR, UCT_VERNO_MINOR, minor, is_at_end ? " " : "", is_at_end ? relation : "");
    return false;
  }
  // The same version may be configured so (debugging data, statistics) that its objects have another layout.
  if (uct_base_iface_t_class.size != sizeof(uct_base_iface_t) || uct_base_ep_t_class.size != sizeof(uct_base_ep_t)) {
    std::fprintf(stderr, "ina: the libuct of this process is of UCX %d.%d, but was configured otherwise than the one that this transport was built for: it stays unused\n",
                 UCT_VERNO_MAJOR, UCT_VERNO_MINOR);
    return false;
  }
  return true;
}
