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
#include <ucs/time/time.h>
#include <uct/base/uct_component.h>
#include <uct/base/uct_iface.h>
#include <uct/base/uct_iov.inl>
#include <uct/base/uct_md.h>
#include <uct/base/uct_worker.h>
}

/* The function tables of a transport change between minor versions; one that was not tried would corrupt memory. */
#if UCT_VERNO_MAJOR != 1 || UCT_VERNO_MINOR != 13
#error "this transport is written for UCX 1.13: its internal tables differ in other versions"
#endif
