# Supervision by runit: one folder per process in DEFT_SERVICES, watched by a separate runsvdir.
# A process that dies is restarted after a second; its output goes to rotated logs.
# shellcheck shell=sh

# Processes are stopped in this order, each before those that it needs.
SERVICES_ALL='nginx gateway fcgi worker runtime resolver postgres'

# All folders exist before the supervisor starts: it looks for new ones only every five seconds.
services_write() {
    for _name in $SERVICES_ALL; do
        service_write "$_name"
    done
}

# service_write NAME: creates the folder from deploy/services/NAME; a new service does not start by itself.
service_write() {
    _folder=$DEFT_SERVICES/$1
    if [ ! -d "$_folder" ]; then
        mkdir -p "$DEFT_SERVICES/.new"
        : >"$DEFT_SERVICES/.new/down"
        mv "$DEFT_SERVICES/.new" "$_folder"
    fi
    mkdir -p "$_folder/log" "$_folder/control"
    mkdir -p "$_folder/env"
    chmod 700 "$_folder/env"
    users_prepare_folder "$_folder/keys" "root:$(process_group "$1")" 750
    users_prepare_folder "$DEFT_LOG/$1" deft-log:deft-log 750
    cp "$DEFT_HOME/deploy/services/log.config" "$DEFT_LOG/$1/config"
    _log=$DEFT_HOME/deploy/services/log
    [ ! -f "$_log-$1" ] || _log=$_log-$1
    service_render "$_log" "$_folder/log/run" "$1"
    service_render "$DEFT_HOME/deploy/services/$1" "$_folder/run" "$1"
    [ ! -f "$DEFT_HOME/deploy/services/$1-term" ] ||
        service_render "$DEFT_HOME/deploy/services/$1-term" "$_folder/control/t" "$1"
}

# service_render TEMPLATE FILE NAME: replaces the file in one step, since it may be running.
service_render() {
    render "$1" "$3" >"$2.new"
    chmod 755 "$2.new"
    mv "$2.new" "$2"
}

# render TEMPLATE [NAME]: fills in the @WORDS@.
render() {
    sed -e "s|@NAME@|${2-}|g" -e "s|@VAR@|$DEFT_VAR|g" -e "s|@RUN@|$DEFT_RUN|g" -e "s|@APP@|$DEFT_APP|g" \
        -e "s|@LOG@|$DEFT_LOG|g" -e "s|@AS@|$(process_as "${2-}")|g" -e "s|@AS_LOG@|$(process_as log)|g" \
        -e "s|@POSTGRES@|${POSTGRES_BIN-}|g" -e "s|@LISTEN@|$DEFT_LISTEN|g" \
        -e "s|@APP_PORT@|$DEFT_APP_PORT|g" -e "s|@AGENT_PORT@|$DEFT_AGENT_PORT|g" \
        -e "s|@HOSTNAMES@|$DEFT_HOSTNAMES|g" "$1"
}

# service_set NAME VARIABLE VALUE: one setting in the environment of a service; a secret in a file that its
# process alone may read, which the environment names.
service_set() {
    (
        umask 077
        _value=$3
        if is_secret "$2"; then
            _value=$DEFT_SERVICES/$1/keys/$2
            printf '%s\n' "$3" >"$_value.new"
            chown "root:$(process_group "$1")" "$_value.new"
            chmod 440 "$_value.new"
            mv "$_value.new" "$_value"
            # An empty file removes the variable: the caller's would take precedence over the file.
            : >"$DEFT_SERVICES/$1/env/$2"
            set -- "$1" "$2_FILE"
        fi
        printf '%s\n' "$_value" >"$DEFT_SERVICES/$1/env/$2"
    )
}

# is_secret VARIABLE
is_secret() {
    case $1 in
    DEFT_DATABASE_URL) ;; # it may hold a password
    DEFT_SECRET_KEY | DEFT_HASH_KEY | DEFT_RUNTIME_API_KEY | LLM_API_KEY | OH_SECRET_KEY) ;;
    DEFT_RUNTIME_ADMIN_KEY | DEFT_RUNTIME_ADMIN_PASSWORD | OH_SESSION_API_KEYS_0 | OH_WEBHOOKS_[0-9]_HEADERS) ;;
    *) return 1 ;;
    esac
}

