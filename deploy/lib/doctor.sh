# ./deft doctor: checks everything that deft needs; one line per check, with a fix if it fails.
# shellcheck shell=sh

DISK_MIN_MB=4000
MEMORY_MIN_MB=1500

command_doctor() {
    refuse_arguments doctor "$@"
    users_load
    DOCTOR_BAD=0
    doctor_check "Debian 12 or 13" "deft is tested on these only" doctor_is_debian
    doctor_check "at least $DISK_MIN_MB MB free for $DEFT_VAR" "free some space, or set DEFT_VAR to a larger disk" doctor_has_space "$(doctor_var)"
    doctor_check "at least $MEMORY_MIN_MB MB of memory" "stop other programs, or add memory: sandboxes need it" doctor_has_memory
    doctor_check "all packages are installed" "./deft up installs: $(doctor_missing | tr '\n' ' ')" doctor_has_packages
    if has_engine; then
        doctor_check "the container engine answers at $DEFT_DOCKER_SOCKET" "./deft up starts it; its log: $DEFT_LOG/engine.log" engine_answers
        doctor_check_engine_disk
        doctor_check "the image $DEFT_SANDBOX_IMAGE exists" "./deft up builds it" image_exists
    else
        doctor_check "bubblewrap can create sandboxes" "user namespaces must be allowed: kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0" tree_works
        doctor_check "the root file system of sandboxes exists" "./deft up builds it" [ -d "$(tree_path)" ]
        printf '  note  sandboxes are %s\n' "$ISOLATES_LESS"
    fi
    doctor_check "the supervisor runs" "./deft up" services_pid
    for _process in $SERVICES_ALL; do
        doctor_check "$_process runs" "./deft logs $_process shows why not; ./deft up starts it" service_is_up "$_process"
    done
    for _process in $SERVICES_ALL; do
        doctor_check "$_process runs as $(process_user "$_process")" "./deft up restarts it as that user" service_has_its_user "$_process"
    done
    doctor_check "refused connections of sandboxes are logged" "./deft logs runtime shows why not: refusals.logging_unavailable" network_shows_refusals
    doctor_check "DNS queries of sandboxes go to deft's resolver" "./deft logs runtime shows why not: egress.load_failed" network_leads_names
    doctor_check "ports $DEFT_APP_PORT and $DEFT_AGENT_PORT are available to deft" "set DEFT_APP_PORT and DEFT_AGENT_PORT to free ones" doctor_has_ports
    doctor_check "the database answers" "./deft logs postgres" database_answers
    doctor_check "the page is served at $DEFT_APP_URL" "./deft logs nginx" web_answers_page
    doctor_check "the agent API answers at $DEFT_AGENT_URL" "./deft logs fcgi" web_answers /health
    doctor_check "keys are readable by root only" "chown -R root $DEFT_KEYS; chmod 700 $DEFT_KEYS; chmod 600 $DEFT_KEYS/*" doctor_keys_closed
    doctor_check "keys of each process are readable by that process only" "./deft up" doctor_process_keys_closed
    doctor_check "logs and data are not readable by other users" "chmod 750 $DEFT_LOG; chmod 700 $DEFT_VAR/pg $DEFT_VAR/pg/data" doctor_data_closed
    [ "$DOCTOR_BAD" -eq 0 ] || {
        say "$DOCTOR_BAD checks failed; fix the first one first."
        return 1
    }
    say "All checks passed."
}

# doctor_check WHAT ADVICE CHECK...
doctor_check() {
    _what=$1
    _advice=$2
    shift 2
    if "$@" >/dev/null 2>&1; then
        printf '  ok    %s\n' "$_what"
    else
        DOCTOR_BAD=$((DOCTOR_BAD + 1))
        printf '  BAD   %s\n        %s\n' "$_what" "$_advice"
    fi
}

doctor_is_debian() {
    grep -qE '^VERSION_CODENAME=(bookworm|trixie)$' /etc/os-release
}

doctor_var() {
    if [ -d "$DEFT_VAR" ]; then echo "$DEFT_VAR"; else echo "$DEFT_HOME"; fi
}

doctor_has_space() {
    [ "$(df -Pm "$1" | awk 'NR == 2 { print $4 }')" -ge $DISK_MIN_MB ]
}

# Images and workspaces may be on another disk than DEFT_VAR.
doctor_check_engine_disk() {
    _root=$(engine_call GET /info --max-time 5 2>/dev/null | grep -o '"DockerRootDir":"[^"]*"' | cut -d'"' -f4)
    { [ -d "$_root" ] && [ "$(stat -c %d "$_root")" != "$(stat -c %d "$(doctor_var)")" ]; } || return 0
    doctor_check "at least $DISK_MIN_MB MB free for the engine's files in $_root" "docker system df -v shows their sizes; or give the engine a larger disk" doctor_has_space "$_root"
}

doctor_has_memory() {
    [ "$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)" -ge $((MEMORY_MIN_MB * 1000)) ]
}

doctor_missing() {
    # shellcheck disable=SC2046 # the names are words
    packages_missing $(packages_of_instance)
}

doctor_has_packages() {
    [ -z "$(doctor_missing)" ]
}

doctor_has_ports() {
    service_is_up nginx || { ! port_is_taken "$DEFT_APP_PORT" && ! port_is_taken "$DEFT_AGENT_PORT"; }
}

doctor_keys_closed() {
    [ -d "$DEFT_KEYS" ] && [ -z "$(find "$DEFT_KEYS" \( -perm /077 -o ! -user root \))" ]
}

doctor_data_closed() {
    [ -z "$(find "$DEFT_LOG" "$DEFT_VAR/pg" "$DEFT_VAR/pg/data" -maxdepth 0 -perm /007)" ]
}

# A process's copies of its keys: owned by root, readable by the group of its user.
doctor_process_keys_closed() {
    for _name in $SERVICES_ALL; do
        [ -z "$(find "$DEFT_SERVICES/$_name/keys" \( -perm /027 -o ! -user root -o ! -group "$(process_group "$_name")" \))" ] || return 1
    done
}
