# test/support: what tests of several parts share.
check_LTLIBRARIES += test/support/libinatest.la
test_support_libinatest_la_SOURCES = test/support/pcap.hpp test/support/pcap.cpp
# Shell, sourced by test/engine/perftest and labs.
EXTRA_DIST += test/support/perftest_pair test/support/perftest_lists test/support/scapy_icrc.py
