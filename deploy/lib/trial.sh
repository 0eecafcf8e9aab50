# ./deft test and ./deft bench: each brings up a complete instance of its own, with its own state, ports
# and containers, beside one that may be up; when it ends, nothing of it is left. The programs are
# compiled once for all trials, in DEFT_VAR/build.
# shellcheck shell=sh

command_test() {
    [ $# -le 1 ] || die "test takes one pattern at most"
    case ${1-} in
    --conformance) ;;
    -*) die "test does not know '$1'" "./deft test [pattern]; ./deft test --conformance" ;;
    esac
    exec 3>&1
    trial_begin checked
    users_make
    users_prepare_var
    trial_packages run build engine process test
    trial_run tests/run "$@"
}

command_bench() {
    for _option; do
        case $_option in
        --json) ;;
        -*) die "bench does not know '$_option'" "./deft bench [figure] [--json]" ;;
        esac
    done
    # Standard output is for the figures alone.
    exec 3>&1 1>&2
    trial_begin release
    users_make
    users_prepare_var
    trial_packages run build engine bench
    [ -x "$DEFT_HOME/tests/bench/run" ] || die "there is no tests/bench/run"
    trial_run tests/bench/run "$@"
}

# trial_begin KIND: of the build, `checked` (a warning is an error) or `release`.
trial_begin() {
    DEFT_BUILD_KIND=$1
    [ -z "${DEFT_TRIAL-}" ] || die "a trial cannot run in a trial"
    # Settings of the caller and of deft.env are for the instance that is up, not for this one.
    for _name in $(env | sed -n 's/^\(LLM_[A-Z0-9_]*\|OH_[A-Z0-9_]*\|DEFT_HOSTNAMES\|DEFT_APP_URL\|DEFT_AGENT_URL\|DEFT_CORS_ORIGINS\|DEFT_LISTEN\|DEFT_INSTANCE\)=.*/\1/p'); do
        unset "$_name"
    done
    # All tests are one user, who begins more at once than a person would.
    export DEFT_RUN_SLOTS=1000
}

# Trials take turns at the packages, the sources and the compiler, and then run side by side.
trial_packages() {
    exec 9>"$DEFT_VAR/lock"
    flock 9
    task packages packages_install "$@"
    tasks_wait
    sources_copy
}

# trial_run SCRIPT ARGUMENTS...: up, SCRIPT (of the copied sources), down.
trial_run() {
    _script=$1
    shift
    TRIAL_VAR=$(mktemp -d /tmp/deft-trial.XXXXXX)
    chmod 755 "$TRIAL_VAR"
    TRIAL_BUILD=$DEFT_BUILD
    trap 'trial_end 130' INT TERM HUP
    trap 'trial_end $?' EXIT
    flock -u 9
    TRIAL_APP_PORT=$(port_find_free 20000)
    TRIAL_AGENT_PORT=$(port_find_free $((TRIAL_APP_PORT + 1)))
    trial_wait trial_deft up || exit 1
    trial_environment || exit 1
    _status=0
    trial_wait trial_script "$@" || _status=$?
    exit $_status
}

# trial_script ARGUMENTS...: what the trial is for. (The shell has it ignore Ctrl-C, being in the background.)
trial_script() {
    cd "$TRIAL_BUILD/src"
    exec env --default-signal "./$_script" "$@" >&3 3>&- 9>&-
}

# trial_wait COMMAND...: runs it in the background, so that a signal to this shell is obeyed at once.
trial_wait() {
    "$@" &
    TRIAL_CHILD=$!
    _result=0
    wait "$TRIAL_CHILD" || _result=$?
    TRIAL_CHILD=''
    return $_result
}

# Ends what trial_wait still waits for, with everything that it started.
trial_stop_child() {
    [ -n "${TRIAL_CHILD-}" ] || return 0
    _tree=$(tree_of "$TRIAL_CHILD" | tr '\n' ' ')
    # shellcheck disable=SC2086 # pids are words
    kill $_tree 2>/dev/null || :
    # shellcheck disable=SC2086 # pids are words
    wait_until 20 trial_has_ended $_tree || kill -9 $_tree 2>/dev/null || :
}

