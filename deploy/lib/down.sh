# ./deft down: stops what `up` started; --purge removes the sandboxes and all data as well.
# shellcheck shell=sh

command_down() {
    _purge=''
    _yes=''
    for _option; do
        case $_option in
        --purge) _purge=yes ;;
        --yes) _yes=yes ;;
        *) die "down: unknown option '$_option'" "./deft down --help" ;;
        esac
    done
    [ -d "$DEFT_VAR" ] || {
        say "deft is not running: $DEFT_VAR does not exist"
        return
    }
    users_load
    exec 9>"$DEFT_VAR/lock"
    flock -w 60 9 || die "another ./deft up or down is running on $DEFT_VAR" "wait until it ends"
    [ -z "$_purge" ] || [ -n "$_yes" ] || down_confirm
    engine_note_end
    services_stop
    has_engine || down_end_processes
    [ -z "$_purge" ] || down_remove_sandboxes
    engine_stop
    network_remove_own
    [ -z "$_purge" ] || network_remove_shared
    [ -z "$_purge" ] || down_remove_state
    say "deft is stopped"
}

down_confirm() {
    printf 'This removes all conversations, keys, sandboxes and workspaces of %s.\nType yes to continue: ' "$DEFT_VAR"
    read -r _answer || _answer=''
    [ "$_answer" = yes ] || die "nothing was removed"
}

# Sandboxes that are processes have no parent that would end them.
down_end_processes() {
    if [ -n "$_purge" ]; then
        tree_runtime --reap
    else
        tree_runtime --end
    fi
    tree_sweep
}

# Everything in the engine with this instance's label.
down_remove_sandboxes() {
    engine_answers || {
        has_engine || return 0
        warn "the container engine does not answer: sandboxes with deft.instance=$DEFT_INSTANCE are not removed"
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

# The build and its caches are kept: they contain no user data.
down_remove_state() {
    rm -rf "$DEFT_VAR/pg" "$DEFT_KEYS" "$DEFT_SERVICES" "$DEFT_VAR/nginx" "$DEFT_LOG" "$DEFT_RUN"
    rm -f "$DEFT_STAMPS"/service-* "$DEFT_STAMPS/nginx-settings" "$DEFT_STAMPS/database-settings"
}
