# Tests of lib/auth
check_PROGRAMS += auth_test
auth_test_SOURCES = tests/unit/auth/auth_test.c
auth_test_CPPFLAGS = $(TEST_CPPFLAGS)
auth_test_LDADD = libtestsupport.a $(AUTH_LIBS) $(STORE_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)

check_PROGRAMS += auth_credential_test
auth_credential_test_SOURCES = tests/unit/auth/credential_test.c
auth_credential_test_CPPFLAGS = $(TEST_CPPFLAGS)
auth_credential_test_LDADD = libtestsupport.a $(AUTH_LIBS) $(STORE_LIBS) $(MODEL_LIBS) $(CMOCKA_LIBS)
