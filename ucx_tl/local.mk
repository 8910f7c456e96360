include ucx_tl/engine/local.mk

# ucx_tl: the UCX transport ina.
if HAVE_UCX_SOURCE
lib_LTLIBRARIES += ucx_tl/libuct_ina.la
ucx_tl_libuct_ina_la_SOURCES = \
	ucx_tl/uct_ina.h \
	ucx_tl/uct_ina_address.cpp \
	ucx_tl/uct_ina_compat.h ucx_tl/uct_ina_compat.cpp \
	ucx_tl/uct_ina_counters.h ucx_tl/uct_ina_counters.cpp \
	ucx_tl/uct_ina_ep.h ucx_tl/uct_ina_ep.cpp \
	ucx_tl/uct_ina_ep_am.cpp \
	ucx_tl/uct_ina_ep_atomic.cpp \
	ucx_tl/uct_ina_ep_connect.cpp \
	ucx_tl/uct_ina_ep_flush.cpp \
	ucx_tl/uct_ina_ep_get.cpp \
	ucx_tl/uct_ina_ep_pending.cpp \
	ucx_tl/uct_ina_ep_put.cpp \
	ucx_tl/uct_ina_fork.h ucx_tl/uct_ina_fork.cpp \
	ucx_tl/uct_ina_iface.cpp \
	ucx_tl/uct_ina_interface.cpp \
	ucx_tl/uct_ina_md.cpp
# UCX's config.h comes first; its macros use what only the GNU dialect has, and unnamed or missing members of designated initialisers.
ucx_tl_libuct_ina_la_CPPFLAGS = $(UCX_INTERNAL_CPPFLAGS) $(AM_CPPFLAGS)
ucx_tl_libuct_ina_la_CXXFLAGS = $(AM_CXXFLAGS)
ucx_tl_libuct_ina_la_LIBADD = ucx_tl/engine/libinaengine.la $(UCX_LIBS)
ucx_tl_libuct_ina_la_LDFLAGS = $(AM_LDFLAGS) -avoid-version $(INA_NO_UNDEFINED) -Wl,--version-script=$(top_srcdir)/ucx_tl/libuct_ina.map
ucx_tl_libuct_ina_la_DEPENDENCIES = ucx_tl/engine/libinaengine.la $(top_srcdir)/ucx_tl/libuct_ina.map
endif
EXTRA_DIST += ucx_tl/libuct_ina.map
