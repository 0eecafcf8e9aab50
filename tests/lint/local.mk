# tests/lint: what a machine can say about style and faults without running anything
EXTRA_DIST += tests/lint/layers.sh tests/lint/words.sh tests/lint/words.awk tests/lint/rules_test.sh \
	tests/lint/parsers.sh tests/lint/parsers.txt tests/lint/circles.sh tests/lint/names.sh tests/lint/names.txt \
	tests/lint/waits.sh tests/lint/tidy.sh tests/lint/changed.awk tests/lint/tidy_test.sh tests/lint/cppcheck
TESTS += tests/lint/rules_test.sh tests/lint/tidy_test.sh

CLANG_FORMAT = clang-format-19
CPPCHECK = cppcheck
IWYU = include-what-you-use
SHELLCHECK = shellcheck
# Another version: make lint-tidy CLANG_TIDY=clang-tidy-14
CLANG_TIDY = clang-tidy-19
LINT_JOBS = 2

LINT_FOLDERS = lib fcgi gateway worker runtime sandbox relay launcher tests/unit tests/bench tests/fuzz
LINT_CPPFLAGS = $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) -I$(top_srcdir)/tests \
	-I$(top_srcdir)/tests/unit -I$(top_srcdir)/tests/unit/fcgi \
	$(JANSSON_CFLAGS) $(CRYPTO_CFLAGS) $(CURL_CFLAGS) $(PQ_CFLAGS) $(LWS_CFLAGS) $(CMOCKA_CFLAGS) \
	-DDEFT_TEST_DATA='"$(abs_top_srcdir)/tests/data"' -DFUZZ_CORPUS='""' -DDEFT_TOP_SRCDIR='"$(abs_top_srcdir)"' \
	-DDEFT_DATA_DIR='""' -DTEST_CATALOGUE_DIR='""' -DTEST_MODELS_FILE='""'
# Without the flags that only gcc, or only newer clang knows.
LINT_CFLAGS = -std=gnu17 -Wall -Wextra
LINT_FIND = cd $(top_srcdir) && for folder in $(LINT_FOLDERS); do \
	test ! -d $$folder || find $$folder -name

lint: lint-words lint-circles lint-shell lint-format lint-cppcheck lint-tidy

lint-words:
	$(top_srcdir)/tests/lint/layers.sh
	$(top_srcdir)/tests/lint/words.sh
	$(top_srcdir)/tests/lint/parsers.sh
	$(top_srcdir)/tests/lint/names.sh
	$(top_srcdir)/tests/lint/waits.sh

# By the symbols of the objects, so after a build.
lint-circles: $(bin_PROGRAMS) $(noinst_PROGRAMS)
	$(top_srcdir)/tests/lint/circles.sh

