# test/net: descriptors, addresses, devices, and the XDP programs.
if HAVE_GTEST
INA_NET_TESTS = \
	test/net/descriptor_test \
	test/net/netdev_test \
	test/net/resolve_test \
	test/net/segmenting_sender_test \
	test/net/xdp_filter_test
check_PROGRAMS += $(INA_NET_TESTS)
TESTS += $(INA_NET_TESTS)
INA_NET_TEST_LDADD = net/libinanet.la wire/libinawire.la $(GTEST_LIBS) -lgtest_main

test_net_descriptor_test_SOURCES = test/net/descriptor_test.cpp
test_net_descriptor_test_LDADD = $(INA_NET_TEST_LDADD)
test_net_netdev_test_SOURCES = test/net/netdev_test.cpp
test_net_netdev_test_LDADD = $(INA_NET_TEST_LDADD)
test_net_resolve_test_SOURCES = test/net/resolve_test.cpp
test_net_resolve_test_LDADD = $(INA_NET_TEST_LDADD)
test_net_segmenting_sender_test_SOURCES = test/net/segmenting_sender_test.cpp
test_net_segmenting_sender_test_LDADD = $(INA_NET_TEST_LDADD)
test_net_xdp_filter_test_SOURCES = test/net/xdp_filter_test.cpp
test_net_xdp_filter_test_LDADD = $(INA_NET_TEST_LDADD)
endif
