noinst_LTLIBRARIES += switch/manager/libinamanager.la
switch_manager_libinamanager_la_SOURCES = \
	switch/manager/answer.hpp switch/manager/answer.cpp \
	switch/manager/group_table.hpp switch/manager/group_table.cpp \
	switch/manager/line_buffer.hpp \
	switch/manager/manager.hpp switch/manager/manager.cpp \
	switch/manager/random.hpp switch/manager/random.cpp \
	switch/manager/request.hpp switch/manager/request.cpp \
	switch/manager/session.hpp switch/manager/session.cpp \
	switch/manager/settings.hpp \
	switch/manager/socket_peer.hpp switch/manager/socket_peer.cpp \
	switch/manager/status.hpp switch/manager/status.cpp
