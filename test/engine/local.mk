# test/engine: the RoCEv2 engine of the transport, and the transport through UCX's public interface.
if HAVE_GTEST
INA_ENGINE_TESTS = \
	test/engine/connect_test \
	test/engine/congestion_test \
	test/engine/answer_queue_test \
	test/engine/selective_repeat_test \
	test/engine/deadline_heap_test \
	test/engine/engine_memory_test \
	test/engine/engine_read_test \
	test/engine/engine_model_test \
	test/engine/engine_test \
	test/engine/engine_thread_test \
	test/engine/memory_table_test \
	test/engine/next_hop_test \
	test/engine/poll_pace_test \
	test/engine/qp_table_test \
	test/engine/relay_client_test \
	test/engine/requester_answer_test \
	test/engine/requester_test \
	test/engine/responder_answer_test \
	test/engine/responder_test \
	test/engine/shared_port_test \
	test/engine/udp_socket_test
check_PROGRAMS += $(INA_ENGINE_TESTS)
TESTS += $(INA_ENGINE_TESTS)
INA_ENGINE_TEST_LDADD = ucx_tl/engine/libinaengine.la $(GTEST_LIBS) -lgtest_main

test_engine_congestion_test_SOURCES = test/engine/congestion_test.cpp test/engine/raw_peer.hpp test/engine/test_network.hpp
test_engine_congestion_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_answer_queue_test_SOURCES = test/engine/answer_queue_test.cpp
test_engine_answer_queue_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_selective_repeat_test_SOURCES = test/engine/selective_repeat_test.cpp
test_engine_selective_repeat_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_deadline_heap_test_SOURCES = test/engine/deadline_heap_test.cpp
test_engine_deadline_heap_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_connect_test_SOURCES = test/engine/connect_test.cpp test/engine/test_network.hpp
test_engine_connect_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_engine_model_test_SOURCES = test/engine/engine_model_test.cpp test/engine/test_network.hpp
test_engine_engine_model_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_engine_test_SOURCES = test/engine/engine_test.cpp test/engine/test_network.hpp
test_engine_engine_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_engine_thread_test_SOURCES = test/engine/engine_thread_test.cpp test/engine/test_network.hpp
test_engine_engine_thread_test_LDADD = $(INA_ENGINE_TEST_LDADD) -lpthread
test_engine_memory_table_test_SOURCES = test/engine/memory_table_test.cpp
test_engine_memory_table_test_LDADD = $(INA_ENGINE_TEST_LDADD) -lpthread
test_engine_next_hop_test_SOURCES = test/engine/next_hop_test.cpp
test_engine_next_hop_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_poll_pace_test_SOURCES = test/engine/poll_pace_test.cpp
test_engine_poll_pace_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_qp_table_test_SOURCES = test/engine/qp_table_test.cpp
test_engine_qp_table_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_relay_client_test_SOURCES = test/engine/relay_client_test.cpp test/engine/test_network.hpp
test_engine_relay_client_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_engine_memory_test_SOURCES = test/engine/engine_memory_test.cpp test/engine/test_network.hpp
test_engine_engine_memory_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_engine_read_test_SOURCES = test/engine/engine_read_test.cpp test/engine/test_network.hpp
test_engine_engine_read_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_requester_answer_test_SOURCES = test/engine/requester_answer_test.cpp test/engine/raw_peer.hpp test/engine/test_network.hpp
test_engine_requester_answer_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_responder_answer_test_SOURCES = test/engine/responder_answer_test.cpp test/engine/raw_peer.hpp test/engine/test_network.hpp
test_engine_responder_answer_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_requester_test_SOURCES = test/engine/requester_test.cpp test/engine/raw_peer.hpp test/engine/test_network.hpp
test_engine_requester_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_responder_test_SOURCES = test/engine/responder_test.cpp test/engine/raw_peer.hpp test/engine/test_network.hpp
test_engine_responder_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_shared_port_test_SOURCES = test/engine/shared_port_test.cpp
test_engine_shared_port_test_LDADD = $(INA_ENGINE_TEST_LDADD)
test_engine_udp_socket_test_SOURCES = test/engine/udp_socket_test.cpp
test_engine_udp_socket_test_LDADD = $(INA_ENGINE_TEST_LDADD)

if HAVE_UCX_SOURCE
check_PROGRAMS += test/engine/uct_ina_test
TESTS += test/engine/uct_ina_test
test_engine_uct_ina_test_SOURCES = test/engine/uct_ina_fixture.hpp test/engine/uct_ina_test.cpp \
	test/engine/uct_ina_connect_test.cpp test/engine/uct_ina_event_test.cpp test/engine/uct_ina_flow_test.cpp test/engine/uct_ina_operations_test.cpp
check_PROGRAMS += test/engine/uct_ina_process_test
TESTS += test/engine/uct_ina_process_test
test_engine_uct_ina_process_test_SOURCES = test/engine/uct_ina_fixture.hpp test/engine/uct_ina_process_test.cpp
test_engine_uct_ina_process_test_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CFLAGS)
test_engine_uct_ina_process_test_LDADD = ucx_tl/libuct_ina.la $(UCX_LIBS) $(GTEST_LIBS) -lgtest_main
test_engine_uct_ina_test_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CFLAGS)
test_engine_uct_ina_test_LDADD = ucx_tl/libuct_ina.la $(UCX_LIBS) $(GTEST_LIBS) -lgtest_main -lpthread
endif
endif

EXTRA_DIST += test/engine/perftest test/engine/ucp_cycles-test test/engine/ucx_version
if HAVE_UCX_SOURCE
check_PROGRAMS += test/engine/ucp_cycles
test_engine_ucp_cycles_SOURCES = test/engine/ucp_cycles.cpp
test_engine_ucp_cycles_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CFLAGS)
test_engine_ucp_cycles_LDADD = -lucp $(UCX_LIBS)
TESTS += test/engine/perftest test/engine/ucp_cycles-test test/engine/ucx_version
check_LTLIBRARIES += test/engine/libinanewerucx.la
test_engine_libinanewerucx_la_SOURCES = test/engine/newer_ucx.c
test_engine_libinanewerucx_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
endif