# trial_has_ended PIDS...: none of them runs; one that only waits for its parent to look does not.
trial_has_ended() {
    for _pid; do
        case $(ps -o stat= -p "$_pid") in
        '' | Z*) ;;
        *) return 1 ;;
        esac
    done
}

# trial_deft COMMAND...: this same script on the trial's instance.
trial_deft() {
    env --default-signal -u DEFT_RUN DEFT_TRIAL=yes DEFT_VAR="$TRIAL_VAR/var" DEFT_BUILD="$TRIAL_BUILD" DEFT_BUILD_KIND="$DEFT_BUILD_KIND" \
        DEFT_APP_PORT="$TRIAL_APP_PORT" DEFT_AGENT_PORT="$TRIAL_AGENT_PORT" "$DEFT_HOME/deft" "$@" 3>&- 9>&-
}

# port_find_free FROM: a port where nothing listens; begins at a random place, so that two trials rarely meet, and
# stays below 32768, where the kernel takes those of connections that go out.
port_find_free() {
    _port=$(($1 + $(od -An -N2 -tu2 /dev/urandom) % 6000))
    while port_is_taken "$_port"; do
        _port=$((_port + 1))
    done
    echo "$_port"
}

# What the tests see.
trial_environment() {
    DEFT_VAR=$TRIAL_VAR/var
    DEFT_APP_PORT=$TRIAL_APP_PORT
    DEFT_AGENT_PORT=$TRIAL_AGENT_PORT
    DEFT_INSTANCE=''
    DEFT_APP_URL='' DEFT_AGENT_URL=''
    settings_derive
    DEFT_BUILD=$TRIAL_BUILD
    users_load
    DEFT=$DEFT_HOME/deft
    DEFT_BIN=$DEFT_APP/bin
    DEFT_ACTION_BINARY=$DEFT_BIN/deft-action
    DEFT_RUNTIME_BINARY=$DEFT_BIN/deft-runtime
    DEFT_TRIAL=yes
    CHROMIUM=$(command -v chromium || :)
    TMPDIR=$TRIAL_VAR/tmp
    mkdir -p -m 1777 "$TMPDIR"
    DEFT_API_KEY=$(key_run --new-key tests) || return 1
    DEFT_SIGN_IN_LINK=$(key_link) || return 1
    export DEFT DEFT_VAR DEFT_RUN DEFT_APP DEFT_BIN DEFT_BUILD DEFT_BUILD_KIND DEFT_KEYS DEFT_LOG DEFT_SERVICES DEFT_INSTANCE \
        DEFT_APP_PORT DEFT_AGENT_PORT DEFT_APP_URL DEFT_AGENT_URL DEFT_API_KEY DEFT_SIGN_IN_LINK DEFT_DATABASE_URL \
        DEFT_ACTION_BINARY DEFT_RUNTIME_BINARY DEFT_SANDBOX_IMAGE DEFT_DOCKER_SOCKET DEFT_TRIAL CHROMIUM TMPDIR BUILD_USER
}

# trial_end STATUS
trial_end() {
    trap - EXIT
    trap '' INT TERM HUP
    trial_stop_child
    tasks_stop
    if [ -n "${DEFT_KEEP-}" ]; then
        say "deft: kept, as DEFT_KEEP is set: DEFT_VAR=$TRIAL_VAR/var DEFT_APP_PORT=${TRIAL_APP_PORT-} DEFT_AGENT_PORT=${TRIAL_AGENT_PORT-} ./deft status"
        exit "$1"
    fi
    [ ! -d "$TRIAL_VAR/var" ] || trial_deft down --purge --yes >/dev/null 2>&1 || :
    rm -rf "$TRIAL_VAR"
    exit "$1"
}
