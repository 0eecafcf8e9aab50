# What is done beside the suites that mostly wait, at the lowest priority, for tests/run: lint, and the
# compiling of the unit tests for the sanitizers, asan (memory, leaks, undefined behaviour) and tsan
# (races). The tests themselves have deadlines: they run when nothing else does.
# shellcheck shell=sh

BESIDE=''

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

beside_run() {
    # The pid of this subshell, which $$ is not.
    renice -n 19 -p "$(sh -c 'echo $PPID')" >/dev/null
    _start=$(date +%s)
    _code=0
    run_lint >"$TMPDIR/beside/lint.out" 2>&1 || _code=$?
    echo "$_code $(($(date +%s) - _start))" >"$TMPDIR/beside/lint.end"
    make -s -C "$BUILD" build-asan build-tsan >"$TMPDIR/beside/sanitized.out" 2>&1
}

# beside_report NAME: waits for all of it; prints what this one said, and fails as it did.
beside_report() {
    wait "$BESIDE" || :
    cat "$TMPDIR/beside/$1.out"
    read -r _code _seconds <"$TMPDIR/beside/$1.end" || return 1
    echo "took $_seconds s, beside the other suites"
    return "$_code"
}

run_lint() {
    make -s -C "$BUILD" lint
}

# sanitized_run TARGET FOLDER [RUNNER...]: make TARGET, whose tests are in FOLDER, under the runner.
sanitized_run() {
    _target=$1
    _results=$BUILD/$2
    shift 2
    _status=0
    "$@" make -s -C "$BUILD" -j"$(nproc)" "$_target" >"$TMPDIR/$_target.out" 2>&1 || _status=$?
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
    if sanitized_probe -fsanitize=thread env; then
        sanitized_run check-tsan sanitized-thread
    elif sanitized_probe -fsanitize=thread setarch -R; then
        sanitized_run check-tsan sanitized-thread setarch -R
    else
        echo "SKIPPED: races; the thread sanitizer does not run here ($(head -n 1 "$TMPDIR/probe.out"))"
    fi
}
