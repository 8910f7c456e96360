# The engine of the component: everything but Open MPI.
if HAVE_UCX
noinst_LTLIBRARIES += ompi_coll_ina/core/libinacore.la
ompi_coll_ina_core_libinacore_la_SOURCES = \
	ompi_coll_ina/core/aligned_memory.hpp ompi_coll_ina/core/aligned_memory.cpp \
	ompi_coll_ina/core/byte_cursor.hpp \
	ompi_coll_ina/core/channel.hpp ompi_coll_ina/core/channel.cpp \
	ompi_coll_ina/core/checkpoint_clock.hpp \
	ompi_coll_ina/core/communicator.hpp ompi_coll_ina/core/communicator.cpp \
	ompi_coll_ina/core/conf_file.hpp ompi_coll_ina/core/conf_file.cpp \
	ompi_coll_ina/core/connection.hpp ompi_coll_ina/core/socket_connection.cpp \
	ompi_coll_ina/core/core.hpp ompi_coll_ina/core/core.cpp \
	ompi_coll_ina/core/cost_model.hpp ompi_coll_ina/core/cost_model.cpp \
	ompi_coll_ina/core/decision.hpp ompi_coll_ina/core/decision.cpp \
	ompi_coll_ina/core/embedded_switch.hpp ompi_coll_ina/core/embedded_switch.cpp \
	ompi_coll_ina/core/error.hpp \
	ompi_coll_ina/core/fabric_set.hpp \
	ompi_coll_ina/core/failover.hpp \
	ompi_coll_ina/core/group_life.hpp ompi_coll_ina/core/group_life.cpp \
	ompi_coll_ina/core/group_life_failover.cpp \
	ompi_coll_ina/core/group_life_quiesce.cpp \
	ompi_coll_ina/core/group_life_setup.cpp \
	ompi_coll_ina/core/group_request.hpp ompi_coll_ina/core/group_request.cpp \
	ompi_coll_ina/core/host.hpp ompi_coll_ina/core/host.cpp \
	ompi_coll_ina/core/ina_core.h ompi_coll_ina/core/ina_core.cpp \
	ompi_coll_ina/core/leader.hpp ompi_coll_ina/core/leader.cpp \
	ompi_coll_ina/core/life_message.hpp ompi_coll_ina/core/life_message.cpp \
	ompi_coll_ina/core/life_table.hpp ompi_coll_ina/core/life_table.cpp \
	ompi_coll_ina/core/manager_client.hpp ompi_coll_ina/core/manager_client.cpp \
	ompi_coll_ina/core/manager_message.hpp ompi_coll_ina/core/manager_message.cpp \
	ompi_coll_ina/core/operation.hpp ompi_coll_ina/core/operation.cpp \
	ompi_coll_ina/core/path_plan.hpp ompi_coll_ina/core/path_plan.cpp \
	ompi_coll_ina/core/ring_order.hpp ompi_coll_ina/core/ring_order.cpp \
	ompi_coll_ina/core/settings.hpp ompi_coll_ina/core/settings.cpp \
	ompi_coll_ina/core/silence_watch.hpp ompi_coll_ina/core/silence_watch.cpp \
	ompi_coll_ina/core/switch_address.hpp ompi_coll_ina/core/switch_address.cpp \
	ompi_coll_ina/core/switch_finder.hpp ompi_coll_ina/core/switch_finder.cpp \
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
ompi_coll_ina_core_libinacore_la_LIBADD = net/libinanet.la wire/libinawire.la $(UCX_LIBS) -lpthread
endif
