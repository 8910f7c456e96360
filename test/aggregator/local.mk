# test/aggregator: the slot state machine alone, without sockets or clock.
if HAVE_GTEST
INA_AGGREGATOR_TESTS = test/aggregator/aggregator_test test/aggregator/property_test test/aggregator/allocation_test
check_PROGRAMS += $(INA_AGGREGATOR_TESTS)
TESTS += $(INA_AGGREGATOR_TESTS)
INA_AGGREGATOR_TEST_LDADD = switch/aggregator/libinaaggregator.la $(GTEST_LIBS) -lgtest_main

test_aggregator_aggregator_test_SOURCES = test/aggregator/aggregator_test.cpp test/aggregator/ring.hpp
test_aggregator_aggregator_test_LDADD = $(INA_AGGREGATOR_TEST_LDADD)

test_aggregator_property_test_SOURCES = \
	test/aggregator/property_test.cpp \
	test/aggregator/simulated_members.hpp test/aggregator/simulated_members.cpp
test_aggregator_property_test_LDADD = $(INA_AGGREGATOR_TEST_LDADD)

test_aggregator_allocation_test_SOURCES = test/aggregator/allocation_test.cpp
test_aggregator_allocation_test_LDADD = $(INA_AGGREGATOR_TEST_LDADD)
endif
