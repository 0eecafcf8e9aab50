# lib/client: outbound HTTP and server-sent events
noinst_LIBRARIES += libclient.a
libclient_a_SOURCES = \
	lib/client/http_call.c lib/client/http_call.h \
	lib/client/cancel.c lib/client/cancel.h \
	lib/client/address_filter.c lib/client/address_filter.h \
	lib/client/auth_challenge.c lib/client/auth_challenge.h \
	lib/client/http.c lib/client/http.h \
	lib/client/http1.c lib/client/http1.h \
	lib/client/http_setup.c \
	lib/client/direct_connections.c lib/client/direct_connections.h \
	lib/client/direct_request.c \
	lib/client/mcp.c lib/client/mcp.h \
	lib/client/mcp_headers.c lib/client/mcp_headers.h \
	lib/client/mcp_refusal.c lib/client/mcp_refusal.h \
	lib/client/mcp_session.c lib/client/mcp_session.h \
	lib/client/oauth.c lib/client/oauth.h lib/client/oauth_discover.c \
	lib/client/proof.c lib/client/proof.h \
	lib/client/runtime_api.c lib/client/runtime_api.h \
	lib/client/sandbox_call.c lib/client/sandbox_call.h \
	lib/client/host_header.c lib/client/host_header.h \
	lib/client/sigv4.c lib/client/sigv4.h \
	lib/client/sse.c lib/client/sse.h \
	lib/client/tcp.c lib/client/tcp.h \
	lib/client/transport.c lib/client/transport.h
libclient_a_CPPFLAGS = $(AM_CPPFLAGS) $(CURL_CFLAGS)

CLIENT_LIBS = libclient.a $(CURL_LIBS)
