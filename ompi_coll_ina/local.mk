include ompi_coll_ina/core/local.mk

# The coll component: thin C over the engine in core/.
if HAVE_COMPONENT
componentdir = $(libdir)/openmpi
component_LTLIBRARIES = ompi_coll_ina/mca_coll_ina.la
dist_pkgdata_DATA = ompi_coll_ina/help-coll-ina.txt
endif
EXTRA_DIST += ompi_coll_ina/coll_ina.map

ompi_coll_ina_mca_coll_ina_la_SOURCES = \
	ompi_coll_ina/coll_ina.h ompi_coll_ina/coll_ina_compat.h \
	ompi_coll_ina/coll_ina_allreduce.c \
	ompi_coll_ina/coll_ina_component.c \
	ompi_coll_ina/coll_ina_finalize.c \
	ompi_coll_ina/coll_ina_host.c \
	ompi_coll_ina/coll_ina_iallreduce.c \
	ompi_coll_ina/coll_ina_module.c \
	ompi_coll_ina/coll_ina_numbers.h ompi_coll_ina/coll_ina_numbers.c \
	ompi_coll_ina/coll_ina_params.c \
	ompi_coll_ina/coll_ina_peers.c \
	ompi_coll_ina/coll_ina_process.c \
	ompi_coll_ina/coll_ina_pvars.c \
	ompi_coll_ina/coll_ina_types.c \
	ompi_coll_ina/coll_ina_widen.c
ompi_coll_ina_mca_coll_ina_la_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CPPFLAGS) $(HWLOC_CFLAGS) \
	-DINA_BINDIR='"$(bindir)"' -DINA_PREFIX='"$(prefix)"' -DINA_PKGDATADIR='"$(pkgdatadir)"'
# An undefined symbol shows at link time, not in the middle of a user's program.
ompi_coll_ina_mca_coll_ina_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -no-undefined \
	$(INA_NO_UNDEFINED) -Wl,-z,now -Wl,--version-script=$(top_srcdir)/ompi_coll_ina/coll_ina.map
ompi_coll_ina_mca_coll_ina_la_LIBADD = ompi_coll_ina/core/libinacore.la ucx_tl/libuct_ina.la $(OMPI_LIBS)
ompi_coll_ina_mca_coll_ina_la_LINK = $(LIBTOOL) $(AM_V_lt) --tag=CXX $(AM_LIBTOOLFLAGS) $(LIBTOOLFLAGS) --mode=link $(CXXLD) \
	$(AM_CXXFLAGS) $(CXXFLAGS) $(ompi_coll_ina_mca_coll_ina_la_LDFLAGS) $(LDFLAGS) -o $@
