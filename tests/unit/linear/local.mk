# What walks text from outside takes time in proportion to it
check_PROGRAMS += linear_test
linear_test_SOURCES = \
	tests/unit/linear/linear.c tests/unit/linear/linear.h \
	tests/unit/linear/linear_test.c
linear_test_CPPFLAGS = $(SANDBOX_CPPFLAGS) -I$(top_srcdir)/tests $(CMOCKA_CFLAGS)
linear_test_LDADD = libsandbox.a $(LLM_LIBS) $(CLIENT_LIBS) $(MODEL_LIBS) $(LWS_LIBS) $(ZLIB_LIBS) $(CMOCKA_LIBS) -lm
