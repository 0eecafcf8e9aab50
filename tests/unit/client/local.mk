# Tests of lib/client
check_LIBRARIES += libtestserver.a
libtestserver_a_SOURCES = tests/unit/client/mcp_site.c tests/unit/client/mcp_site.h \
	tests/unit/client/test_server.c tests/unit/client/test_server.h
libtestserver_a_CPPFLAGS = $(TEST_CPPFLAGS)

CLIENT_TEST_LIBS = libtestserver.a $(CLIENT_LIBS) $(BASE_LIBS) $(CMOCKA_LIBS)

HTTP_FIXTURE = tests/unit/client/http_fixture.c tests/unit/client/http_fixture.h
MCP_FIXTURE = tests/unit/client/mcp_fixture.c tests/unit/client/mcp_fixture.h

check_PROGRAMS += address_filter_test cancel_test http1_test http_body_test http_direct_test http_limits_test http_proof_test http_stream_test http_test http_wait_test direct_request_test mcp_headers_test mcp_progress_test mcp_resume_test mcp_session_test mcp_stream_test mcp_test oauth_discover_test oauth_test proof_test \
	host_header_test runtime_api_test sandbox_call_test sigv4_test sse_test tcp_test
address_filter_test_SOURCES = tests/unit/client/address_filter_test.c
address_filter_test_CPPFLAGS = $(TEST_CPPFLAGS)
address_filter_test_LDADD = $(CLIENT_TEST_LIBS)
http1_test_SOURCES = tests/unit/client/http1_test.c
http1_test_CPPFLAGS = $(TEST_CPPFLAGS)
http1_test_LDADD = $(CLIENT_TEST_LIBS)
http_direct_test_SOURCES = tests/unit/client/http_direct_test.c $(HTTP_FIXTURE)
http_direct_test_CPPFLAGS = $(TEST_CPPFLAGS)
http_direct_test_LDADD = $(CLIENT_TEST_LIBS)
http_limits_test_SOURCES = tests/unit/client/http_limits_test.c $(HTTP_FIXTURE)
http_limits_test_CPPFLAGS = $(TEST_CPPFLAGS)
http_limits_test_LDADD = $(CLIENT_TEST_LIBS)
http_proof_test_SOURCES = tests/unit/client/http_proof_test.c $(HTTP_FIXTURE)
http_proof_test_CPPFLAGS = $(TEST_CPPFLAGS)
http_proof_test_LDADD = $(CLIENT_TEST_LIBS)
http_stream_test_SOURCES = tests/unit/client/http_stream_test.c $(HTTP_FIXTURE)
http_stream_test_CPPFLAGS = $(TEST_CPPFLAGS)
http_stream_test_LDADD = $(CLIENT_TEST_LIBS)
http_test_SOURCES = tests/unit/client/http_test.c $(HTTP_FIXTURE)
http_test_CPPFLAGS = $(TEST_CPPFLAGS)
http_test_LDADD = $(CLIENT_TEST_LIBS)
cancel_test_SOURCES = tests/unit/client/cancel_test.c $(HTTP_FIXTURE)
cancel_test_CPPFLAGS = $(TEST_CPPFLAGS)
cancel_test_LDADD = $(CLIENT_TEST_LIBS)
http_body_test_SOURCES = tests/unit/client/http_body_test.c $(HTTP_FIXTURE)
http_body_test_CPPFLAGS = $(TEST_CPPFLAGS)
http_body_test_LDADD = $(CLIENT_TEST_LIBS)
http_wait_test_SOURCES = tests/unit/client/http_wait_test.c $(HTTP_FIXTURE)
http_wait_test_CPPFLAGS = $(TEST_CPPFLAGS)
http_wait_test_LDADD = $(CLIENT_TEST_LIBS)
direct_request_test_SOURCES = tests/unit/client/direct_request_test.c
direct_request_test_CPPFLAGS = $(TEST_CPPFLAGS)
direct_request_test_LDADD = $(CLIENT_TEST_LIBS)
mcp_headers_test_SOURCES = tests/unit/client/mcp_headers_test.c
mcp_headers_test_CPPFLAGS = $(TEST_CPPFLAGS)
mcp_headers_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=mem_free
mcp_headers_test_LDADD = libtestserver.a libtestsupport.a $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
mcp_progress_test_SOURCES = tests/unit/client/mcp_progress_test.c $(MCP_FIXTURE)
mcp_progress_test_CPPFLAGS = $(TEST_CPPFLAGS)
mcp_progress_test_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_monotonic_ms
mcp_progress_test_LDADD = libtestserver.a libtestsupport.a $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
mcp_resume_test_SOURCES = tests/unit/client/mcp_resume_test.c $(MCP_FIXTURE)
mcp_resume_test_CPPFLAGS = $(TEST_CPPFLAGS)
mcp_resume_test_LDADD = libtestserver.a libtestsupport.a $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
mcp_session_test_SOURCES = tests/unit/client/mcp_session_test.c $(MCP_FIXTURE)
mcp_session_test_CPPFLAGS = $(TEST_CPPFLAGS)
mcp_session_test_LDADD = libtestserver.a libtestsupport.a $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
mcp_stream_test_SOURCES = tests/unit/client/mcp_stream_test.c $(MCP_FIXTURE)
mcp_stream_test_CPPFLAGS = $(TEST_CPPFLAGS)
mcp_stream_test_LDADD = libtestserver.a libtestsupport.a $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
mcp_test_SOURCES = tests/unit/client/mcp_test.c
mcp_test_CPPFLAGS = $(TEST_CPPFLAGS)
mcp_test_LDADD = libtestserver.a libtestsupport.a $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
oauth_discover_test_SOURCES = tests/unit/client/oauth_discover_test.c
oauth_discover_test_CPPFLAGS = $(TEST_CPPFLAGS)
oauth_discover_test_LDADD = libtestserver.a libtestsupport.a $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
oauth_test_SOURCES = tests/unit/client/oauth_test.c
oauth_test_CPPFLAGS = $(TEST_CPPFLAGS)
oauth_test_LDADD = libtestserver.a libtestsupport.a $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
proof_test_SOURCES = tests/unit/client/proof_test.c
proof_test_CPPFLAGS = $(TEST_CPPFLAGS)
proof_test_LDADD = $(CLIENT_TEST_LIBS)
runtime_api_test_SOURCES = tests/unit/client/runtime_api_test.c
runtime_api_test_CPPFLAGS = $(TEST_CPPFLAGS) $(CURL_CFLAGS)
runtime_api_test_LDADD = libtestserver.a libtestsupport.a $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
sandbox_call_test_SOURCES = tests/unit/client/sandbox_call_test.c $(HTTP_FIXTURE)
sandbox_call_test_CPPFLAGS = $(TEST_CPPFLAGS) $(CURL_CFLAGS)
sandbox_call_test_LDADD = libtestsupport.a $(CLIENT_TEST_LIBS)
sse_test_SOURCES = tests/unit/client/sse_test.c
sse_test_CPPFLAGS = $(TEST_CPPFLAGS)
sse_test_LDADD = $(CLIENT_TEST_LIBS)
tcp_test_SOURCES = tests/unit/client/tcp_test.c
tcp_test_CPPFLAGS = $(TEST_CPPFLAGS)
tcp_test_LDADD = $(CLIENT_TEST_LIBS)

