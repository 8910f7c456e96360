# The engine of the component: everything but Open MPI.
if HAVE_UCX
noinst_LTLIBRARIES += ompi_coll_ina/core/libinacore.la
ompi_coll_ina_core_libinacore_la_SOURCES = \
	ompi_coll_ina/core/aligned_memory.hpp ompi_coll_ina/core/aligned_memory.cpp \
	ompi_coll_ina/core/error.hpp \
	ompi_coll_ina/core/fabric.hpp \
	ompi_coll_ina/core/lanes.hpp ompi_coll_ina/core/lanes.cpp \
	ompi_coll_ina/core/local_route.hpp ompi_coll_ina/core/local_route.cpp \
	ompi_coll_ina/core/mailbox.hpp ompi_coll_ina/core/mailbox.cpp \
	ompi_coll_ina/core/messenger.hpp \
	ompi_coll_ina/core/ring_address.hpp ompi_coll_ina/core/ring_address.cpp \
	ompi_coll_ina/core/schedule.hpp ompi_coll_ina/core/schedule.cpp \
	ompi_coll_ina/core/source_buffers.hpp \
	ompi_coll_ina/core/stream.hpp ompi_coll_ina/core/stream.cpp \
	ompi_coll_ina/core/uct_device.hpp ompi_coll_ina/core/uct_device.cpp \
	ompi_coll_ina/core/uct_fabric.cpp \
	ompi_coll_ina/core/uct_handles.hpp ompi_coll_ina/core/uct_handles.cpp \
	ompi_coll_ina/core/uct_interface.hpp \
	ompi_coll_ina/core/uct_ring.hpp ompi_coll_ina/core/uct_ring.cpp
ompi_coll_ina_core_libinacore_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CFLAGS)
ompi_coll_ina_core_libinacore_la_LIBADD = wire/libinawire.la $(UCX_LIBS) -lpthread
endif