# With what each sources; deploy/lib's parts are read as parts of ./deft.
lint-shell:
	cd $(top_srcdir) && grep -lE '^#!/bin/sh' deft .ci/run tests/run tests/bench/run tests/tasks/run tests/tasks/verify tests/lint/*.sh \
		tests/unit/*.sh tests/e2e/sdk/*.sh deploy/image/* deploy/services/* | xargs $(SHELLCHECK) -x

lint-format:
	($(LINT_FIND) '*.[ch]'; done) | sed 's|^|$(top_srcdir)/|' | \
		xargs -P $(LINT_JOBS) -n 40 $(CLANG_FORMAT) --dry-run -Werror

lint-cppcheck:
	$(CPPCHECK) -q -j $(LINT_JOBS) --error-exitcode=1 --inline-suppr --std=c11 --suppress=normalCheckLevelMaxBranches \
		--force -DPACKAGE_VERSION='"0"' -DDEFT_DATA_DIR='"/"' \
		--enable=warning,performance,portability -I$(top_srcdir)/tests/lint/cppcheck \
		-I$(top_srcdir)/lib -I$(top_srcdir) $(addprefix $(top_srcdir)/, lib fcgi gateway worker runtime sandbox relay launcher)

# The analyzer follows paths through what changed and a rotating part of the rest; lint-tidy-all: through everything.
TIDY = ($(LINT_FIND) '*.[ch]'; done) | CLANG_TIDY=$(CLANG_TIDY) LINT_JOBS=$(LINT_JOBS) $(top_srcdir)/tests/lint/tidy.sh
TIDY_FLAGS = $(LINT_CPPFLAGS) $(LINT_CFLAGS)

lint-tidy:
	$(TIDY) $(TIDY_FLAGS)

lint-tidy-all:
	$(TIDY) --all $(TIDY_FLAGS)

# Puts the form right; commit it by itself.
format:
	($(LINT_FIND) '*.[ch]'; done) | sed 's|^|$(top_srcdir)/|' | xargs $(CLANG_FORMAT) -i

# Suggestions; judge them: it does not see the functions that CLEANUP names.
iwyu:
	($(LINT_FIND) '*.c'; done) | grep -v '^tests/' | sed 's|^|$(top_srcdir)/|' | \
		xargs -P $(LINT_JOBS) -I '{}' $(IWYU) -Xiwyu --no_fwd_decls \
		$(LINT_CPPFLAGS) $(LINT_CFLAGS) '{}'

# gcc's own analysis follows paths through a file; it needs the optimizer.
analyze:
	($(LINT_FIND) '*.c'; done) | grep -v '^tests/' | sed 's|^|$(top_srcdir)/|' | \
		xargs -P $(LINT_JOBS) -I '{}' gcc $(LINT_CPPFLAGS) -std=gnu17 -O1 -fanalyzer \
		-Werror -c -o /dev/null '{}'

# The tests under sanitizers, in build trees of their own; for races, only those with threads. The overhead of a
# sanitizer is not proportional to the input, so the tests of linear time are left out. The CFLAGS replace
# configure's -g -O2, to compile faster: twice as fast without optimization, which only races are too slow for.
THREADED_TESTS = base-test http_direct_test http_stream_test http_test http_wait_test sse_test chat_test retry_test worker_test \
	worker_calls_at_once_test worker_run_test \
	tests/unit/store/hints_test tests/unit/store/conversation_lease_test tests/unit/store/conversation_store_test
MAKE_THREADED = $(MAKE) check_PROGRAMS='$(THREADED_TESTS)' TESTS='$(THREADED_TESTS)'

build-asan:
	mkdir -p sanitized-address
	cd sanitized-address && { test -f Makefile || $(abs_top_srcdir)/configure -q \
		CFLAGS='-O0 -g1' --with-sanitizer=address,undefined; } && $(MAKE) check-programs

check-asan: build-asan
	cd sanitized-address && ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 \
		$(MAKE) check-TESTS TESTS='$(filter-out $(LINEAR_TESTS), $(check_PROGRAMS))'

build-tsan:
	mkdir -p sanitized-thread
	cd sanitized-thread && { test -f Makefile || $(abs_top_srcdir)/configure -q \
		CFLAGS='-O1 -g1' --with-sanitizer=thread; } && $(MAKE_THREADED) check-programs

check-tsan: build-tsan
	cd sanitized-thread && TSAN_OPTIONS=halt_on_error=1 $(MAKE_THREADED) check-TESTS

# Races in every test program, those without threads too.
build-tsan-all check-tsan-all:
	$(MAKE) $(@:-all=) THREADED_TESTS='$(filter-out $(LINEAR_TESTS), $(check_PROGRAMS))'

# Every fuzzer for FUZZ_S seconds, from its corpus; what one finds is in the folder fuzz.
FUZZ_S = 120

check-fuzz:
	mkdir -p fuzz
	cd fuzz && { test -f Makefile || $(abs_top_srcdir)/configure -q CC=clang --enable-fuzz \
		--with-sanitizer=fuzzer-no-link,address,undefined; } && $(MAKE) run-fuzzers

run-fuzzers: $(filter fuzz-%, $(EXTRA_PROGRAMS))
	printf '%s\n' $(patsubst fuzz-%, %, $^) | xargs -P $(LINT_JOBS) -I '{}' sh -c 'mkdir -p new/$$1 && \
		./fuzz-$$1 -max_total_time=$(FUZZ_S) -print_final_stats=1 -artifact_prefix=$$1- new/$$1 \
		$(abs_top_srcdir)/tests/fuzz/corpus/$$1 >$$1.log 2>&1 && grep -H number_of_executed_units $$1.log || \
		{ cat $$1.log; exit 255; }' sh '{}'

check-programs: $(check_LIBRARIES) $(check_PROGRAMS)

.PHONY: format lint lint-words lint-circles lint-shell lint-format lint-cppcheck lint-tidy lint-tidy-all iwyu analyze \
	build-asan check-asan build-tsan build-tsan-all check-tsan check-tsan-all check-fuzz run-fuzzers check-programs
