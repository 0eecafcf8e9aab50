# The targets of runtime; see local.mk
RUNTIME_FUZZ_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir) $(JANSSON_CFLAGS) $(MNL_CFLAGS)
DNS_FUZZ_SOURCES = tests/fuzz/runtime_dns.c runtime/egress/dns_message.c runtime/egress/egress_policy.c runtime/egress/firewall.c runtime/backend/command_run.c
NFLOG_FUZZ_SOURCES = tests/fuzz/runtime_nflog.c runtime/egress/nflog_parse.c runtime/egress/denial_counter.c
DOCKERFILE_FUZZ_SOURCES = tests/fuzz/runtime_dockerfile.c runtime/build/dockerfile.c runtime/build/dockerfile_text.c runtime/build/dockerfile_variables.c runtime/build/image_source.c
BUILD_FORM_FUZZ_SOURCES = tests/fuzz/runtime_build_form.c runtime/build/build_context.c runtime/build/build_form.c \
	runtime/build/dockerfile.c runtime/build/dockerfile_text.c runtime/build/dockerfile_variables.c runtime/build/image_source.c

check_PROGRAMS += replay-runtime_build_form
replay_runtime_build_form_SOURCES = $(BUILD_FORM_FUZZ_SOURCES) tests/fuzz/replay.c
replay_runtime_build_form_CPPFLAGS = $(RUNTIME_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/runtime_build_form"'
replay_runtime_build_form_LDADD = $(BASE_LIBS) $(ZLIB_LIBS)
check_PROGRAMS += replay-runtime_dns replay-runtime_dockerfile replay-runtime_nflog
replay_runtime_dns_SOURCES = $(DNS_FUZZ_SOURCES) tests/fuzz/replay.c
replay_runtime_dns_CPPFLAGS = $(RUNTIME_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/runtime_dns"'
replay_runtime_dns_LDADD = $(BASE_LIBS)
replay_runtime_dockerfile_SOURCES = $(DOCKERFILE_FUZZ_SOURCES) tests/fuzz/replay.c
replay_runtime_dockerfile_CPPFLAGS = $(RUNTIME_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/runtime_dockerfile"'
replay_runtime_dockerfile_LDADD = $(BASE_LIBS)
replay_runtime_nflog_SOURCES = $(NFLOG_FUZZ_SOURCES) tests/fuzz/replay.c
replay_runtime_nflog_CPPFLAGS = $(RUNTIME_FUZZ_CPPFLAGS) \
	-DFUZZ_CORPUS='"$(abs_top_srcdir)/tests/fuzz/corpus/runtime_nflog"'
replay_runtime_nflog_LDADD = $(MNL_LIBS) $(BASE_LIBS)

if FUZZ
EXTRA_PROGRAMS += fuzz-runtime_build_form
fuzz_runtime_build_form_SOURCES = $(BUILD_FORM_FUZZ_SOURCES)
fuzz_runtime_build_form_CPPFLAGS = $(RUNTIME_FUZZ_CPPFLAGS)
fuzz_runtime_build_form_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_runtime_build_form_LDADD = $(BASE_LIBS) $(ZLIB_LIBS)
EXTRA_PROGRAMS += fuzz-runtime_dns fuzz-runtime_dockerfile fuzz-runtime_nflog
fuzz_runtime_dns_SOURCES = $(DNS_FUZZ_SOURCES)
fuzz_runtime_dns_CPPFLAGS = $(RUNTIME_FUZZ_CPPFLAGS)
fuzz_runtime_dns_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_runtime_dns_LDADD = $(BASE_LIBS)
fuzz_runtime_dockerfile_SOURCES = $(DOCKERFILE_FUZZ_SOURCES)
fuzz_runtime_dockerfile_CPPFLAGS = $(RUNTIME_FUZZ_CPPFLAGS)
fuzz_runtime_dockerfile_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_runtime_dockerfile_LDADD = $(BASE_LIBS)
fuzz_runtime_nflog_SOURCES = $(NFLOG_FUZZ_SOURCES)
fuzz_runtime_nflog_CPPFLAGS = $(RUNTIME_FUZZ_CPPFLAGS)
fuzz_runtime_nflog_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_runtime_nflog_LDADD = $(MNL_LIBS) $(BASE_LIBS)
endif
