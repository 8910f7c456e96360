# What a user needs beside the parts: environment, demonstration, report, and the scripts of the source tree.
ompidir = $(libdir)/openmpi
inalibdir = $(libdir)/ina

envdir = $(pkgdatadir)
env_DATA = contrib/env
CLEANFILES += contrib/env
contrib/env: contrib/env.in Makefile
	$(AM_V_GEN)$(MKDIR_P) contrib && sed -e 's|@prefix[@]|$(prefix)|g' -e 's|@bindir[@]|$(bindir)|g' \
	  -e 's|@mandir[@]|$(mandir)|g' -e 's|@pkgdatadir[@]|$(pkgdatadir)|g' -e 's|@ompidir[@]|$(ompidir)|g' \
	  $(srcdir)/contrib/env.in > $@.new && mv $@.new $@

EXTRA_DIST += contrib/env.in contrib/quickstart contrib/check contrib/packages contrib/install-packages \
	contrib/get-ucx-source contrib/demo/run contrib/expected-skips \
	contrib/demo/melt.lmp

wiresharkdir = $(pkgdatadir)/wireshark
dist_wireshark_DATA = contrib/wireshark/ina.lua
demodir = $(pkgdatadir)/demo
demo_DATA = contrib/demo/melt.lmp

if HAVE_OMPI
bin_PROGRAMS += contrib/demo/ina-demo
contrib_demo_ina_demo_SOURCES = \
	contrib/demo/main.cpp \
	contrib/demo/counters.hpp contrib/demo/counters.cpp \
	contrib/demo/options.hpp contrib/demo/options.cpp \
	contrib/demo/random_vectors.hpp \
	contrib/demo/exactness.hpp contrib/demo/exactness.cpp \
	contrib/demo/speed.hpp contrib/demo/speed.cpp
contrib_demo_ina_demo_CPPFLAGS = $(AM_CPPFLAGS) -DOMPI_SKIP_MPICXX $(OMPI_CPPFLAGS)
contrib_demo_ina_demo_LDADD = $(MPI_LIBS)
dist_man_MANS += contrib/demo/ina-demo.1

# Preloaded into an MPI program, it says at MPI_Finalize what became of its allreduces.
inalib_LTLIBRARIES = contrib/tools/libina_report.la
contrib_tools_libina_report_la_SOURCES = contrib/tools/report.cpp contrib/demo/counters.hpp contrib/demo/counters.cpp
contrib_tools_libina_report_la_CPPFLAGS = $(AM_CPPFLAGS) -DOMPI_SKIP_MPICXX $(OMPI_CPPFLAGS)
contrib_tools_libina_report_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -no-undefined $(INA_NO_UNDEFINED)
contrib_tools_libina_report_la_LIBADD = $(MPI_LIBS)
endif
