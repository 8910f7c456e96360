# test/traffic: random traffic of all kinds between two processes, through UCX's public interface, checked against a model.
if HAVE_UCX_SOURCE
check_PROGRAMS += test/traffic/uct_traffic
TESTS += test/traffic/traffic-test
test_traffic_uct_traffic_SOURCES = \
	test/traffic/channel.hpp \
	test/traffic/check.hpp \
	test/traffic/main.cpp \
	test/traffic/operation.hpp \
	test/traffic/options.hpp \
	test/traffic/port.hpp test/traffic/port.cpp \
	test/traffic/random_bytes.hpp \
	test/traffic/side.hpp test/traffic/side.cpp test/traffic/side_operations.cpp
test_traffic_uct_traffic_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CFLAGS)
test_traffic_uct_traffic_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
test_traffic_uct_traffic_LDADD = ucx_tl/libuct_ina.la $(UCX_LIBS)
endif
EXTRA_DIST += test/traffic/traffic-test
