# ./deft down: stops what `up` started; with --purge the sandboxes and all data go too.
# shellcheck shell=sh

command_down() {
    _purge=''
    _yes=''
    for _option; do
        case $_option in
        --purge) _purge=yes ;;
        --yes) _yes=yes ;;
        *) die "down does not know '$_option'" "./deft down --help" ;;
        esac
    done
    [ -d "$DEFT_VAR" ] || {
        say "deft is not up here: there is no $DEFT_VAR"
        return
    }
    users_load
    exec 9>"$DEFT_VAR/lock"
    flock -w 60 9 || die "another ./deft up or down is at work on $DEFT_VAR" "wait for it to end"
    [ -z "$_purge" ] || [ -n "$_yes" ] || down_confirm
    services_stop
    has_engine || down_end_processes
    [ -z "$_purge" ] || down_remove_sandboxes
    engine_stop
    network_remove_own
    [ -z "$_purge" ] || network_remove_shared
    [ -z "$_purge" ] || down_remove_state
    say "deft is down"
}

down_confirm() {
    printf 'This removes all conversations, keys, sandboxes and workspaces of %s.\nType yes to go on: ' "$DEFT_VAR"
    read -r _answer || _answer=''
    [ "$_answer" = yes ] || die "nothing was removed"
}

# Nothing stands above sandboxes that are processes: they would go on.
down_end_processes() {
    if [ -n "$_purge" ]; then
        tree_runtime --reap
    else
        tree_runtime --end
    fi
    tree_sweep
}

# Everything in the engine that carries this instance's label.
down_remove_sandboxes() {
    engine_answers || {
        has_engine || return 0
        warn "the container engine does not answer: sandboxes of deft.instance=$DEFT_INSTANCE stay"
        return
    }
    _filter="filters=%7B%22label%22%3A%5B%22deft.instance%3D$DEFT_INSTANCE%22%5D%7D"
    for _id in $(engine_call GET "/containers/json?all=1&$_filter" | grep -o '"Id":"[0-9a-f]*"' | cut -d'"' -f4); do
        engine_call DELETE "/containers/$_id?force=1&v=1" || :
    done
    for _id in $(engine_call GET "/volumes?$_filter" | grep -o '"Name":"[^"]*"' | cut -d'"' -f4); do
        engine_call DELETE "/volumes/$_id?force=1" || :
    done
    for _id in $(engine_call GET "/networks?$_filter" | grep -o '"Id":"[0-9a-f]\{64\}"' | cut -d'"' -f4); do
        engine_call DELETE "/networks/$_id" || :
    done
}

# The build and its caches stay: they hold nothing of the user's.
down_remove_state() {
    rm -rf "$DEFT_VAR/pg" "$DEFT_KEYS" "$DEFT_SERVICES" "$DEFT_VAR/nginx" "$DEFT_LOG" "$DEFT_RUN"
    rm -f "$DEFT_STAMPS"/service-* "$DEFT_STAMPS/nginx-settings" "$DEFT_STAMPS/database-settings"
}
