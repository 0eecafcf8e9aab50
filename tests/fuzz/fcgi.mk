# The target of fcgi; see local.mk
FCGI_FUZZ_SOURCES = tests/fuzz/fcgi_request.c tests/unit/support/raw_request.c tests/unit/support/raw_request.h

check_PROGRAMS += replay-fcgi_request
replay_fcgi_request_SOURCES = $(FCGI_FUZZ_SOURCES) tests/fuzz/replay.c
replay_fcgi_request_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -I$(top_srcdir)/tests $(JANSSON_CFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/fcgi_request"'
replay_fcgi_request_LDADD = $(FCGI_HANDLER_LIBS)

if FUZZ
EXTRA_PROGRAMS += fuzz-fcgi_request
fuzz_fcgi_request_SOURCES = $(FCGI_FUZZ_SOURCES)
fuzz_fcgi_request_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir) -I$(top_srcdir)/tests $(JANSSON_CFLAGS)
fuzz_fcgi_request_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_fcgi_request_LDADD = $(FCGI_HANDLER_LIBS)
endif
