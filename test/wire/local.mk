# test/wire: the codecs, the ICRC and the element kernels.
INA_WIRE_TEST_CPPFLAGS = $(AM_CPPFLAGS) -DINA_CAPTURES='"$(abs_top_srcdir)/test/captures/"'
INA_WIRE_TEST_LDADD = test/support/libinatest.la wire/libinawire.la $(GTEST_LIBS) -lgtest_main
EXTRA_DIST += test/captures/rxe-clean.pcap test/captures/rxe-loss.pcap

if HAVE_GTEST
INA_WIRE_TESTS = \
	test/wire/connect_message_test \
	test/wire/icrc_test \
	test/wire/elements_test \
	test/wire/ina_header_test \
	test/wire/relay_message_test \
	test/wire/roce_test \
	test/wire/address_test \
	test/wire/frame_test \
	test/wire/captures_test \
	test/wire/protocol_test
check_PROGRAMS += $(INA_WIRE_TESTS)
TESTS += $(INA_WIRE_TESTS)

test_wire_icrc_test_SOURCES = test/wire/icrc_test.cpp
test_wire_icrc_test_CPPFLAGS = $(INA_WIRE_TEST_CPPFLAGS)
test_wire_icrc_test_LDADD = $(INA_WIRE_TEST_LDADD)

test_wire_elements_test_SOURCES = test/wire/elements_test.cpp
test_wire_elements_test_CPPFLAGS = $(INA_WIRE_TEST_CPPFLAGS)
test_wire_elements_test_LDADD = $(INA_WIRE_TEST_LDADD) $(HWY_LIBS)

test_wire_ina_header_test_SOURCES = test/wire/ina_header_test.cpp test/wire/corruption.hpp
test_wire_ina_header_test_CPPFLAGS = $(INA_WIRE_TEST_CPPFLAGS)
test_wire_ina_header_test_LDADD = $(INA_WIRE_TEST_LDADD)

test_wire_connect_message_test_SOURCES = test/wire/connect_message_test.cpp test/wire/corruption.hpp
test_wire_connect_message_test_CPPFLAGS = $(INA_WIRE_TEST_CPPFLAGS)
test_wire_connect_message_test_LDADD = $(INA_WIRE_TEST_LDADD)

test_wire_relay_message_test_SOURCES = test/wire/relay_message_test.cpp test/wire/corruption.hpp
test_wire_relay_message_test_CPPFLAGS = $(INA_WIRE_TEST_CPPFLAGS)
test_wire_relay_message_test_LDADD = $(INA_WIRE_TEST_LDADD)

test_wire_roce_test_SOURCES = test/wire/roce_test.cpp test/wire/corruption.hpp
test_wire_roce_test_CPPFLAGS = $(INA_WIRE_TEST_CPPFLAGS)
test_wire_roce_test_LDADD = $(INA_WIRE_TEST_LDADD)

test_wire_address_test_SOURCES = test/wire/address_test.cpp
test_wire_address_test_CPPFLAGS = $(INA_WIRE_TEST_CPPFLAGS)
test_wire_address_test_LDADD = $(INA_WIRE_TEST_LDADD)

test_wire_frame_test_SOURCES = test/wire/frame_test.cpp test/wire/corruption.hpp
test_wire_frame_test_CPPFLAGS = $(INA_WIRE_TEST_CPPFLAGS)
test_wire_frame_test_LDADD = $(INA_WIRE_TEST_LDADD)

test_wire_captures_test_SOURCES = test/wire/captures_test.cpp
test_wire_captures_test_CPPFLAGS = $(INA_WIRE_TEST_CPPFLAGS)
test_wire_captures_test_LDADD = $(INA_WIRE_TEST_LDADD)

test_wire_protocol_test_SOURCES = test/wire/protocol_test.cpp test/wire/example_packets.hpp test/wire/example_packets.cpp
test_wire_protocol_test_CPPFLAGS = $(INA_WIRE_TEST_CPPFLAGS) -DINA_PROTOCOL='"$(abs_top_srcdir)/wire/PROTOCOL.md"'
test_wire_protocol_test_LDADD = $(INA_WIRE_TEST_LDADD)
endif

# The same packets for programs that we did not write.
check_PROGRAMS += test/wire/write_examples
test_wire_write_examples_SOURCES = test/wire/write_examples.cpp test/wire/example_packets.hpp test/wire/example_packets.cpp
test_wire_write_examples_LDADD = test/support/libinatest.la wire/libinawire.la
TESTS += test/wire/dissector_test test/support/verify_icrc_test
EXTRA_DIST += test/wire/dissector_test test/support/verify_icrc_test test/support/verify_icrc.py
