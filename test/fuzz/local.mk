# test/fuzz: whatever parses bytes from outside. A target is fuzz_X.cpp, its corpus lies in corpus/fuzz_X.
# --enable-fuzzers builds fuzz_X with libFuzzer; every build links replay_X, which runs the same code over the corpus.
EXTRA_DIST += test/fuzz/corpus test/fuzz/replay_corpora
TESTS += test/fuzz/replay_corpora
EXTRA_PROGRAMS += test/fuzz/write_seeds
test_fuzz_write_seeds_SOURCES = test/fuzz/write_seeds.cpp
test_fuzz_write_seeds_LDADD = wire/libinawire.la

check_PROGRAMS += test/fuzz/replay_roce
test_fuzz_replay_roce_SOURCES = test/fuzz/fuzz_roce.cpp test/fuzz/replay.cpp
test_fuzz_replay_roce_LDADD = wire/libinawire.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_roce
endif
test_fuzz_fuzz_roce_SOURCES = test/fuzz/fuzz_roce.cpp
test_fuzz_fuzz_roce_LDADD = wire/libinawire.la
test_fuzz_fuzz_roce_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

check_PROGRAMS += test/fuzz/replay_ina_header
test_fuzz_replay_ina_header_SOURCES = test/fuzz/fuzz_ina_header.cpp test/fuzz/replay.cpp
test_fuzz_replay_ina_header_LDADD = wire/libinawire.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_ina_header
endif
test_fuzz_fuzz_ina_header_SOURCES = test/fuzz/fuzz_ina_header.cpp
test_fuzz_fuzz_ina_header_LDADD = wire/libinawire.la
test_fuzz_fuzz_ina_header_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

check_PROGRAMS += test/fuzz/replay_relay_message
test_fuzz_replay_relay_message_SOURCES = test/fuzz/fuzz_relay_message.cpp test/fuzz/replay.cpp
test_fuzz_replay_relay_message_LDADD = wire/libinawire.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_relay_message
endif
test_fuzz_fuzz_relay_message_SOURCES = test/fuzz/fuzz_relay_message.cpp
test_fuzz_fuzz_relay_message_LDADD = wire/libinawire.la
test_fuzz_fuzz_relay_message_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

check_PROGRAMS += test/fuzz/replay_connect_message
test_fuzz_replay_connect_message_SOURCES = test/fuzz/fuzz_connect_message.cpp test/fuzz/replay.cpp
test_fuzz_replay_connect_message_LDADD = wire/libinawire.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_connect_message
endif
test_fuzz_fuzz_connect_message_SOURCES = test/fuzz/fuzz_connect_message.cpp
test_fuzz_fuzz_connect_message_LDADD = wire/libinawire.la
test_fuzz_fuzz_connect_message_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

check_PROGRAMS += test/fuzz/replay_frame
test_fuzz_replay_frame_SOURCES = test/fuzz/fuzz_frame.cpp test/fuzz/replay.cpp
test_fuzz_replay_frame_LDADD = wire/libinawire.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_frame
endif
test_fuzz_fuzz_frame_SOURCES = test/fuzz/fuzz_frame.cpp
test_fuzz_fuzz_frame_LDADD = wire/libinawire.la
test_fuzz_fuzz_frame_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

check_PROGRAMS += test/fuzz/replay_manager_line
test_fuzz_replay_manager_line_SOURCES = test/fuzz/fuzz_manager_line.cpp test/fuzz/replay.cpp
test_fuzz_replay_manager_line_LDADD = switch/manager/libinamanager.la wire/libinawire.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_manager_line
endif
test_fuzz_fuzz_manager_line_SOURCES = test/fuzz/fuzz_manager_line.cpp
test_fuzz_fuzz_manager_line_LDADD = switch/manager/libinamanager.la wire/libinawire.la
test_fuzz_fuzz_manager_line_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

if HAVE_UCX
check_PROGRAMS += test/fuzz/replay_ring_address
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_ring_address
endif
endif
test_fuzz_replay_ring_address_SOURCES = test/fuzz/fuzz_ring_address.cpp test/fuzz/replay.cpp
test_fuzz_replay_ring_address_LDADD = ompi_coll_ina/core/libinacore.la
test_fuzz_fuzz_ring_address_SOURCES = test/fuzz/fuzz_ring_address.cpp
test_fuzz_fuzz_ring_address_LDADD = ompi_coll_ina/core/libinacore.la
test_fuzz_fuzz_ring_address_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

