# ./deft up: packages first, then image, programs, page and database in parallel, then the processes.
# shellcheck shell=sh

command_up() {
    refuse_arguments up "$@"
    _started=$(now_ms)
    up_check_host
    users_make
    users_prepare_var
    up_lock
    users_carry_over
    users_prepare_run
    say "deft: $DEFT_HOME, state in $DEFT_VAR"
    # shellcheck disable=SC2046 # the names are words
    task packages packages_install $(packages_of_instance)
    tasks_wait
    web_check_ports
    secrets_make
    sources_copy
    if ! has_engine; then
        task image tree_prepare
    elif [ "$DEFT_SANDBOX_IMAGE" = "$BROWSER_IMAGE" ]; then
        task image browser_image_prepare
    else
        task image image_prepare
    fi
    task build build_programs
    task page build_page
    task database database_prepare
    tasks_wait
    task start up_start
    tasks_wait
    say "deft is up ($(seconds $(($(now_ms) - _started))) s)."
    [ -n "${DEFT_TRIAL-}" ] || up_say_how
}

# The next steps of the user.
up_say_how() {
    say ""
    say "  Open this once to sign in:  $(key_link)"
    say "  Agent API for clients:      $DEFT_AGENT_URL  (a key: ./deft key NAME)"
    if [ -s "$DEFT_KEYS/LLM_MODEL" ]; then
        say "  Language model:             $(secret_read LLM_MODEL)"
    else
        say "  Language model:             none (scripted); to use one: LLM_MODEL=... LLM_API_KEY=... ./deft up"
    fi
    has_engine || say "  Sandboxes:                  $ISOLATES_LESS"
    say ""
}

up_check_host() {
    command -v apt-get >/dev/null || die "this is not Debian: apt-get is missing" "./deft up supports Debian 12 and 13"
    # Needed before any package can be installed; Debian's smallest systems have them.
    for _tool in flock setpriv useradd sha256sum tar; do
        command -v $_tool >/dev/null || die "$_tool is missing" "apt-get install util-linux passwd coreutils tar"
    done
}

# One `up` or `down` at a time; descriptor 9 is closed in all long-running processes.
up_lock() {
    exec 9>"$DEFT_VAR/lock"
    flock -n 9 || die "another ./deft up or down is running on $DEFT_VAR" "wait until it ends"
}

# The last step: starts what is not running, restarts what changed.
up_start() {
    database_find_programs
    web_write
    processes_set
    SERVICES_CHANGED=''
    for _name in nginx $PROCESSES; do
        service_watched "$_name"
    done
    web_reload
    # shellcheck disable=SC2086 # the names are words
    services_start $PROCESSES nginx
    up_wait
    if [ -n "$SERVICES_CHANGED" ]; then
        remark "started:$SERVICES_CHANGED"
    else
        remark "all processes run"
    fi
}

# deft is up when requests are answered and every process has run for a second.
up_wait() {
    wait_until 20 web_answers /health || {
        echo "http://$(web_address):$DEFT_AGENT_PORT/health does not answer."
        status_processes || :
        tail -n 5 "$DEFT_LOG/fcgi/current" "$DEFT_LOG/nginx/current" || :
        return 1
    }
    for _name in nginx $PROCESSES; do
        wait_until 20 service_is_steady "$_name" && continue
        echo "$_name keeps failing. The end of its log:"
        tail -n 40 "$DEFT_LOG/$_name/current" | uniq | tail -n 12
        return 1
    done
}
