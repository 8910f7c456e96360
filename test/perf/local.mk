# test/perf: benchmarks, built and run by `make perf` alone: nothing timed is in `make check`.
# Add a program to INA_BENCHMARKS and its figures to test/perf/ratios.
EXTRA_DIST += test/perf/ratios
INA_BENCHMARKS =
if HAVE_BENCHMARK
EXTRA_PROGRAMS += $(INA_BENCHMARKS)
CLEANFILES += $(INA_BENCHMARKS)

INA_BENCHMARKS += test/perf/elements_bench
test_perf_elements_bench_SOURCES = test/perf/elements_bench.cpp
test_perf_elements_bench_CXXFLAGS = $(AM_CXXFLAGS) $(BENCHMARK_CFLAGS)
test_perf_elements_bench_LDADD = wire/libinawire.la $(BENCHMARK_LIBS)

if HAVE_ZLIB
INA_BENCHMARKS += test/perf/icrc_bench
endif
test_perf_icrc_bench_SOURCES = test/perf/icrc_bench.cpp
test_perf_icrc_bench_CXXFLAGS = $(AM_CXXFLAGS) $(BENCHMARK_CFLAGS) $(ZLIB_CFLAGS)
test_perf_icrc_bench_LDADD = wire/libinawire.la $(BENCHMARK_LIBS) $(ZLIB_LIBS)

INA_BENCHMARKS += test/perf/aggregator_bench
test_perf_aggregator_bench_SOURCES = test/perf/aggregator_bench.cpp
test_perf_aggregator_bench_CXXFLAGS = $(AM_CXXFLAGS) $(BENCHMARK_CFLAGS)
test_perf_aggregator_bench_LDADD = switch/aggregator/libinaaggregator.la $(BENCHMARK_LIBS)

if HAVE_UCX
INA_BENCHMARKS += test/perf/stream_bench
endif
test_perf_stream_bench_SOURCES = test/perf/stream_bench.cpp
test_perf_stream_bench_CXXFLAGS = $(AM_CXXFLAGS) $(BENCHMARK_CFLAGS)
test_perf_stream_bench_LDADD = ompi_coll_ina/core/libinacore.la $(BENCHMARK_LIBS)
endif

.PHONY: perf perf-run perf-ucx perf-hosts perf-wire
perf: $(INA_BENCHMARKS)
	$(top_srcdir)/test/perf/ratios --builddir $(top_builddir)

# End to end, through mpirun: make perf-run.
EXTRA_DIST += test/perf/run
if HAVE_OMPI
if HAVE_UCX_SOURCE
EXTRA_PROGRAMS += test/perf/allreduce_cost
CLEANFILES += test/perf/allreduce_cost
test_perf_allreduce_cost_SOURCES = test/perf/allreduce_cost.cpp contrib/demo/counters.hpp contrib/demo/counters.cpp
test_perf_allreduce_cost_CPPFLAGS = $(AM_CPPFLAGS) -DOMPI_SKIP_MPICXX $(OMPI_CPPFLAGS)
test_perf_allreduce_cost_LDADD = $(MPI_LIBS) -ldl

perf-run: all test/perf/allreduce_cost
	INA_SRCDIR=$(abs_top_srcdir) INA_BUILDDIR=$(abs_top_builddir) $(abs_top_srcdir)/test/perf/run
endif
endif

# The transport beside UCX's own tcp over a veth pair, as root: make perf-ucx.
EXTRA_DIST += test/perf/ucx
if HAVE_UCX_SOURCE
EXTRA_PROGRAMS += test/perf/uct_endpoints
CLEANFILES += test/perf/uct_endpoints
test_perf_uct_endpoints_SOURCES = test/perf/uct_endpoints.cpp
test_perf_uct_endpoints_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CFLAGS)
test_perf_uct_endpoints_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
test_perf_uct_endpoints_LDADD = ucx_tl/libuct_ina.la $(UCX_LIBS)

perf-ucx: ucx_tl/libuct_ina.la test/perf/uct_endpoints
	$(abs_top_srcdir)/test/perf/ucx --builddir $(abs_top_builddir)
endif

# Several hosts: ina beside the least program that moves the same packets, and beside coll/tuned, as root: make perf-hosts.
EXTRA_DIST += test/perf/hosts
EXTRA_PROGRAMS += test/perf/udp_yardstick
CLEANFILES += test/perf/udp_yardstick
test_perf_udp_yardstick_SOURCES = test/perf/udp_yardstick.cpp test/perf/udp_yardstick_port.cpp test/perf/udp_yardstick.hpp

perf-hosts: all test/perf/udp_yardstick
	$(abs_top_srcdir)/test/perf/hosts --builddir $(abs_top_builddir)

# A switch in the wire beside the relay and the kernel's bridge, as root: make perf-wire.
EXTRA_DIST += test/perf/wire
if HAVE_SWITCH
EXTRA_PROGRAMS += test/perf/wire_load
CLEANFILES += test/perf/wire_load
test_perf_wire_load_SOURCES = test/perf/wire_load.cpp test/aggregator/ring.hpp
test_perf_wire_load_CXXFLAGS = $(AM_CXXFLAGS) $(CLI11_CFLAGS)
test_perf_wire_load_LDADD = switch/softswitch/libinasoftswitch.la

perf-wire: ina-softswitch test/perf/wire_load
	$(abs_top_srcdir)/test/perf/wire --builddir $(abs_top_builddir)
endif
