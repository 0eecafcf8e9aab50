# Tests of the gateway's parts that need no socket
GATEWAY_TEST_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir) $(LWS_CFLAGS)
GATEWAY_TEST_LIBS = $(AUTH_LIBS) $(STORE_LIBS) $(MODEL_LIBS) $(LWS_LIBS) $(CMOCKA_LIBS) -lpthread

check_PROGRAMS += gateway_attach_test gateway_bash_feed_test gateway_bash_reader_test gateway_bash_request_test gateway_bash_window_test gateway_client_messages_test gateway_connection_test \
	gateway_event_poller_test gateway_event_reader_test gateway_feed_frames_test gateway_feed_test gateway_frame_heads_test gateway_frames_test gateway_masked_input_test \
	gateway_preview_relay_test gateway_process_test gateway_receive_test gateway_request_head_test gateway_revocation_test gateway_sockets_test gateway_stream_test gateway_ticker_test \
	gateway_upgrade_request_test
gateway_attach_test_SOURCES = tests/unit/gateway/ws/attach_test.c gateway/core/connection.c gateway/core/frame.c \
	gateway/ws/attach.c gateway/ws/subscriber.c
gateway_attach_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_attach_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_connection_test_SOURCES = tests/unit/gateway/core/connection_test.c gateway/core/connection.c \
	gateway/core/error_frame.c gateway/core/frame.c
gateway_connection_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_connection_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_ticker_test_SOURCES = tests/unit/gateway/core/ticker_test.c gateway/core/listener.c gateway/core/ticker.c
gateway_ticker_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_ticker_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_upgrade_request_test_SOURCES = tests/unit/gateway/ws/upgrade_request_test.c gateway/ws/frame_heads.c \
	gateway/ws/upgrade_request.c
gateway_upgrade_request_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_upgrade_request_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_frame_heads_test_SOURCES = tests/unit/gateway/ws/frame_heads_test.c gateway/ws/frame_heads.c
gateway_frame_heads_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_frame_heads_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_frames_test_SOURCES = tests/unit/gateway/feed/frames_test.c \
	gateway/core/frame.c gateway/feed/model_waits.c gateway/feed/delta_buffer.c gateway/feed/event_cache.c
gateway_frames_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_frames_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_event_poller_test_SOURCES = tests/unit/gateway/feed/event_poller_test.c \
	gateway/feed/event_poller.c
gateway_event_poller_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_event_poller_test_LDADD = $(GATEWAY_TEST_LIBS)
FEED_BENCH = tests/unit/gateway/feed/feed_bench.c tests/unit/gateway/feed/feed_bench.h gateway/core/frame.c \
	gateway/feed/delta_buffer.c gateway/feed/event_cache.c gateway/feed/event_poller.c gateway/feed/event_reader.c \
	gateway/feed/feed.c gateway/feed/model_waits.c gateway/feed/replay.c gateway/feed/snapshot.c gateway/feed/stream.c \
	gateway/feed/stream_registry.c
gateway_event_reader_test_SOURCES = tests/unit/gateway/feed/event_reader_test.c $(FEED_BENCH)
gateway_event_reader_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS) -I$(top_srcdir)/tests
gateway_event_reader_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_feed_test_SOURCES = tests/unit/gateway/feed/feed_test.c $(FEED_BENCH)
gateway_feed_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS) -I$(top_srcdir)/tests
gateway_feed_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_feed_frames_test_SOURCES = tests/unit/gateway/feed/feed_frames_test.c $(FEED_BENCH)
gateway_feed_frames_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS) -I$(top_srcdir)/tests
gateway_feed_frames_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_masked_input_test_SOURCES = tests/unit/gateway/ws/masked_input_test.c gateway/ws/frame_heads.c \
	gateway/ws/masked_input.c
gateway_masked_input_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_masked_input_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_receive_test_SOURCES = tests/unit/gateway/ws/receive_test.c gateway/ws/receive.c
gateway_receive_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_receive_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_preview_relay_test_SOURCES = tests/unit/gateway/preview/relay_test.c gateway/core/listener.c \
	gateway/preview/error_page.c gateway/preview/relay.c gateway/preview/request_head.c
gateway_preview_relay_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_preview_relay_test_LDADD = $(GATEWAY_TEST_LIBS)
GATEWAY_PROCESS = tests/unit/gateway/process/gateway_fixture.c tests/unit/gateway/process/gateway_fixture.h \
	tests/unit/gateway/process/websocket.c tests/unit/gateway/process/websocket.h \
	tests/unit/support/program.c tests/unit/support/program.h
