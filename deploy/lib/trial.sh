# ./deft test and ./deft bench: each starts complete instances of its own, with their own state, ports
# and containers, next to one that may be running, and removes them when it ends. The programs are
# compiled once for all trials, in DEFT_VAR/build.
# shellcheck shell=sh

command_test() {
    [ $# -le 1 ] || die "test takes at most one pattern"
    case ${1-} in
    --slowest)
        trial_say_slowest
        return
        ;;
    --conformance | --all) ;;
    -*) die "test: unknown option '$1'" "./deft test --help" ;;
    esac
    exec 3>&1
    trial_begin checked
    users_make
    users_prepare_var
    trial_packages run build engine process test
    TRIAL_INSTANCES=$(trial_count_instances "$@")
    task npm trial_fetch
    ! trial_needs_sdk "$@" || task sdk trial_install_sdk
    trial_run tests/run "$@"
}

# The npm packages of the tests, fetched while `up` compiles.
trial_fetch() {
    exec 8>"$DEFT_BUILD/lock-tests"
    flock 8
    remark "the tests' packages are installed"
    node_packages tests
    node_packages tests/ui
}

# trial_files [PATTERN]: the node files that are named so; all without one.
trial_files() (
    case ${1-} in
    --*) set -- '' ;;
    esac
    cd "$DEFT_BUILD/src/tests"
    find . -name node_modules -prune -o -name '*.test.mjs' -print | sed 's|^\.|tests|' | grep -F -- "${1-}"
)

# trial_needs_sdk [PATTERN]: whether one of these files plays scenarios of the Python SDK.
trial_needs_sdk() (
    files=$(trial_files "$@")
    cd "$DEFT_BUILD/src"
    # shellcheck disable=SC2086 # names are words
    [ -n "$files" ] && grep -qF '/sdk.mjs' $files
)

# The Python SDK, installed while `up` compiles. A failure fails the files that need it: they try again, and report it.
trial_install_sdk() {
    remark "the tests' Python SDK is installed"
    DEFT_BUILD=$DEFT_BUILD "$DEFT_BUILD/src/tests/e2e/sdk/python.sh" --install ||
        remark "the tests' Python SDK could not be installed"
}

SLOWEST_SHOWN=30

# Prints the slowest files and programs of the last run, with their seconds.
trial_say_slowest() {
    [ -s "$DEFT_BUILD/times" ] || die "no test run was recorded" "./deft test"
    sort -rn "$DEFT_BUILD/times" | grep -v '^[0-9.]* suite ' | head -n "$SLOWEST_SHOWN" | awk '{ printf "%8s s  %s %s\n", $1, $2, $3 }'
}

# trial_count_instances [PATTERN]: as many as files can run at once. Most files wait most of the time, so that a
# processor serves two; an instance takes less than a gigabyte.
trial_count_instances() (
    files=$(trial_files "$@" | wc -l)
    most=${DEFT_TEST_INSTANCES_MAX:-$(($(nproc) * 2))}
    [ "$files" -gt 0 ] || files=1
    echo $((files < most ? files : most))
)

command_bench() {
    for _option; do
        case $_option in
        --json) ;;
        -*) die "bench: unknown option '$_option'" "./deft bench --help" ;;
        esac
    done
    # Standard output is for the figures only.
    exec 3>&1 1>&2
    if [ "${1-}" != tasks ]; then
        bench_run tests/bench/run "$@"
        return
    fi
    shift
    trial_take_model
    bench_run tests/tasks/run "$@"
}

# bench_run SCRIPT ARGUMENTS...
bench_run() {
    trial_begin release
    users_make
    users_prepare_var
    trial_packages run build engine bench
    [ -x "$DEFT_HOME/$1" ] || die "$1 does not exist"
    trial_run "$@"
}

# The model of ./deft bench tasks. Its key leaves the environment, which builds and `up` inherit: only the script gets it
# (trial_script). Without a model nothing is started; the exit status is 2.
trial_take_model() {
    if [ -z "${DEFT_TASKS_MODEL-}" ] || [ -z "${DEFT_TASKS_API_KEY-}${DEFT_TASKS_BASE_URL-}" ]; then
        warn "bench tasks: no model is set, so nothing was run"
        warn "set DEFT_TASKS_MODEL (such as anthropic/claude-opus-5) and DEFT_TASKS_API_KEY; for a server of your own DEFT_TASKS_BASE_URL"
        exit 2
    fi
    export DEFT_TASKS_MODEL
    TRIAL_MODEL_KEY=${DEFT_TASKS_API_KEY-}
    unset DEFT_TASKS_API_KEY
    # Some tasks need the image with a browser.
    if has_engine && [ "$DEFT_SANDBOX_IMAGE" = deft-sandbox:1 ]; then
        DEFT_SANDBOX_BROWSER=1
        DEFT_SANDBOX_IMAGE=$BROWSER_IMAGE
        export DEFT_SANDBOX_BROWSER DEFT_SANDBOX_IMAGE
    fi
}