check_PROGRAMS += replay-client_http1
replay_client_http1_SOURCES = tests/fuzz/client_http1.c tests/fuzz/cut.h tests/fuzz/replay.c
replay_client_http1_CPPFLAGS = $(AM_CPPFLAGS) $(CURL_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/client_http1"'
replay_client_http1_LDADD = $(CLIENT_LIBS) $(BASE_LIBS)

if FUZZ
EXTRA_PROGRAMS += fuzz-client_http1
fuzz_client_http1_SOURCES = tests/fuzz/client_http1.c tests/fuzz/cut.h
fuzz_client_http1_CPPFLAGS = $(AM_CPPFLAGS) $(CURL_CFLAGS)
fuzz_client_http1_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_client_http1_LDADD = $(CLIENT_LIBS) $(BASE_LIBS)
endif
host_header_test_SOURCES = tests/unit/client/host_header_test.c $(HTTP_FIXTURE)
host_header_test_CPPFLAGS = $(TEST_CPPFLAGS)
host_header_test_LDADD = $(CLIENT_TEST_LIBS)
sigv4_test_SOURCES = tests/unit/client/sigv4_test.c
sigv4_test_CPPFLAGS = $(TEST_CPPFLAGS)
sigv4_test_LDADD = $(CLIENT_TEST_LIBS)