GATEWAY_PROCESS_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS) -I$(top_srcdir)/tests $(PQ_CFLAGS) \
	-DDEFT_GATEWAY='"$(abs_top_builddir)/deft-gateway"'
gateway_process_test_SOURCES = tests/unit/gateway/process/gateway_test.c $(GATEWAY_PROCESS)
gateway_process_test_CPPFLAGS = $(GATEWAY_PROCESS_CPPFLAGS)
gateway_process_test_LDADD = libtestsupport.a $(GATEWAY_TEST_LIBS)
EXTRA_gateway_process_test_DEPENDENCIES = deft-gateway$(EXEEXT)
gateway_sockets_test_SOURCES = tests/unit/gateway/process/sockets_test.c $(GATEWAY_PROCESS)
gateway_sockets_test_CPPFLAGS = $(GATEWAY_PROCESS_CPPFLAGS)
gateway_sockets_test_LDADD = libtestsupport.a libtestserver.a $(CLIENT_LIBS) $(GATEWAY_TEST_LIBS)
EXTRA_gateway_sockets_test_DEPENDENCIES = deft-gateway$(EXEEXT)
gateway_request_head_test_SOURCES = tests/unit/gateway/preview/request_head_test.c gateway/preview/request_head.c
gateway_request_head_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_request_head_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_stream_test_SOURCES = tests/unit/gateway/feed/stream_test.c gateway/core/frame.c \
	gateway/feed/delta_buffer.c gateway/feed/event_cache.c gateway/feed/snapshot.c gateway/feed/stream.c
gateway_stream_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_stream_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_client_messages_test_SOURCES = tests/unit/gateway/ws/client_messages_test.c gateway/ws/client_messages.c
gateway_client_messages_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_client_messages_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_revocation_test_SOURCES = tests/unit/gateway/ws/revocation_test.c gateway/ws/revocation.c
gateway_revocation_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_revocation_test_LDADD = $(GATEWAY_TEST_LIBS)
PLAYED_SANDBOX = tests/unit/gateway/bash/played_sandbox.c tests/unit/gateway/bash/played_sandbox.h \
	gateway/bash/bash_commands.c gateway/bash/bash_feed.c gateway/bash/bash_window.c gateway/core/frame.c
gateway_bash_feed_test_SOURCES = tests/unit/gateway/bash/bash_feed_test.c $(PLAYED_SANDBOX)
gateway_bash_feed_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS) -I$(top_srcdir)/tests
gateway_bash_feed_test_LDADD = $(CLIENT_LIBS) $(GATEWAY_TEST_LIBS)
gateway_bash_reader_test_SOURCES = tests/unit/gateway/bash/bash_reader_test.c $(PLAYED_SANDBOX) gateway/bash/bash_reader.c
gateway_bash_reader_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS) -I$(top_srcdir)/tests
gateway_bash_reader_test_LDADD = libtestsupport.a $(CLIENT_LIBS) $(GATEWAY_TEST_LIBS)
gateway_bash_request_test_SOURCES = tests/unit/gateway/bash/bash_request_test.c gateway/bash/bash_request.c \
	gateway/core/async_http.c
gateway_bash_request_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_bash_request_test_LDADD = libtestserver.a $(CLIENT_LIBS) $(GATEWAY_TEST_LIBS)
gateway_bash_window_test_SOURCES = tests/unit/gateway/bash/bash_window_test.c \
	gateway/bash/bash_window.c gateway/core/frame.c
gateway_bash_window_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_bash_window_test_LDADD = $(GATEWAY_TEST_LIBS)

check_PROGRAMS += replay-gateway_frame_heads
replay_gateway_frame_heads_SOURCES = tests/fuzz/gateway_frame_heads.c gateway/ws/frame_heads.c tests/fuzz/replay.c
replay_gateway_frame_heads_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/gateway_frame_heads"'
replay_gateway_frame_heads_LDADD = $(GATEWAY_TEST_LIBS)

if FUZZ
EXTRA_PROGRAMS += fuzz-gateway_frame_heads
fuzz_gateway_frame_heads_SOURCES = tests/fuzz/gateway_frame_heads.c gateway/ws/frame_heads.c
fuzz_gateway_frame_heads_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
fuzz_gateway_frame_heads_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_gateway_frame_heads_LDADD = $(GATEWAY_TEST_LIBS)
endif
