# Tests of lib/start
START_TEST_FIXTURE = tests/unit/start/start_fixture.c tests/unit/start/start_fixture.h
START_TEST_CPPFLAGS = $(TEST_CPPFLAGS) -I$(top_srcdir)/tests
START_TEST_LIBS = \
	libtestsupport.a libtestcatalogue.a $(START_LIBS) $(STORE_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS) -lpthread

check_PROGRAMS += \
	profile_resolve_test start_expand_test start_fork_test start_parse_test start_place_test \
	start_references_test start_rows_test start_test start_validate_test
profile_resolve_test_SOURCES = tests/unit/start/profile_resolve_test.c $(START_TEST_FIXTURE)
profile_resolve_test_CPPFLAGS = $(START_TEST_CPPFLAGS)
profile_resolve_test_LDADD = $(START_TEST_LIBS)
start_expand_test_SOURCES = tests/unit/start/start_expand_test.c $(START_TEST_FIXTURE)
start_expand_test_CPPFLAGS = $(START_TEST_CPPFLAGS)
start_expand_test_LDADD = $(START_TEST_LIBS)
start_fork_test_SOURCES = tests/unit/start/start_fork_test.c $(START_TEST_FIXTURE)
start_fork_test_CPPFLAGS = $(START_TEST_CPPFLAGS)
start_fork_test_LDADD = $(START_TEST_LIBS)
start_parse_test_SOURCES = tests/unit/start/start_parse_test.c $(START_TEST_FIXTURE)
start_parse_test_CPPFLAGS = $(START_TEST_CPPFLAGS)
start_parse_test_LDADD = $(START_TEST_LIBS)
start_place_test_SOURCES = tests/unit/start/start_place_test.c $(START_TEST_FIXTURE)
start_place_test_CPPFLAGS = $(START_TEST_CPPFLAGS)
start_place_test_LDADD = $(START_TEST_LIBS)
start_references_test_SOURCES = tests/unit/start/start_references_test.c $(START_TEST_FIXTURE)
start_references_test_CPPFLAGS = $(START_TEST_CPPFLAGS)
start_references_test_LDADD = $(START_TEST_LIBS)
start_rows_test_SOURCES = tests/unit/start/start_rows_test.c $(START_TEST_FIXTURE)
start_rows_test_CPPFLAGS = $(START_TEST_CPPFLAGS)
start_rows_test_LDADD = $(START_TEST_LIBS)
start_test_SOURCES = tests/unit/start/start_test.c $(START_TEST_FIXTURE)
start_test_CPPFLAGS = $(START_TEST_CPPFLAGS)
start_test_LDADD = $(START_TEST_LIBS)
start_validate_test_SOURCES = tests/unit/start/start_validate_test.c $(START_TEST_FIXTURE)
start_validate_test_CPPFLAGS = $(START_TEST_CPPFLAGS)
start_validate_test_LDADD = $(START_TEST_LIBS)
