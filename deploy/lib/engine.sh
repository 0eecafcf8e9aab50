# The container engine. If none answers, one is started for the whole host: other instances may
# use it too. ENGINE_STATE/users lists its instances; the last one that goes down stops it.
# shellcheck shell=sh

ENGINE_STATE=/run/deft-engine
ENGINE_NETWORKS=/var/lib/docker/network/files

# engine_call METHOD PATH [CURL OPTIONS...]
engine_call() {
    _method=$1
    _path=$2
    shift 2
    curl -sS --fail-with-body --unix-socket "$DEFT_DOCKER_SOCKET" -X "$_method" "$@" "http://engine$_path"
}

engine_answers() {
    [ "$(engine_call GET /_ping --max-time 5 2>/dev/null)" = OK ]
}

engine_start() {
    mkdir -p "$ENGINE_STATE/users"
    if engine_answers; then
        engine_note_use
        return
    fi
    if [ -d /run/systemd/system ] && [ "$DEFT_DOCKER_SOCKET" = /var/run/docker.sock ]; then
        systemctl start docker.service
        echo systemd >"$ENGINE_STATE/pid"
    else
        # The engine picks a storage driver that the host supports; some file systems support only vfs.
        _logged=$(wc -c <"$DEFT_LOG/engine.log" 2>/dev/null || echo 0)
        engine_run || { engine_mend_networks "$_logged" && engine_run; } ||
            { ! engine_has_images && engine_run --storage-driver=vfs; } || return 1
    fi
    engine_note_use
}

# The file names the pid file of the instance's supervisor, so that stale entries are recognized.
engine_note_use() {
    printf '%s\n' "$DEFT_RUN/runsvdir.pid" >"$ENGINE_STATE/users/$DEFT_INSTANCE"
}

engine_has_users() {
    for _note in "$ENGINE_STATE"/users/*; do
        [ -f "$_note" ] || continue
        if is_alive "$(cat "$(cat "$_note")" 2>/dev/null || echo none)"; then
            return 0
        fi
        rm -f "$_note"
    done
    return 1
}

# engine_mend_networks BYTES: Docker 20.10, killed during a change, stores half of a network, and panics
# at each later start; the first BYTES of the log are from earlier starts. deft creates its networks again.
engine_mend_networks() {
    tail -c "+$(($1 + 1))" "$DEFT_LOG/engine.log" | grep -qF 'libnetwork.(*controller).reservePools(' || return 1
    echo "the engine's network database is corrupt: starting without it (saved as local-kv.db.broken)"
    mv "$ENGINE_NETWORKS/local-kv.db" "$ENGINE_NETWORKS/local-kv.db.broken"
}

# With another storage driver an engine would not see its existing images.
engine_has_images() {
    [ -n "$(find /var/lib/docker/image -path '*/imagedb/content/*/*' ! -path '*/image/vfs/*' -print -quit 2>/dev/null)" ]
}

# engine_forget FILE PROGRAM: removes a pid file whose pid is not the program's. If /run outlives the
# host, the pid may be another process's: dockerd would refuse to start, or would end it as its containerd.
engine_forget() {
    [ ! -f "$1" ] || grep -qs "$2" "/proc/$(cat "$1")/cmdline" || rm -f "$1"
}

# engine_run OPTIONS...: dockerd in a session of its own.
engine_run() {
    engine_forget "$ENGINE_STATE/docker.pid" dockerd
    engine_forget /var/run/docker/containerd/containerd.pid containerd
    echo "starting dockerd $*"
    setsid env -i PATH="$PATH" HOME=/root LANG=C.UTF-8 ${HTTP_PROXY+HTTP_PROXY="$HTTP_PROXY"} \
        ${HTTPS_PROXY+HTTPS_PROXY="$HTTPS_PROXY"} ${NO_PROXY+NO_PROXY="$NO_PROXY"} \
        dockerd --host="unix://$DEFT_DOCKER_SOCKET" --pidfile="$ENGINE_STATE/docker.pid" \
        --log-level=warn "$@" </dev/null >>"$DEFT_LOG/engine.log" 2>&1 &
    _dockerd=$!
    echo "$_dockerd" >"$ENGINE_STATE/pid"
    _left=600
    until engine_answers; do
        _left=$((_left - 1))
        if [ $_left -eq 0 ] || ! kill -0 "$_dockerd" 2>/dev/null; then
            kill "$_dockerd" 2>/dev/null || :
            rm -f "$ENGINE_STATE/pid"
            echo "dockerd did not start; the end of $DEFT_LOG/engine.log:"
            tail -n 12 "$DEFT_LOG/engine.log"
            return 1
        fi
        sleep 0.1
    done
}

is_alive() {
    kill -0 "$1" 2>/dev/null
}

engine_version() {
    engine_call GET /version 2>/dev/null | sed -n 's/.*"Version":"\([0-9][^"]*\)","ApiVersion.*/\1/p'
}

# Notes that this instance needs the engine until engine_stop, also after its supervisor has ended.
engine_note_end() {
    [ -f "$ENGINE_STATE/users/$DEFT_INSTANCE" ] || return 0
    echo $$ >"$DEFT_RUN/down.pid"
    printf '%s\n' "$DEFT_RUN/down.pid" >"$ENGINE_STATE/users/$DEFT_INSTANCE"
}

# Stops the engine only if an `up` started it, no other instance uses it, and nothing else runs in it.
engine_stop() {
    rm -f "$ENGINE_STATE/users/$DEFT_INSTANCE"
    [ -f "$ENGINE_STATE/pid" ] || return 0
    if engine_has_users; then
        say "  the container engine keeps running: another instance uses it"
        return
    fi
    if engine_runs_others; then
        say "  the container engine keeps running: it has containers of other users"
        return
    fi
    _pid=$(cat "$ENGINE_STATE/pid")
    rm -f "$ENGINE_STATE/pid"
    if [ "$_pid" = systemd ]; then
        systemctl stop docker.socket docker.service
        return
    fi
    grep -qs dockerd "/proc/$_pid/cmdline" || return 0
    kill "$_pid"
    wait_until 30 is_gone "$_pid" || kill -KILL "$_pid" 2>/dev/null || :
}

# True as well if the engine answers but cannot list them: it fails while another program removes one.
engine_runs_others() {
    engine_answers || return 1
    _ours=$(engine_call GET "/containers/json?filters=%7B%22label%22%3A%5B%22deft.instance%3D$DEFT_INSTANCE%22%5D%7D" 2>/dev/null) || return 0
    _all=$(engine_call GET /containers/json 2>/dev/null) || return 0
    [ "$(printf '%s' "$_all" | grep -o '"Id":' | wc -l)" -gt "$(printf '%s' "$_ours" | grep -o '"Id":' | wc -l)" ]
}
