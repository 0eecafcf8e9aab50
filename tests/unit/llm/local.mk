# Tests of lib/llm
check_LIBRARIES += libllmfixture.a
libllmfixture_a_SOURCES = tests/unit/llm/llm_fixture.c tests/unit/llm/llm_fixture.h
libllmfixture_a_CPPFLAGS = $(TEST_CPPFLAGS)

LLM_TEST_LIBS = libllmfixture.a $(LLM_LIBS) $(CLIENT_TEST_LIBS)

check_PROGRAMS += chat_test retry_test route_test scripted_test
chat_test_SOURCES = tests/unit/llm/chat_test.c
chat_test_CPPFLAGS = $(TEST_CPPFLAGS)
chat_test_LDADD = $(LLM_TEST_LIBS)
retry_test_SOURCES = tests/unit/llm/retry_test.c
retry_test_CPPFLAGS = $(TEST_CPPFLAGS)
retry_test_LDADD = $(LLM_TEST_LIBS)
route_test_SOURCES = tests/unit/llm/route_test.c
route_test_CPPFLAGS = $(TEST_CPPFLAGS)
route_test_LDADD = $(LLM_TEST_LIBS)
scripted_test_SOURCES = tests/unit/llm/scripted_test.c
scripted_test_CPPFLAGS = $(TEST_CPPFLAGS)
scripted_test_LDADD = $(LLM_TEST_LIBS)
EXTRA_DIST += tests/data/scripted/slow.json tests/data/scripted/true.json tests/data/scripted/unit.json
