# The suites that run next to those that mostly wait, for tests/run: lint, then the unit tests under the sanitizers
# asan (memory, leaks, undefined behaviour) and tsan (races). Linters and compilers have the lowest priority. The unit
# tests have deadlines, so theirs is higher, though below that of the others.
# shellcheck shell=sh

BESIDE=''
BESIDE_SUITES='lint asan tsan'

beside_begin() {
    mkdir -p "$TMPDIR/beside"
    beside_run &
    BESIDE=$!
    trap beside_end EXIT
}

# Ends what is still at work. There may be nothing; a trap that fails would make green tests red.
beside_end() {
    pkill -P "$BESIDE" || :
    kill "$BESIDE" 2>/dev/null || :
}

# One suite after the other: each of them occupies the processors.
beside_run() {
    for _suite in $BESIDE_SUITES; do
        _start=$(date +%s)
        _code=0
        "run_$_suite" >"$TMPDIR/beside/$_suite.out" 2>&1 || _code=$?
        echo "$_code $(($(date +%s) - _start))" >"$TMPDIR/beside/$_suite.new"
        mv "$TMPDIR/beside/$_suite.new" "$TMPDIR/beside/$_suite.end"
    done
}

# beside_report NAME: waits for all of them; prints what this one said, and fails as it did.
beside_report() {
    wait "$BESIDE" || :
    cat "$TMPDIR/beside/$1.out"
    read -r _code _seconds <"$TMPDIR/beside/$1.end" || return 1
    echo "took $_seconds s, next to the other suites"
    return "$_code"
}

run_lint() {
    nice -n 19 make -s -C "$BUILD" lint
}

# sanitized_run TARGET FOLDER [RUNNER...]: make TARGET, whose tests are in FOLDER, under the runner; first compiles them.
sanitized_run() {
    _target=$1
    _results=$BUILD/$2
    shift 2
    _status=0
    if ! nice -n 19 make -s -C "$BUILD" -j"$(nproc)" "build-${_target#check-}" >"$TMPDIR/$_target.out" 2>&1; then
        tail -n 40 "$TMPDIR/$_target.out"
        return 1
    fi
    nice -n 5 tests/unit/with-postgres.sh --share env TIMED_AS="${_target#check-}" "$@" make -s -C "$BUILD" -j"$(nproc)" "$_target" \
        LOG_COMPILER="$PWD/tests/timed" >"$TMPDIR/$_target.out" 2>&1 || _status=$?
    report_programs "$_results"
    [ $_status -eq 0 ] || tail -n 40 "$TMPDIR/$_target.out"
    return $_status
}

# sanitized_probe FLAG RUNNER...: whether a program that is compiled with the flag runs here, under the runner.
sanitized_probe() {
    echo 'int main(void) { return 0; }' | gcc "$1" -x c -o "$TMPDIR/probe" - || return 1
    shift
    "$@" "$TMPDIR/probe" 2>"$TMPDIR/probe.out"
}

run_asan() {
    if ! sanitized_probe -fsanitize=address env ASAN_OPTIONS=detect_leaks=1; then
        echo "NOT looked for: leaks; the sanitizer may not trace processes here ($(head -n 1 "$TMPDIR/probe.out"))"
        set -- env LSAN_OPTIONS=detect_leaks=0
    fi
    sanitized_run check-asan sanitized-address "$@"
}

# The thread sanitizer needs its own layout of addresses: some hosts spread them too far, and some
# containers do not let a process ask for less.
run_tsan() {
    run_under_tsan check-tsan
}

# run_under_tsan TARGET
run_under_tsan() {
    if sanitized_probe -fsanitize=thread env; then
        sanitized_run "$1" sanitized-thread
    elif sanitized_probe -fsanitize=thread setarch -R; then
        sanitized_run "$1" sanitized-thread setarch -R
    else
        echo "SKIPPED: races; the thread sanitizer does not run here ($(head -n 1 "$TMPDIR/probe.out"))"
    fi
}

# What ./deft test --all adds: both analyzers on everything, each fuzzer for minutes, and races in the test
# programs without threads of their own.
run_analyze() {
    make -s -C "$BUILD" analyze lint-tidy-all
}

run_fuzz() {
    make -s -C "$BUILD" check-fuzz ${FUZZ_S:+"FUZZ_S=$FUZZ_S"}
}

run_races() {
    run_under_tsan check-tsan-all
}
