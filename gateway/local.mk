# gateway: live events over WebSocket
bin_PROGRAMS += deft-gateway
deft_gateway_SOURCES = \
	gateway/frame.c gateway/frame.h \
	gateway/gateway.h \
	gateway/handshake.c gateway/handshake.h \
	gateway/inbox.c gateway/inbox.h \
	gateway/main.c \
	gateway/server.c gateway/server.h \
	gateway/stream.c gateway/stream.h \
	gateway/subscriber.c gateway/subscriber.h
deft_gateway_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(LWS_CFLAGS)
deft_gateway_LDADD = $(AUTH_LIBS) $(STORE_LIBS) $(MODEL_LIBS) $(LWS_LIBS)
