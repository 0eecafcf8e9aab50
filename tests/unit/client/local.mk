# Tests of lib/client
check_LIBRARIES += libtestserver.a
libtestserver_a_SOURCES = tests/unit/client/test_server.c tests/unit/client/test_server.h
libtestserver_a_CPPFLAGS = $(TEST_CPPFLAGS)

CLIENT_TEST_LIBS = libtestserver.a $(CLIENT_LIBS) $(BASE_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += guard_test http_test sse_test
guard_test_SOURCES = tests/unit/client/guard_test.c
guard_test_CPPFLAGS = $(TEST_CPPFLAGS)
guard_test_LDADD = $(CLIENT_TEST_LIBS)
http_test_SOURCES = tests/unit/client/http_test.c
http_test_CPPFLAGS = $(TEST_CPPFLAGS)
http_test_LDADD = $(CLIENT_TEST_LIBS)
sse_test_SOURCES = tests/unit/client/sse_test.c
sse_test_CPPFLAGS = $(TEST_CPPFLAGS)
sse_test_LDADD = $(CLIENT_TEST_LIBS)
