# test/vectors: packets in, packets out, for every target of the aggregator.
EXTRA_DIST += test/vectors/README \
	test/vectors/bad_icrc.stf \
	test/vectors/bind.stf \
	test/vectors/duplicate.stf \
	test/vectors/foreign_source.stf \
	test/vectors/forged_result.stf \
	test/vectors/gap.stf \
	test/vectors/max.stf \
	test/vectors/nak.stf \
	test/vectors/other_member.stf \
	test/vectors/stale.stf \
	test/vectors/sum.stf \
	test/vectors/unknown_group.stf \
	test/vectors/wrong_address.stf \
	test/vectors/wrong_epoch.stf \
	test/vectors/wrong_length.stf \
	test/vectors/wrong_member.stf \
	test/vectors/wrong_psn.stf \
	test/vectors/wrong_trailer.stf
if HAVE_GTEST
check_PROGRAMS += test/vectors/stf_test
TESTS += test/vectors/stf_test
test_vectors_stf_test_SOURCES = \
	test/vectors/stf_test.cpp \
	test/vectors/vectors.hpp test/vectors/vectors.cpp \
	test/vectors/wire_port.hpp test/vectors/wire_port.cpp
test_vectors_stf_test_CPPFLAGS = $(AM_CPPFLAGS) -DINA_VECTORS='"$(abs_top_srcdir)/test/vectors/"'
test_vectors_stf_test_LDADD = test/support/libinatest.la switch/softswitch/libinasoftswitch.la $(GTEST_LIBS) -lgtest_main
endif

EXTRA_PROGRAMS += test/vectors/write_vectors
CLEANFILES += test/vectors/write_vectors
test_vectors_write_vectors_SOURCES = test/vectors/write_vectors.cpp test/vectors/vectors.hpp test/vectors/vectors.cpp
test_vectors_write_vectors_LDADD = test/support/libinatest.la switch/aggregator/libinaaggregator.la
