# test/support: what tests of several parts share.
check_LTLIBRARIES += test/support/libinatest.la
test_support_libinatest_la_SOURCES = test/support/pcap.hpp test/support/pcap.cpp