# trial_begin KIND: of the build, `checked` (a warning is an error) or `release`.
trial_begin() {
    DEFT_BUILD_KIND=$1
    [ -z "${DEFT_TRIAL-}" ] || die "test and bench cannot run inside each other"
    # Settings of the caller and of deft.env are for the running instance, not for this one.
    for _name in $(env | sed -n 's/^\(LLM_[A-Z0-9_]*\|OH_[A-Z0-9_]*\|DEFT_HOSTNAMES\|DEFT_APP_URL\|DEFT_AGENT_URL\|DEFT_CORS_ORIGINS\|DEFT_LISTEN\|DEFT_INSTANCE\)=.*/\1/p'); do
        unset "$_name"
    done
    # All tests share one user, who starts more at once than a person would.
    export DEFT_RUN_SLOTS=1000
}

# Trials take turns for the packages, the sources and the compiler, and then run in parallel.
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
    trial_ports
    trial_wait trial_deft up || exit 1
    tasks_wait
    trial_further_begin
    trial_environment || exit 1
    _status=0
    trial_wait trial_script "$@" || _status=$?
    exit $_status
}

# Starts the further instances while the tests begin; the environment of each is in a file, once it is up. Must
# precede trial_environment, whose settings are those of the first instance.
trial_further_begin() {
    DEFT_TEST_INSTANCES=$TRIAL_VAR/instances
    mkdir "$DEFT_TEST_INSTANCES"
    export DEFT_TEST_INSTANCES
    TRIAL_FURTHER=''
    [ "${TRIAL_INSTANCES:-1}" -gt 1 ] || return 0
    trial_further &
    TRIAL_FURTHER=$!
}

trial_further() {
    for _number in $(seq 2 "$TRIAL_INSTANCES"); do
        trial_further_one "$_number" || warn "instance $_number of the tests did not start"
    done >"$TRIAL_VAR/instances.log" 2>&1
}

# In a subshell, because everything that is derived from TRIAL_VAR differs.
trial_further_one() (
    _file=$DEFT_TEST_INSTANCES/$1
    TRIAL_VAR=$TRIAL_VAR/$1
    mkdir -m 755 "$TRIAL_VAR"
    trial_ports
    trial_deft up || exit 1
    trial_environment || exit 1
    env -0 >"$_file.new"
    mv "$_file.new" "$_file"
)

trial_ports() {
    TRIAL_APP_PORT=$(port_find_free 20000)
    TRIAL_AGENT_PORT=$(port_find_free $((TRIAL_APP_PORT + 1)))
}

# trial_script ARGUMENTS...: the trial's work. (As a background job it would ignore Ctrl-C.)
trial_script() {
    cd "$TRIAL_BUILD/src"
    [ -z "${TRIAL_MODEL_KEY-}" ] || export DEFT_TASKS_API_KEY="$TRIAL_MODEL_KEY"
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

# Ends the command of trial_wait, with all its processes.
trial_stop_child() {
    [ -n "${TRIAL_CHILD-}" ] || return 0
    _tree=$(tree_of "$TRIAL_CHILD" | tr '\n' ' ')
    # shellcheck disable=SC2086 # pids are words
    kill $_tree 2>/dev/null || :
    # shellcheck disable=SC2086 # pids are words
    wait_until 20 trial_has_ended $_tree || kill -9 $_tree 2>/dev/null || :
}

# trial_has_ended PIDS...: none of them runs; zombies do not count.
trial_has_ended() {
    for _pid; do
        case $(ps -o stat= -p "$_pid") in
        '' | Z*) ;;
        *) return 1 ;;
        esac
    done
}

# trial_deft COMMAND...: ./deft for the instance of TRIAL_VAR; the environment of the tests names the first one.
trial_deft() {
    env --default-signal -u DEFT_RUN -u DEFT_INSTANCE DEFT_TRIAL=yes DEFT_VAR="$TRIAL_VAR/var" DEFT_BUILD="$TRIAL_BUILD" DEFT_BUILD_KIND="$DEFT_BUILD_KIND" \
        DEFT_APP_PORT="$TRIAL_APP_PORT" DEFT_AGENT_PORT="$TRIAL_AGENT_PORT" "$DEFT_HOME/deft" "$@" 3>&- 9>&-
}

# port_find_free FROM: a free port; begins at a random number, so that two trials rarely collide, and
# stays below 32768, where the kernel's range for outgoing connections begins.
port_find_free() {
    _port=$(($1 + $(od -An -N2 -tu2 /dev/urandom) % 6000))
    while port_is_taken "$_port"; do
        _port=$((_port + 1))
    done
    echo "$_port"
}

# The environment of the tests.
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
    TRIAL_CHILD=${TRIAL_FURTHER-}
    trial_stop_child
    tasks_stop
    if [ -n "${DEFT_KEEP-}" ]; then
        say "deft: kept because DEFT_KEEP is set: DEFT_VAR=$TRIAL_VAR/var DEFT_APP_PORT=${TRIAL_APP_PORT-} DEFT_AGENT_PORT=${TRIAL_AGENT_PORT-} ./deft status"
        exit "$1"
    fi
    for _var in "$TRIAL_VAR" "$TRIAL_VAR"/[0-9]*; do
        trial_remove "$_var" &
    done
    wait
    rm -rf "$TRIAL_VAR"
    exit "$1"
}

# trial_remove VAR: removes one of its instances, with its remains in the engine.
trial_remove() {
    TRIAL_VAR=$1
    [ ! -d "$TRIAL_VAR/var" ] || trial_deft down --purge --yes >/dev/null 2>&1 || :
}
