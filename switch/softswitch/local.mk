noinst_LTLIBRARIES += switch/softswitch/libinasoftswitch.la
switch_softswitch_libinasoftswitch_la_SOURCES = \
	switch/softswitch/outbox.hpp \
	switch/softswitch/bridge.hpp switch/softswitch/bridge.cpp \
	switch/softswitch/data_path.hpp \
	switch/softswitch/datagram_port.hpp switch/softswitch/datagram_port.cpp \
	switch/softswitch/fault_injector.hpp switch/softswitch/fault_injector.cpp \
	switch/softswitch/faulty_outbox.hpp \
	switch/softswitch/faulty_port.hpp \
	switch/softswitch/frame_port.hpp \
	switch/softswitch/interfaces.hpp switch/softswitch/interfaces.cpp \
	switch/softswitch/listening.hpp switch/softswitch/listening.cpp \
	switch/softswitch/kernel_bridge.hpp switch/softswitch/kernel_bridge.cpp \
	switch/softswitch/send_batch.hpp switch/softswitch/packet_port.hpp switch/softswitch/packet_port.cpp \
	switch/softswitch/relay.hpp switch/softswitch/relay.cpp \
	switch/softswitch/relay_path.hpp switch/softswitch/relay_path.cpp \
	switch/softswitch/side_entry.hpp switch/softswitch/side_entry.cpp \
	switch/softswitch/stations.hpp switch/softswitch/stations.cpp \
	switch/softswitch/wire_switch.hpp switch/softswitch/wire_switch.cpp \
	switch/softswitch/xdp_frames.hpp \
	switch/softswitch/xdp_port.hpp switch/softswitch/xdp_port.cpp
switch_softswitch_libinasoftswitch_la_LIBADD = net/libinanet.la switch/aggregator/libinaaggregator.la

if HAVE_SWITCH
bin_PROGRAMS += ina-softswitch
ina_softswitch_SOURCES = \
	switch/softswitch/main.cpp \
	switch/softswitch/program.hpp switch/softswitch/program.cpp \
	switch/softswitch/port_opener.hpp switch/softswitch/port_opener.cpp \
	switch/softswitch/settings.hpp switch/softswitch/settings.cpp \
	switch/softswitch/wire_path.hpp switch/softswitch/wire_path.cpp
ina_softswitch_CXXFLAGS = $(AM_CXXFLAGS) $(SPDLOG_CFLAGS) $(CLI11_CFLAGS)
ina_softswitch_LDADD = switch/softswitch/libinasoftswitch.la switch/manager/libinamanager.la $(SPDLOG_LIBS)
dist_man_MANS += switch/softswitch/ina-softswitch.1
endif
