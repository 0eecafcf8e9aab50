# gateway: live events over WebSocket
bin_PROGRAMS += deft-gateway
deft_gateway_SOURCES = \
	gateway/arrival.c gateway/arrival.h \
	gateway/bash_ask.c gateway/bash_ask.h \
	gateway/bash_feed.c gateway/bash_feed.h \
	gateway/bash_orders.c gateway/bash_orders.h \
	gateway/bash_socket.c gateway/bash_socket.h \
	gateway/bash_window.c gateway/bash_window.h \
	gateway/callers.c gateway/callers.h \
	gateway/complaint.c gateway/complaint.h \
	gateway/door.c gateway/door.h \
	gateway/errand.c gateway/errand.h \
	gateway/frame.c gateway/frame.h \
	gateway/frame_heads.c gateway/frame_heads.h \
	gateway/gateway.h \
	gateway/handshake.c gateway/handshake.h \
	gateway/head.c gateway/head.h \
	gateway/inbox.c gateway/inbox.h \
	gateway/listener.c gateway/listener.h \
	gateway/main.c \
	gateway/masked_input.c gateway/masked_input.h \
	gateway/model_waits.c gateway/model_waits.h \
	gateway/news.c gateway/news.h \
	gateway/preview/refusal.c gateway/preview/refusal.h \
	gateway/preview/relay.c gateway/preview/relay.h \
	gateway/preview/request_head.c gateway/preview/request_head.h \
	gateway/progress_log.c gateway/progress_log.h \
	gateway/recent.c gateway/recent.h \
	gateway/replay.c gateway/replay.h \
	gateway/server.c gateway/server.h \
	gateway/snapshot.c gateway/snapshot.h \
	gateway/stream.c gateway/stream.h \
	gateway/stream_list.h \
	gateway/streams.c gateway/streams.h \
	gateway/subscriber.c gateway/subscriber.h
deft_gateway_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(LWS_CFLAGS)
deft_gateway_LDADD = $(CONFINE_LIBS) $(AUTH_LIBS) $(STORE_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(LWS_LIBS)
