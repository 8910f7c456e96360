noinst_LTLIBRARIES += switch/aggregator/libinaaggregator.la
switch_aggregator_libinaaggregator_la_SOURCES = \
	switch/aggregator/switch_control.hpp \
	switch/aggregator/endpoint.hpp switch/aggregator/emitter.hpp \
	switch/aggregator/outcome.hpp switch/aggregator/outcome.cpp \
	switch/aggregator/connection.hpp switch/aggregator/connection.cpp \
	switch/aggregator/slot_pool.hpp switch/aggregator/slot_pool.cpp \
	switch/aggregator/group.hpp switch/aggregator/group.cpp \
	switch/aggregator/aggregator.hpp switch/aggregator/aggregator.cpp
switch_aggregator_libinaaggregator_la_LIBADD = wire/libinawire.la
