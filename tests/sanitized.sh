# The unit tests under the sanitizers, for tests/run: asan (memory, leaks, undefined behaviour) and tsan
# (races). What they need is compiled beside the suites that mostly wait.
# shellcheck shell=sh

SANITIZED=''

sanitized_begin() {
    nice -n 19 make -s -C "$BUILD" build-asan build-tsan >"$TMPDIR/sanitized.out" 2>&1 &
    SANITIZED=$!
    trap 'kill "$SANITIZED" 2>/dev/null || :' EXIT
}

# sanitized_run TARGET FOLDER [RUNNER...]: make TARGET, whose tests are in FOLDER, under the runner.
sanitized_run() {
    _target=$1
    _results=$BUILD/$2
    shift 2
    _status=0
    [ -z "$SANITIZED" ] || wait "$SANITIZED" || :
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
