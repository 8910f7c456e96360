noinst_LTLIBRARIES += wire/libinawire.la
wire_libinawire_la_SOURCES = \
	wire/bytes.hpp wire/limits.hpp \
	wire/ina_header.hpp wire/ina_header.cpp \
	wire/elements.hpp wire/elements.cpp \
	wire/roce.hpp wire/roce.cpp \
	wire/icrc.hpp wire/icrc.cpp \
	wire/identification.hpp wire/identification.cpp \
	wire/address.hpp wire/address.cpp \
	wire/frame.hpp wire/frame.cpp \
	wire/relay_message.hpp wire/relay_message.cpp \
	wire/connect_message.hpp wire/connect_message.cpp
wire_libinawire_la_CXXFLAGS = $(AM_CXXFLAGS) $(HWY_CFLAGS) $(INA_CRC_CFLAGS)
wire_libinawire_la_LIBADD = $(HWY_LIBS) $(INA_CRC_LIBS)
EXTRA_DIST += wire/PROTOCOL.md
