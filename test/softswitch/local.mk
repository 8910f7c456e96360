# test/softswitch: the relay without sockets, the sockets, and the program.
if HAVE_GTEST
INA_SOFTSWITCH_TESTS = test/softswitch/bridge_test test/softswitch/relay_test test/softswitch/wire_switch_test test/softswitch/fault_injector_test test/softswitch/socket_test
check_PROGRAMS += $(INA_SOFTSWITCH_TESTS)
TESTS += $(INA_SOFTSWITCH_TESTS)
INA_SOFTSWITCH_TEST_LDADD = switch/softswitch/libinasoftswitch.la $(GTEST_LIBS) -lgtest_main

test_softswitch_relay_test_SOURCES = test/softswitch/relay_test.cpp test/softswitch/relay_world.hpp
test_softswitch_relay_test_LDADD = $(INA_SOFTSWITCH_TEST_LDADD)

test_softswitch_wire_switch_test_SOURCES = test/softswitch/wire_switch_test.cpp test/softswitch/wire_world.hpp
test_softswitch_wire_switch_test_LDADD = $(INA_SOFTSWITCH_TEST_LDADD)

test_softswitch_bridge_test_SOURCES = test/softswitch/bridge_test.cpp
test_softswitch_bridge_test_LDADD = $(INA_SOFTSWITCH_TEST_LDADD)

test_softswitch_fault_injector_test_SOURCES = test/softswitch/fault_injector_test.cpp
test_softswitch_fault_injector_test_LDADD = $(INA_SOFTSWITCH_TEST_LDADD)

test_softswitch_socket_test_SOURCES = test/softswitch/socket_test.cpp
test_softswitch_socket_test_LDADD = $(INA_SOFTSWITCH_TEST_LDADD)
endif

EXTRA_DIST += test/softswitch/command_line test/softswitch/manual
if HAVE_SWITCH
TESTS += test/softswitch/command_line test/softswitch/manual
endif
