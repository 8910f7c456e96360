# ucx_tl/engine: RoCEv2 reliable connections in user space, without UCX.
noinst_LTLIBRARIES += ucx_tl/engine/libinaengine.la
ucx_tl_engine_libinaengine_la_SOURCES = \
	ucx_tl/engine/answer_queue.hpp ucx_tl/engine/answer_queue.cpp \
	ucx_tl/engine/buffer_pool.hpp \
	ucx_tl/engine/clock.hpp \
	ucx_tl/engine/congestion.hpp ucx_tl/engine/congestion.cpp \
	ucx_tl/engine/connector.hpp ucx_tl/engine/connector.cpp \
	ucx_tl/engine/counters.hpp \
	ucx_tl/engine/deadline_heap.hpp \
	ucx_tl/engine/engine.hpp ucx_tl/engine/engine.cpp ucx_tl/engine/engine_connect.cpp ucx_tl/engine/engine_progress.cpp ucx_tl/engine/engine_receive.cpp \
	ucx_tl/engine/error.hpp \
	ucx_tl/engine/half_open.hpp \
	ucx_tl/engine/memory_table.hpp ucx_tl/engine/memory_table.cpp \
	ucx_tl/engine/message.hpp \
	ucx_tl/engine/message_queue.hpp \
	ucx_tl/engine/name_lock.hpp ucx_tl/engine/name_lock.cpp \
	ucx_tl/engine/next_hop.hpp ucx_tl/engine/next_hop.cpp \
	ucx_tl/engine/packet_batch.hpp ucx_tl/engine/packet_batch.cpp \
	ucx_tl/engine/packet_io.hpp \
	ucx_tl/engine/payload_limit.hpp ucx_tl/engine/payload_limit.cpp \
	ucx_tl/engine/poll_pace.hpp \
	ucx_tl/engine/port_steering.hpp ucx_tl/engine/port_steering.cpp \
	ucx_tl/engine/qp.hpp ucx_tl/engine/qp_table.hpp \
	ucx_tl/engine/relay_client.hpp ucx_tl/engine/relay_client.cpp \
	ucx_tl/engine/requester.hpp ucx_tl/engine/requester.cpp ucx_tl/engine/requester_answer.cpp \
	ucx_tl/engine/resolve.hpp ucx_tl/engine/resolve.cpp \
	ucx_tl/engine/request.hpp \
	ucx_tl/engine/responder.hpp ucx_tl/engine/responder.cpp ucx_tl/engine/responder_answer.cpp \
	ucx_tl/engine/rtt.hpp \
	ucx_tl/engine/shared_port.hpp ucx_tl/engine/shared_port.cpp ucx_tl/engine/shared_port_places.cpp \
	ucx_tl/engine/udp_socket.hpp ucx_tl/engine/udp_socket.cpp \
	ucx_tl/engine/wakeup.hpp ucx_tl/engine/wakeup.cpp \
	ucx_tl/engine/xdp_io.hpp ucx_tl/engine/xdp_io.cpp
ucx_tl_engine_libinaengine_la_LIBADD = net/libinanet.la wire/libinawire.la
