# test/wire: the codecs, the ICRC and the element kernels.
INA_WIRE_TEST_CPPFLAGS = $(AM_CPPFLAGS) -DINA_CAPTURES='"$(abs_top_srcdir)/test/captures/"'
INA_WIRE_TEST_LDADD = test/support/libinatest.la wire/libinawire.la $(GTEST_LIBS) -lgtest_main
EXTRA_DIST += test/captures/rxe-clean.pcap test/captures/rxe-loss.pcap

if HAVE_GTEST
check_PROGRAMS += test/wire/icrc_test
TESTS += test/wire/icrc_test
test_wire_icrc_test_SOURCES = test/wire/icrc_test.cpp
test_wire_icrc_test_CPPFLAGS = $(INA_WIRE_TEST_CPPFLAGS)
test_wire_icrc_test_LDADD = $(INA_WIRE_TEST_LDADD)
endif
