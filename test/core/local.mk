# test/core
if HAVE_UCX
if HAVE_GTEST
check_LTLIBRARIES += test/core/libinacoretest.la
test_core_libinacoretest_la_SOURCES = \
	test/core/stream_world.hpp test/core/vectors.hpp \
	test/support/memory_network.hpp test/support/memory_network.cpp \
	test/support/fake_manager.hpp test/support/fake_manager.cpp \
	test/support/job.hpp test/support/job.cpp \
	test/support/message_network.hpp
test_core_libinacoretest_la_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
test_core_libinacoretest_la_LIBADD = ompi_coll_ina/core/libinacore.la

ina_core_test_ldadd = test/core/libinacoretest.la ompi_coll_ina/core/libinacore.la wire/libinawire.la $(GTEST_LIBS) -lgtest_main -lpthread

check_PROGRAMS += test/core/stream_test
TESTS += test/core/stream_test
test_core_stream_test_SOURCES = test/core/stream_test.cpp
test_core_stream_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/ring_order_test
TESTS += test/core/ring_order_test
test_core_ring_order_test_SOURCES = test/core/ring_order_test.cpp
test_core_ring_order_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/handover_test
TESTS += test/core/handover_test
test_core_handover_test_SOURCES = test/core/handover_test.cpp
test_core_handover_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/lanes_test
TESTS += test/core/lanes_test
test_core_lanes_test_SOURCES = test/core/lanes_test.cpp
test_core_lanes_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/mailbox_test
TESTS += test/core/mailbox_test
test_core_mailbox_test_SOURCES = test/core/mailbox_test.cpp
test_core_mailbox_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/ring_address_test
TESTS += test/core/ring_address_test
test_core_ring_address_test_SOURCES = test/core/ring_address_test.cpp
test_core_ring_address_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/decisions_test
TESTS += test/core/decisions_test
test_core_decisions_test_SOURCES = test/core/decisions_test.cpp
test_core_decisions_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/paths_test
TESTS += test/core/paths_test
test_core_paths_test_SOURCES = test/core/paths_test.cpp
test_core_paths_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/failover_test
TESTS += test/core/failover_test
test_core_failover_test_SOURCES = test/core/failover_test.cpp
test_core_failover_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/settings_test
TESTS += test/core/settings_test
test_core_settings_test_SOURCES = test/core/settings_test.cpp
test_core_settings_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/codec_test
TESTS += test/core/codec_test
test_core_codec_test_SOURCES = test/core/codec_test.cpp
test_core_codec_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/manager_client_test
TESTS += test/core/manager_client_test
test_core_manager_client_test_SOURCES = test/core/manager_client_test.cpp
test_core_manager_client_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/embedded_switch_test
TESTS += test/core/embedded_switch_test
test_core_embedded_switch_test_SOURCES = test/core/embedded_switch_test.cpp
test_core_embedded_switch_test_LDADD = $(ina_core_test_ldadd)

check_PROGRAMS += test/core/schedule_test
TESTS += test/core/schedule_test
test_core_schedule_test_SOURCES = test/core/schedule_test.cpp
test_core_schedule_test_LDADD = $(ina_core_test_ldadd)
endif
endif

# The fabric over UCX, with the transport that this tree builds.
if HAVE_UCX
if HAVE_UCX_SOURCE
if HAVE_GTEST
check_PROGRAMS += test/core/uct_fabric_test
TESTS += test/core/uct_fabric_test
test_core_uct_fabric_test_SOURCES = test/core/uct_fabric_test.cpp test/core/softswitch_process.hpp test/core/softswitch_process.cpp
test_core_uct_fabric_test_LDADD = ucx_tl/libuct_ina.la $(ina_core_test_ldadd)
# Nothing of the transport is called by name: UCX finds it once it is loaded.
test_core_uct_fabric_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
endif
endif
endif
