// uct_ina_md.cpp: component and memory domain: registration gives memory an rkey that packets are checked against.
#include <sys/random.h>

#include <new>

#include "ucx_tl/uct_ina.h"

using ina::engine::MemoryRights;
using ina::engine::MemoryTable;

namespace {

uct_ina_md_t* md_of(uct_md_h md) { return reinterpret_cast<uct_ina_md_t*>(md); }

// Local access is not asked for by anybody: what the process may do with its memory, this transport may.
MemoryRights rights_of(unsigned flags) {
  return {.read = (flags & UCT_MD_MEM_ACCESS_REMOTE_GET) != 0, .write = (flags & UCT_MD_MEM_ACCESS_REMOTE_PUT) != 0, .atomic = (flags & UCT_MD_MEM_ACCESS_REMOTE_ATOMIC) != 0};
}

ucs_status_t md_mem_reg(uct_md_h md, void* address, size_t length, unsigned flags, uct_mem_h* memh_p) {
  auto* const handle = new (std::nothrow) uct_ina_memh_t{};
  const auto rkey = handle == nullptr ? std::nullopt : md_of(md)->memory->add(static_cast<std::byte*>(address), length, rights_of(flags));
  if (!rkey) {
    delete handle;
    uct_md_log_mem_reg_error(flags, "ina: cannot register memory at %p length %zu: out of memory or rkeys", address, length);
    return UCS_ERR_NO_MEMORY;
  }
  handle->rkey = *rkey;
  *memh_p = handle;
  return UCS_OK;
}

ucs_status_t md_mem_dereg(uct_md_h md, uct_mem_h memh) {
  auto* const handle = static_cast<uct_ina_memh_t*>(memh);
  const bool known = md_of(md)->memory->remove(handle->rkey);
  delete handle;
  return known ? UCS_OK : UCS_ERR_INVALID_PARAM;
}

void md_mkey_pack(uct_mem_h memh, void* buffer) {
  static_assert(sizeof(uct_ina_memh_t::rkey) == kUctInaRkeyBytes);
  ina::wire::store_be(static_cast<std::byte*>(buffer), static_cast<uct_ina_memh_t*>(memh)->rkey);
}

void md_close(uct_md_h md) {
  delete md_of(md)->memory;
  delete md_of(md);
}

constexpr uct_ina_md_calls_t kCalls = {.close = md_close, .mem_reg = md_mem_reg, .mem_dereg = md_mem_dereg, .mkey_pack = md_mkey_pack};

uct_md_ops_t* md_ops() {
  static uct_md_ops_t ops{};
  uct_ina_compat_fill_md_ops(&ops, &kCalls);
  return &ops;
}

ucs_status_t md_open(uct_component_t* component, const char*, const uct_md_config_t*, uct_md_h* md_p) {
  return ina::uct::guarded([&] {
    std::uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) return UCS_ERR_IO_ERROR;
    auto memory = std::make_unique<MemoryTable>(seed);
    auto md = std::make_unique<uct_ina_md_t>();
    md->super.ops = md_ops();
    md->super.component = component;
    md->memory = memory.release();
    *md_p = &md.release()->super;
    return UCS_OK;
  });
}

ucs_status_t rkey_unpack(uct_component_t*, const void* buffer, uct_rkey_t* rkey_p, void** handle_p) {
  *rkey_p = ina::wire::load_be<std::uint32_t>(static_cast<const std::byte*>(buffer));
  *handle_p = nullptr;
  return UCS_OK;
}

ucs_status_t rkey_ptr(uct_component_t*, uct_rkey_t, void*, uint64_t, void**) { return UCS_ERR_UNSUPPORTED; }

ucs_status_t rkey_release(uct_component_t*, uct_rkey_t, void*) { return UCS_OK; }

void md_vfs_init(uct_md_h) {}

ucs_config_field_t md_config_table[] = {
    {"", "", nullptr, ucs_offsetof(uct_ina_md_config_t, super), UCS_CONFIG_TYPE_TABLE(uct_md_config_table)},
    {},
};

}  // namespace

// UCX writes to it: it is on UCX's list of components.
uct_component_t uct_ina_component = {
    .name = "ina",
    .query_md_resources = uct_md_query_single_md_resource,
    .md_open = md_open,
    .cm_open = nullptr,
    .rkey_unpack = rkey_unpack,
    .rkey_ptr = rkey_ptr,
    .rkey_release = rkey_release,
    .md_config = {.name = "ina memory domain", .prefix = "INA_MD_", .table = md_config_table, .size = sizeof(uct_ina_md_config_t), .list = {}},
    .cm_config = UCS_CONFIG_EMPTY_GLOBAL_LIST_ENTRY,
    .tl_list = UCT_COMPONENT_TL_LIST_INITIALIZER(&uct_ina_component),
    .list = {},
    .flags = 0,
    .md_vfs_init = md_vfs_init,
};
