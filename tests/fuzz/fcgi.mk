# The target of fcgi; see local.mk
check_PROGRAMS += replay-fcgi_request
replay_fcgi_request_SOURCES = tests/fuzz/fcgi_request.c tests/fuzz/replay.c
replay_fcgi_request_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(JANSSON_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/fcgi_request"'
replay_fcgi_request_LDADD = $(FCGI_HANDLER_LIBS)

if FUZZ
EXTRA_PROGRAMS += fuzz-fcgi_request
fuzz_fcgi_request_SOURCES = tests/fuzz/fcgi_request.c
fuzz_fcgi_request_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) $(JANSSON_CFLAGS)
fuzz_fcgi_request_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_fcgi_request_LDADD = $(FCGI_HANDLER_LIBS)
endif