# A hash of everything that a service is started with: if it changes, the service is restarted.
service_hash() (
    cd "$DEFT_SERVICES/$1"
    {
        cat run
        find env keys -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum
        [ ! -f "$DEFT_APP/bin/deft-$1" ] || sha256sum "$DEFT_APP/bin/deft-$1"
        # It mounts this program, as it was at its start, into every sandbox.
        [ "$1" != runtime ] || sha256sum "$DEFT_APP/bin/deft-action"
        # It reads the catalogue once, at its start.
        if [ -s env/DEFT_CATALOGUE_DIR ]; then
            for setting in env/DEFT_CATALOGUE_DIR env/DEFT_CATALOGUE_OVERRIDES; do
                [ ! -s "$setting" ] || find -L "$(cat "$setting")" -type f -print0 | LC_ALL=C sort -z | xargs -0 -r sha256sum
            done
        fi
    } | sha256sum | cut -d' ' -f1
)

service_is_up() {
    sv status "$DEFT_SERVICES/$1" 2>/dev/null | grep -q '^run:'
}

# True if it has run for a second or longer: a process that fails at once is restarted every second.
service_is_steady() {
    sv status "$DEFT_SERVICES/$1" 2>/dev/null | grep -Eq '^run:[^;]*\) [1-9][0-9]*s'
}

# services_start NAMES...: starts what is not running and restarts what changed; SERVICES_CHANGED lists them.
services_start() {
    _again=''
    for _name; do
        _hash=$(service_hash "$_name")
        if ! service_is_up "$_name"; then
            # sv would wait for each one in turn; the caller checks all of them afterwards.
            printf u >"$DEFT_SERVICES/$_name/supervise/control"
        elif ! stamp_is "service-$_name" "$_hash"; then
            _again="$_again $DEFT_SERVICES/$_name"
        else
            rm -f "$DEFT_SERVICES/$_name/down"
            continue
        fi
        rm -f "$DEFT_SERVICES/$_name/down"
        stamp_set "service-$_name" "$_hash"
        SERVICES_CHANGED="${SERVICES_CHANGED-} $_name"
    done
    # shellcheck disable=SC2086 # the folders are words
    [ -z "$_again" ] || sv -w 30 force-restart $_again >/dev/null
}

# The pid of this instance's runsvdir, or failure. The number alone may belong to another process by now.
services_pid() {
    _pid=$(cat "$DEFT_RUN/runsvdir.pid" 2>/dev/null) || return 1
    tr '\0' ' ' 2>/dev/null <"/proc/$_pid/cmdline" | grep -qF "runsvdir -P $DEFT_SERVICES" || return 1
    printf '%s\n' "$_pid"
}

services_watch() {
    services_pid >/dev/null && return 0
    # Services that ran before the host went down are started later, in order.
    for _name in $SERVICES_ALL; do
        [ ! -d "$DEFT_SERVICES/$_name" ] || : >"$DEFT_SERVICES/$_name/down"
    done
    setsid env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
        runsvdir -P "$DEFT_SERVICES" </dev/null >"$DEFT_LOG/runsvdir.log" 2>&1 9>&- &
    printf '%s\n' "$!" >"$DEFT_RUN/runsvdir.pid"
    wait_until 5 services_pid
}

# service_watched NAME: waits until runsvdir has seen its folder (it looks every five seconds).
service_watched() {
    wait_until 10 sv status "$DEFT_SERVICES/$1"
}

services_stop() {
    _runsvdir=$(services_pid) || return 0
    _pids=$(ps -o pid= --ppid "$_runsvdir" || :)
    _folders=''
    for _name in $SERVICES_ALL; do
        [ "$_name" = postgres ] || [ ! -d "$DEFT_SERVICES/$_name" ] || _folders="$_folders $DEFT_SERVICES/$_name"
    done
    # shellcheck disable=SC2086 # the folders are words
    [ -z "$_folders" ] || sv -w 20 force-stop $_folders >/dev/null || :
    [ ! -d "$DEFT_SERVICES/postgres" ] || sv -w 30 force-stop "$DEFT_SERVICES/postgres" >/dev/null || :
    kill -HUP "$_runsvdir"
    for _pid in $_runsvdir $_pids; do
        wait_until 10 is_gone "$_pid" || kill -KILL "$_pid" 2>/dev/null || :
    done
    rm -f "$DEFT_RUN/runsvdir.pid"
}

is_gone() {
    ! kill -0 "$1" 2>/dev/null
}
