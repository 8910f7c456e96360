/* uct_ina_compat.h: UCX's internal headers, for a version of UCX whose layout they describe, usable from C++.
 * Included by every uct_ina_* source and by nothing else; what differs between versions of UCX is settled here.
 * Does not hide UCX's types: the glue is written against them. */
#pragma once

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
#include <config.h> /* of UCX's build */

#include <uct/api/uct.h>
#include <uct/api/version.h>
#include <ucs/async/async.h>
#include <ucs/datastruct/list.h>
#include <ucs/datastruct/queue.h>
#include <ucs/debug/log.h>
#include <ucs/sys/compiler.h>
#include <ucs/sys/string.h>
#include <ucs/sys/sys.h>
#include <ucs/time/time.h>
#include <uct/base/uct_component.h>
#include <uct/base/uct_iface.h>
#include <uct/base/uct_iov.inl>
#include <uct/base/uct_md.h>
#include <uct/base/uct_worker.h>
}

#define INA_UCX_VERSION (UCT_VERNO_MAJOR * 100 + UCT_VERNO_MINOR)

/* The function tables of a transport change between minor versions; one that was not tried would corrupt memory. */
#if INA_UCX_VERSION < 113 || INA_UCX_VERSION > 118
#error "this transport is written for UCX 1.13 to 1.18: its internal tables may differ in other versions"
#endif

/* An older UCX does not have these: such a process must get past the dynamic linker to be told so when the library is loaded. */
#if INA_UCX_VERSION >= 116
#pragma weak uct_iface_scope_is_reachable
#endif
#if INA_UCX_VERSION >= 117
#pragma weak ucs_config_doc_nop
#endif

/* What the memory domain does, in a form that no version of UCX changes; uct_ina_md.cpp implements it. */
struct uct_ina_md_calls_t {
  void (*close)(uct_md_h md);
  ucs_status_t (*mem_reg)(uct_md_h md, void* address, size_t length, unsigned flags, uct_mem_h* memh_p);
  ucs_status_t (*mem_dereg)(uct_md_h md, uct_mem_h memh);
  void (*mkey_pack)(uct_mem_h memh, void* buffer);
};
constexpr size_t kUctInaRkeyBytes = sizeof(uint32_t);

/* uct_ina_compat.cpp: the same as this version of UCX wants it. */
void uct_ina_compat_fill_md_ops(uct_md_ops_t* ops, const uct_ina_md_calls_t* calls);
void uct_ina_compat_fill_component(uct_component_t* component);
uct_iface_internal_ops_t* uct_ina_compat_internal_ops();
uint64_t uct_ina_compat_iface_flags();

/* True if the UCX in this process is the one whose headers this was compiled with. Says on stderr if it is another one: nothing of that
 * one may be relied on, its log neither. */
bool uct_ina_compat_is_right_ucx();

/* uct_ina_ep_connect.cpp: whether the endpoint's peer is the one that these addresses tell, of which any may be null. */
int uct_ina_ep_is_connected_to(uct_ep_h ep, const uct_device_addr_t* device_address, const uct_iface_addr_t* iface_address,
                               const uct_ep_addr_t* ep_address);
