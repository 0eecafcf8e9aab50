# Tests of the gateway's parts that need no socket
GATEWAY_TEST_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir) $(LWS_CFLAGS)
GATEWAY_TEST_LIBS = $(AUTH_LIBS) $(STORE_LIBS) $(MODEL_LIBS) $(LWS_LIBS) $(CMOCKA_LIBS) -lpthread

check_PROGRAMS += gateway_bash_window_test gateway_head_test gateway_frames_test
gateway_head_test_SOURCES = tests/unit/gateway/head_test.c gateway/frame_heads.c \
	gateway/handshake.c gateway/head.c
gateway_head_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_head_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_frames_test_SOURCES = tests/unit/gateway/frames_test.c \
	gateway/frame.c gateway/model_waits.c gateway/progress_log.c gateway/recent.c
gateway_frames_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_frames_test_LDADD = $(GATEWAY_TEST_LIBS)
gateway_bash_window_test_SOURCES = tests/unit/gateway/bash_window_test.c \
	gateway/bash_window.c gateway/frame.c
gateway_bash_window_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
gateway_bash_window_test_LDADD = $(GATEWAY_TEST_LIBS)

check_PROGRAMS += replay-gateway_head
replay_gateway_head_SOURCES = tests/fuzz/gateway_head.c gateway/frame_heads.c gateway/handshake.c gateway/head.c tests/fuzz/replay.c
replay_gateway_head_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/gateway_head"'
replay_gateway_head_LDADD = $(GATEWAY_TEST_LIBS)

if FUZZ
EXTRA_PROGRAMS += fuzz-gateway_head
fuzz_gateway_head_SOURCES = tests/fuzz/gateway_head.c gateway/frame_heads.c gateway/handshake.c gateway/head.c
fuzz_gateway_head_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS)
fuzz_gateway_head_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_gateway_head_LDADD = $(GATEWAY_TEST_LIBS)
endif
