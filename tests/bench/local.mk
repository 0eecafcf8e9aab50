# The bench's own programs: what a figure is measured with, and what it is compared to
EXTRA_PROGRAMS += tests/bench/append tests/bench/page_bare \
	tests/bench/sockets_bare tests/bench/sockets_client tests/bench/steps_bare
tests_bench_append_SOURCES = tests/bench/append.c
tests_bench_append_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(PQ_CFLAGS)
tests_bench_append_LDADD = $(STORE_LIBS) $(MODEL_LIBS) -lpthread
tests_bench_page_bare_SOURCES = tests/bench/page_bare.c
tests_bench_page_bare_CPPFLAGS = $(AM_CPPFLAGS) $(PQ_CFLAGS)
tests_bench_page_bare_LDADD = $(FCGI_LIBS) $(PQ_LIBS) -lpthread
tests_bench_sockets_bare_SOURCES = tests/bench/sockets_bare.c
tests_bench_sockets_bare_CPPFLAGS = $(AM_CPPFLAGS) $(LWS_CFLAGS)
tests_bench_sockets_bare_LDADD = $(LWS_LIBS)
tests_bench_sockets_client_SOURCES = tests/bench/sockets_client.c
tests_bench_sockets_client_CPPFLAGS = $(AM_CPPFLAGS) $(PQ_CFLAGS)
tests_bench_sockets_client_LDADD = $(PQ_LIBS)
tests_bench_steps_bare_SOURCES = tests/bench/steps_bare.c
tests_bench_steps_bare_CPPFLAGS = $(AM_CPPFLAGS) $(PQ_CFLAGS) $(CURL_CFLAGS) $(JANSSON_CFLAGS)
tests_bench_steps_bare_LDADD = $(BASE_LIBS) $(CURL_LIBS) $(PQ_LIBS) -lpthread

bench: $(EXTRA_PROGRAMS)
.PHONY: bench
