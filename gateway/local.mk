# gateway: live events over WebSocket
bin_PROGRAMS += deft-gateway
deft_gateway_SOURCES = \
	gateway/bash/bash_commands.c gateway/bash/bash_commands.h \
	gateway/bash/bash_feed.c gateway/bash/bash_feed.h \
	gateway/bash/bash_reader.c gateway/bash/bash_reader.h \
	gateway/bash/bash_request.c gateway/bash/bash_request.h \
	gateway/bash/bash_window.c gateway/bash/bash_window.h \
	gateway/core/async_http.c gateway/core/async_http.h \
	gateway/core/connection.c gateway/core/connection.h \
	gateway/core/error_frame.c gateway/core/error_frame.h \
	gateway/core/frame.c gateway/core/frame.h \
	gateway/core/listener.c gateway/core/listener.h \
	gateway/core/socket_request.h \
	gateway/core/ticker.c gateway/core/ticker.h \
	gateway/feed/delta_buffer.c gateway/feed/delta_buffer.h \
	gateway/feed/event_cache.c gateway/feed/event_cache.h \
	gateway/feed/event_poller.c gateway/feed/event_poller.h \
	gateway/feed/event_reader.c gateway/feed/event_reader.h \
	gateway/feed/feed.c gateway/feed/feed.h \
	gateway/feed/model_waits.c gateway/feed/model_waits.h \
	gateway/feed/replay.c gateway/feed/replay.h \
	gateway/feed/snapshot.c gateway/feed/snapshot.h \
	gateway/feed/stream.c gateway/feed/stream.h \
	gateway/feed/stream_registry.c gateway/feed/stream_registry.h \
	gateway/main.c \
	gateway/preview/error_page.c gateway/preview/error_page.h \
	gateway/preview/relay.c gateway/preview/relay.h \
	gateway/preview/request_head.c gateway/preview/request_head.h \
	gateway/ws/acceptor.c gateway/ws/acceptor.h \
	gateway/ws/attach.c gateway/ws/attach.h \
	gateway/ws/client_messages.c gateway/ws/client_messages.h \
	gateway/ws/frame_heads.c gateway/ws/frame_heads.h \
	gateway/ws/masked_input.c gateway/ws/masked_input.h \
	gateway/ws/ws_services.h \
	gateway/ws/receive.c gateway/ws/receive.h \
	gateway/ws/revocation.c gateway/ws/revocation.h \
	gateway/ws/subscriber.c gateway/ws/subscriber.h \
	gateway/ws/upgrade_request.c gateway/ws/upgrade_request.h \
	gateway/ws/ws_server.c gateway/ws/ws_server.h
deft_gateway_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(LWS_CFLAGS) \
	-DDEFT_DATA_DIR='"$(pkgdatadir)"'
deft_gateway_LDADD = $(CONFINE_LIBS) $(AUTH_LIBS) $(STORE_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(LWS_LIBS)
