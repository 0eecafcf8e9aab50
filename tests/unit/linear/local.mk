# Parsers of outside text take linear time: one program for the functions of each process
LINEAR_SOURCES = tests/unit/linear/linear.c tests/unit/linear/linear.h
LINEAR_CPPFLAGS = -I$(top_srcdir)/tests $(JANSSON_CFLAGS) $(CMOCKA_CFLAGS)

LINEAR_TESTS = linear_aws_test linear_fcgi_test linear_gateway_test linear_lib_test linear_runtime_test linear_sandbox_test \
	linear_test linear_wire_test linear_worker_test
check_PROGRAMS += $(LINEAR_TESTS)
linear_test_SOURCES = $(LINEAR_SOURCES) tests/unit/linear/linear_test.c
linear_test_CPPFLAGS = $(SANDBOX_CPPFLAGS) $(LINEAR_CPPFLAGS)
linear_test_LDADD = libsandbox.a $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(ZLIB_LIBS) $(CMOCKA_LIBS) -lm
linear_sandbox_test_SOURCES = $(LINEAR_SOURCES) tests/unit/linear/linear_sandbox_test.c
linear_sandbox_test_CPPFLAGS = $(SANDBOX_CPPFLAGS) $(LINEAR_CPPFLAGS)
linear_sandbox_test_LDADD = libsandbox.a $(MODEL_LIBS) $(HTTP_PARSER_LIBS) $(ZLIB_LIBS) $(CMOCKA_LIBS) -lm
linear_runtime_test_SOURCES = $(LINEAR_SOURCES) tests/unit/linear/linear_runtime_test.c \
	runtime/build/build_context.c runtime/build/build_form.c runtime/egress/dns_message.c runtime/build/dockerfile.c runtime/build/dockerfile_text.c runtime/build/dockerfile_variables.c \
	runtime/egress/egress_policy.c runtime/docker/log_demux.c runtime/build/image_source.c runtime/egress/nflog_parse.c \
	runtime/egress/firewall.c runtime/backend/command_run.c runtime/egress/denial_counter.c runtime/docker/tar.c
linear_runtime_test_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) $(LINEAR_CPPFLAGS) $(MNL_CFLAGS)
linear_runtime_test_LDADD = $(MNL_LIBS) $(BASE_LIBS) $(ZLIB_LIBS) $(CMOCKA_LIBS)
linear_lib_test_SOURCES = $(LINEAR_SOURCES) tests/unit/linear/linear_lib_test.c
linear_lib_test_CPPFLAGS = $(AM_CPPFLAGS) $(LINEAR_CPPFLAGS)
linear_lib_test_LDADD = libtestcatalogue.a $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
linear_aws_test_SOURCES = $(LINEAR_SOURCES) tests/unit/linear/linear_aws_test.c tests/unit/support/event_frames.h
linear_aws_test_CPPFLAGS = $(AM_CPPFLAGS) $(LINEAR_CPPFLAGS)
linear_aws_test_LDADD = $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
linear_fcgi_test_SOURCES = $(LINEAR_SOURCES) tests/unit/linear/linear_fcgi_test.c \
	tests/unit/support/raw_request.c tests/unit/support/raw_request.h
linear_fcgi_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(LINEAR_CPPFLAGS)
linear_fcgi_test_LDADD = $(FCGI_HANDLER_LIBS) $(CMOCKA_LIBS)
linear_gateway_test_SOURCES = $(LINEAR_SOURCES) tests/unit/linear/linear_gateway_test.c \
	gateway/ws/frame_heads.c gateway/ws/upgrade_request.c
linear_gateway_test_CPPFLAGS = $(GATEWAY_TEST_CPPFLAGS) $(LINEAR_CPPFLAGS)
linear_gateway_test_LDADD = $(GATEWAY_TEST_LIBS)
linear_wire_test_SOURCES = $(LINEAR_SOURCES) tests/unit/linear/linear_wire_test.c
linear_wire_test_CPPFLAGS = $(AM_CPPFLAGS) $(LINEAR_CPPFLAGS)
linear_wire_test_LDADD = libtestcatalogue.a $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
linear_worker_test_SOURCES = $(LINEAR_SOURCES) tests/unit/linear/linear_worker_test.c
linear_worker_test_CPPFLAGS = $(WORKER_TEST_CPPFLAGS) $(LINEAR_CPPFLAGS)
linear_worker_test_LDADD = $(WORKER_TEST_LIBS)
