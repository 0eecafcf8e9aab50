# ./deft status: one line per process, then one per service that they need. Exit status 1 if something is down.
# shellcheck shell=sh

command_status() {
    refuse_arguments status "$@"
    users_load
    [ -d "$DEFT_SERVICES" ] || die "deft is not running" "./deft up"
    _bad=''
    printf '%-10s %-8s %8s %10s %12s  %s\n' process state pid up memory user
    status_processes || _bad=yes
    say ""
    status_line page "$DEFT_APP_URL" web_answers_page || _bad=yes
    status_line 'agent API' "$DEFT_AGENT_URL" web_answers /health || _bad=yes
    if has_engine; then
        status_line engine "$DEFT_DOCKER_SOCKET $(engine_version)" engine_answers || _bad=yes
        status_line image "$DEFT_SANDBOX_IMAGE" image_exists || _bad=yes
    else
        status_line sandboxes "$ISOLATES_LESS" tree_works || _bad=yes
        status_line files "$(tree_path)" [ -d "$(tree_path)" ] || _bad=yes
    fi
    status_line database "$(status_database_size)" database_answers || _bad=yes
    say "sockets    $DEFT_RUN"
    say "model      $(secret_read LLM_MODEL | grep . || echo 'scripted (LLM_MODEL is not set)')"
    [ -z "$_bad" ]
}

# status_line NAME TEXT CHECK...
status_line() {
    _name=$1
    _text=$2
    shift 2
    if "$@" >/dev/null 2>&1; then
        printf '%-10s %-8s %s\n' "$_name" ok "$_text"
    else
        printf '%-10s %-8s %s\n' "$_name" DOWN "$_text"
        return 1
    fi
}

status_processes() {
    _down=''
    _total=0
    for _process in $SERVICES_ALL; do
        if ! service_is_up "$_process"; then
            printf '%-10s %-8s\n' "$_process" DOWN
            _down=yes
            continue
        fi
        _pid=$(cat "$DEFT_SERVICES/$_process/supervise/pid")
        _kb=$(memory_of "$_pid")
        case " $PROCESSES " in
        *" $_process "*) _total=$((_total + _kb)) ;;
        esac
        _user=$(user_of "$_pid")
        service_has_its_user "$_process" || {
            _user="$_user (should be $(process_user "$_process"): run ./deft up)"
            _down=yes
        }
        printf '%-10s %-8s %8s %10s %9s kB  %s\n' "$_process" running "$_pid" "$(ps -o etime= -p "$_pid" | tr -d ' ')" "$_kb" "$_user"
    done
    printf '%-10s %-8s %8s %10s %9s kB\n' "deft's own" '' '' '' "$_total"
    [ -z "$_down" ]
}

# user_of PID: its real user.
user_of() {
    id -nu "$(sed -n 's/^Uid:[[:space:]]*\([0-9]*\).*/\1/p' "/proc/$1/status")" 2>/dev/null || :
}

# service_has_its_user NAME: it runs as the right user; for nginx its workers do.
service_has_its_user() {
    _pids=$(cat "$DEFT_SERVICES/$1/supervise/pid" 2>/dev/null)
    [ "$1" != nginx ] || _pids=$(ps -o pid= --ppid "${_pids:-0}")
    for _one in $_pids; do
        [ "$(user_of "$_one")" = "$(process_user "$1")" ] || return 1
    done
}

# memory_of PID: proportional set size of a process and its descendants, in kB.
memory_of() (
    sum=$(sed -n 's/^Pss: *\([0-9]*\) kB/\1/p' "/proc/$1/smaps_rollup" 2>/dev/null || :)
    sum=${sum:-0}
    for child in $(ps -o pid= --ppid "$1"); do
        sum=$((sum + $(memory_of "$child")))
    done
    echo "$sum"
)

database_answers() {
    [ "$(database_ask deft 'SELECT 1')" = 1 ]
}

status_database_size() {
    _size=$(database_ask deft "SELECT pg_size_pretty(pg_database_size('deft')) || ', ' || (SELECT count(*) FROM conversations) || ' conversations'" 2>/dev/null) || _size=''
    printf '%s\n' "${_size:-$DEFT_VAR/pg}"
}
