# net: what engine, core and switch need of the operating system's network. Who links it links wire/libinawire.la, too.
noinst_LTLIBRARIES += net/libinanet.la
net_libinanet_la_SOURCES = \
	net/bpf.hpp net/bpf.cpp \
	net/descriptor.hpp \
	net/error.hpp \
	net/link_watch.hpp net/link_watch.cpp \
	net/links.hpp net/links.cpp \
	net/local_address.hpp net/local_address.cpp \
	net/netdev.hpp net/netdev.cpp \
	net/netdev_features.hpp net/netdev_features.cpp \
	net/netlink_message.hpp \
	net/resolve.hpp net/resolve.cpp \
	net/segmenting_sender.hpp net/segmenting_sender.cpp \
	net/tc_program.hpp net/tc_program.cpp \
	net/xdp_filter.hpp net/xdp_filter.cpp \
	net/xdp_program.hpp net/xdp_program.cpp \
	net/xdp_socket.hpp net/xdp_socket.cpp