check_PROGRAMS += test/fuzz/replay_engine_receive
test_fuzz_replay_engine_receive_SOURCES = test/fuzz/fuzz_engine_receive.cpp test/fuzz/replay.cpp
test_fuzz_replay_engine_receive_LDADD = ucx_tl/engine/libinaengine.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_engine_receive
endif
test_fuzz_fuzz_engine_receive_SOURCES = test/fuzz/fuzz_engine_receive.cpp
test_fuzz_fuzz_engine_receive_LDADD = ucx_tl/engine/libinaengine.la
test_fuzz_fuzz_engine_receive_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

check_PROGRAMS += test/fuzz/replay_aggregator
test_fuzz_replay_aggregator_SOURCES = test/fuzz/fuzz_aggregator.cpp test/fuzz/replay.cpp
test_fuzz_replay_aggregator_LDADD = switch/aggregator/libinaaggregator.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_aggregator
endif
test_fuzz_fuzz_aggregator_SOURCES = test/fuzz/fuzz_aggregator.cpp
test_fuzz_fuzz_aggregator_LDADD = switch/aggregator/libinaaggregator.la
test_fuzz_fuzz_aggregator_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

check_PROGRAMS += test/fuzz/replay_relay_datagram
test_fuzz_replay_relay_datagram_SOURCES = test/fuzz/fuzz_relay_datagram.cpp test/fuzz/replay.cpp
test_fuzz_replay_relay_datagram_LDADD = switch/softswitch/libinasoftswitch.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_relay_datagram
endif
test_fuzz_fuzz_relay_datagram_SOURCES = test/fuzz/fuzz_relay_datagram.cpp
test_fuzz_fuzz_relay_datagram_LDADD = switch/softswitch/libinasoftswitch.la
test_fuzz_fuzz_relay_datagram_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

check_PROGRAMS += test/fuzz/replay_wire_switch
test_fuzz_replay_wire_switch_SOURCES = test/fuzz/fuzz_wire_switch.cpp test/fuzz/replay.cpp
test_fuzz_replay_wire_switch_LDADD = switch/softswitch/libinasoftswitch.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_wire_switch
endif
test_fuzz_fuzz_wire_switch_SOURCES = test/fuzz/fuzz_wire_switch.cpp
test_fuzz_fuzz_wire_switch_LDADD = switch/softswitch/libinasoftswitch.la
test_fuzz_fuzz_wire_switch_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

if HAVE_UCX
check_PROGRAMS += test/fuzz/replay_life_message
test_fuzz_replay_life_message_SOURCES = test/fuzz/fuzz_life_message.cpp test/fuzz/replay.cpp
test_fuzz_replay_life_message_LDADD = ompi_coll_ina/core/libinacore.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_life_message
endif
test_fuzz_fuzz_life_message_SOURCES = test/fuzz/fuzz_life_message.cpp
test_fuzz_fuzz_life_message_LDADD = ompi_coll_ina/core/libinacore.la
test_fuzz_fuzz_life_message_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

check_PROGRAMS += test/fuzz/replay_ina_conf
test_fuzz_replay_ina_conf_SOURCES = test/fuzz/fuzz_ina_conf.cpp test/fuzz/replay.cpp
test_fuzz_replay_ina_conf_LDADD = ompi_coll_ina/core/libinacore.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_ina_conf
endif
test_fuzz_fuzz_ina_conf_SOURCES = test/fuzz/fuzz_ina_conf.cpp
test_fuzz_fuzz_ina_conf_LDADD = ompi_coll_ina/core/libinacore.la
test_fuzz_fuzz_ina_conf_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

check_PROGRAMS += test/fuzz/replay_manager_answer
test_fuzz_replay_manager_answer_SOURCES = test/fuzz/fuzz_manager_answer.cpp test/fuzz/replay.cpp
test_fuzz_replay_manager_answer_LDADD = ompi_coll_ina/core/libinacore.la
if FUZZERS
noinst_PROGRAMS += test/fuzz/fuzz_manager_answer
endif
test_fuzz_fuzz_manager_answer_SOURCES = test/fuzz/fuzz_manager_answer.cpp
test_fuzz_fuzz_manager_answer_LDADD = ompi_coll_ina/core/libinacore.la
test_fuzz_fuzz_manager_answer_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
endif
