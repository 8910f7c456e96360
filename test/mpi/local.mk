# MPI programs under mpirun on loopback, with the component and the switch of the build folder.
if HAVE_COMPONENT
noinst_LTLIBRARIES += test/mpi/libmpitest.la
test_mpi_libmpitest_la_SOURCES = test/mpi/mpi_test.hpp test/mpi/mpi_test.cpp
test_mpi_libmpitest_la_CPPFLAGS = $(AM_CPPFLAGS) -DOMPI_SKIP_MPICXX $(OMPI_CPPFLAGS)

mpi_programs = test/mpi/apart test/mpi/big test/mpi/collectives test/mpi/communicators test/mpi/faults test/mpi/finalize test/mpi/iallreduce test/mpi/paths test/mpi/point_to_point test/mpi/pvars \
	test/mpi/spawn test/mpi/threads test/mpi/types
check_PROGRAMS += $(mpi_programs)
test_mpi_apart_SOURCES = test/mpi/apart.cpp
test_mpi_apart_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_apart_LDADD = $(test_mpi_big_LDADD)
test_mpi_big_SOURCES = test/mpi/big.cpp
test_mpi_big_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_big_LDADD = test/mpi/libmpitest.la $(MPI_LIBS)
test_mpi_collectives_SOURCES = test/mpi/collectives.cpp
test_mpi_collectives_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_collectives_LDADD = $(test_mpi_big_LDADD)
test_mpi_communicators_SOURCES = test/mpi/communicators.cpp
test_mpi_communicators_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_communicators_LDADD = $(test_mpi_big_LDADD)
test_mpi_faults_SOURCES = test/mpi/faults.cpp
test_mpi_faults_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_faults_LDADD = $(test_mpi_big_LDADD)
test_mpi_finalize_SOURCES = test/mpi/finalize.cpp
test_mpi_finalize_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_finalize_LDADD = $(test_mpi_big_LDADD)
test_mpi_iallreduce_SOURCES = test/mpi/iallreduce.cpp
test_mpi_iallreduce_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_iallreduce_LDADD = $(test_mpi_big_LDADD)
test_mpi_paths_SOURCES = test/mpi/paths.cpp
test_mpi_paths_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_paths_LDADD = $(test_mpi_big_LDADD)
test_mpi_point_to_point_SOURCES = test/mpi/point_to_point.cpp
test_mpi_point_to_point_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_point_to_point_LDADD = $(test_mpi_big_LDADD)
test_mpi_pvars_SOURCES = test/mpi/pvars.cpp
test_mpi_pvars_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_pvars_LDADD = $(test_mpi_big_LDADD)
test_mpi_spawn_SOURCES = test/mpi/spawn.cpp
test_mpi_spawn_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_spawn_LDADD = $(test_mpi_big_LDADD)
test_mpi_threads_SOURCES = test/mpi/threads.cpp
test_mpi_threads_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_threads_LDADD = $(test_mpi_big_LDADD) -lpthread
test_mpi_types_SOURCES = test/mpi/types.cpp
test_mpi_types_CPPFLAGS = $(test_mpi_libmpitest_la_CPPFLAGS)
test_mpi_types_LDADD = $(test_mpi_big_LDADD)
endif

mpi_scripts = test/mpi/big-test test/mpi/embedded-test test/mpi/faults-test test/mpi/finalize-test test/mpi/manager-test test/mpi/messages-test test/mpi/offload-test test/mpi/paths-test test/mpi/pml-ucx-test \
	test/mpi/settings-test test/mpi/software-test
if HAVE_COMPONENT
TESTS += $(mpi_scripts)
endif
LAB_TESTS += test/mpi/chaos.lab
EXTRA_DIST += $(mpi_scripts) test/mpi/environment test/mpi/odd-manager
