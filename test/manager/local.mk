if HAVE_GTEST
check_PROGRAMS += test/manager/manager_test
TESTS += test/manager/manager_test
test_manager_manager_test_SOURCES = \
	test/manager/fake_switch.hpp test/manager/manager_bench.hpp test/manager/virtual_settings.hpp \
	test/manager/group_table_test.cpp \
	test/manager/line_buffer_test.cpp \
	test/manager/manager_test.cpp \
	test/manager/request_test.cpp \
	test/manager/session_test.cpp
test_manager_manager_test_CPPFLAGS = $(AM_CPPFLAGS) $(GTEST_CFLAGS)
test_manager_manager_test_LDADD = switch/manager/libinamanager.la wire/libinawire.la $(GTEST_LIBS) -lgtest_main
endif
