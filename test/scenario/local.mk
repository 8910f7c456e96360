if HAVE_GTEST
check_PROGRAMS += test/scenario/group_life_test test/scenario/losses_test
TESTS += test/scenario/group_life_test test/scenario/losses_test
test_scenario_group_life_test_SOURCES = test/scenario/group_life_test.cpp test/scenario/ring.hpp
test_scenario_group_life_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
test_scenario_group_life_test_LDADD = switch/manager/libinamanager.la switch/aggregator/libinaaggregator.la wire/libinawire.la \
	$(GTEST_LIBS) -lgtest_main
test_scenario_losses_test_SOURCES = test/scenario/losses_test.cpp test/engine/test_network.hpp
test_scenario_losses_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
test_scenario_losses_test_LDADD = ucx_tl/engine/libinaengine.la switch/aggregator/libinaaggregator.la wire/libinawire.la $(GTEST_LIBS) -lgtest_main
endif
