# The benchmark driver, contrib/bench: its parts, and the MPI program that measures.
EXTRA_DIST += contrib/bench
if HAVE_OMPI
noinst_PROGRAMS += contrib/benchmark/measure
contrib_benchmark_measure_SOURCES = \
	contrib/benchmark/measure.cpp \
	contrib/benchmark/network_counters.hpp contrib/benchmark/network_counters.cpp \
	contrib/benchmark/options.hpp contrib/benchmark/options.cpp \
	contrib/benchmark/pattern.hpp \
	contrib/demo/counters.hpp contrib/demo/counters.cpp
contrib_benchmark_measure_CPPFLAGS = $(AM_CPPFLAGS) -DOMPI_SKIP_MPICXX $(OMPI_CPPFLAGS)
contrib_benchmark_measure_LDADD = $(MPI_LIBS)
endif
EXTRA_DIST += contrib/benchmark/rounds.py contrib/benchmark/lab.py contrib/benchmark/limits.py contrib/benchmark/picture.py \
	contrib/benchmark/summary.py contrib/benchmark/variants.py
