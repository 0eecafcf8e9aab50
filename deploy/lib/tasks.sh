# Steps of a command: each prints one line with its result and duration; steps can run in parallel.
# A step sets the text of its line with `remark`; its output goes to a log of its own.
# shellcheck shell=sh

TASKS_RUNNING=''
TASKS_FAILED=''

# task NAME COMMAND...: starts a step in the background.
task() {
    _task=$1
    shift
    rm -f "$DEFT_LOG/up/$_task".*
    (
        start=$(now_ms)
        TASK_REMARK=$DEFT_LOG/up/$_task.remark
        set +e
        (
            set -e
            "$@"
        ) >"$DEFT_LOG/up/$_task.log" 2>&1 </dev/null
        status=$?
        printf '%s %s\n' "$status" "$(($(now_ms) - start))" >"$DEFT_LOG/up/$_task.part"
        mv "$DEFT_LOG/up/$_task.part" "$DEFT_LOG/up/$_task.done"
    ) 9>&- &
    TASKS_RUNNING="$TASKS_RUNNING $_task:$!"
    trap 'tasks_stop; exit 130' INT TERM HUP
}

# remark TEXT: the text in the step's line.
remark() {
    printf '%s\n' "$*" >"$TASK_REMARK"
}

# Waits for all started steps; ends the script if one failed.
tasks_wait() {
    _ticks=0
    while [ -n "$TASKS_RUNNING" ]; do
        _still=''
        for _entry in $TASKS_RUNNING; do
            if [ -f "$DEFT_LOG/up/${_entry%%:*}.done" ]; then
                task_report "${_entry%%:*}"
            elif ! kill -0 "${_entry#*:}" 2>/dev/null && [ ! -f "$DEFT_LOG/up/${_entry%%:*}.done" ]; then
                printf '137 0\n' >"$DEFT_LOG/up/${_entry%%:*}.done"
                task_report "${_entry%%:*}"
            else
                _still="$_still $_entry"
            fi
        done
        TASKS_RUNNING=$_still
        [ -z "$_still" ] || tasks_show_clock
        [ -z "$_still" ] || sleep 0.1
    done
    tasks_clear_clock
    [ -z "$TASKS_FAILED" ] || exit 1
}

# On a terminal the last line names the running steps.
tasks_show_clock() {
    [ -t 1 ] || return 0
    _ticks=$((_ticks + 1))
    _names=''
    for _entry in $TASKS_RUNNING; do
        _names="$_names ${_entry%%:*}"
    done
    printf '\r\033[K  ...  %s  (%d s)' "${_names# }" $((_ticks / 10))
}

tasks_clear_clock() {
    [ ! -t 1 ] || printf '\r\033[K'
}

task_report() {
    read -r _status _ms <"$DEFT_LOG/up/$1.done"
    _remark=$(cat "$DEFT_LOG/up/$1.remark" 2>/dev/null || :)
    tasks_clear_clock
    if [ "$_status" -eq 0 ]; then
        printf '  ok   %-9s %-56s %7s s\n' "$1" "$_remark" "$(seconds "$_ms")"
        return
    fi
    TASKS_FAILED="$TASKS_FAILED $1"
    printf '  FAIL %-9s %-56s %7s s\n' "$1" "$_remark" "$(seconds "$_ms")"
    sed -e 's/^/       | /' "$DEFT_LOG/up/$1.log" | tail -n 20
    printf '       whole log: %s\n       fix:       %s\n' "$DEFT_LOG/up/$1.log" "$(task_advice "$1")"
}

# The fix to suggest if a step failed.
task_advice() {
    case $1 in
    packages) echo "check the network and 'apt-get update', then run ./deft up again" ;;
    build) echo "the last lines name the file; ./deft doctor checks the compiler and libraries" ;;
    page) echo "check that npm reaches its registry; 'rm -rf $DEFT_BUILD/src/www/node_modules' removes the installed packages" ;;
    image) echo "check that 'apt-get update' works; ./deft doctor checks the container engine" ;;
    database) echo "see ./deft logs postgres; the data is in $DEFT_VAR/pg" ;;
    start) echo "./deft status shows the process that is down, ./deft logs NAME the reason" ;;
    *) echo "run ./deft doctor" ;;
    esac
}

# Ends all steps with all their processes.
tasks_stop() {
    tasks_clear_clock
    for _entry in $TASKS_RUNNING; do
        kill_tree "${_entry#*:}"
    done
    TASKS_RUNNING=''
}

# tree_of PID: the process and its descendants, parents first.
tree_of() {
    echo "$1"
    for _child in $(ps -o pid= --ppid "$1" 2>/dev/null); do
        tree_of "$_child"
    done
}

# kill_tree PID: parents first, so that none continues when its child has ended.
kill_tree() {
    # shellcheck disable=SC2046 # pids are words
    kill $(tree_of "$1") 2>/dev/null || :
}
