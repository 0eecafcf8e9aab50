# Users: root sets up and supervises; the owner of the checkout builds; each process runs as a
# system user of its own, which `up` creates. Instances on one host share the users.
# Decision: docs/decisions/0033-users-of-processes.md
# shellcheck shell=sh

# process_user NAME: for nginx, that of its workers. nginx's master runs as root, for its ports and for the
# socket of the Runtime API; deft-runtime, because it creates containers and packet filter rules, or the
# users of sandboxes.
process_user() {
    case $1 in
    runtime) echo root ;;
    *) echo "deft-$1" ;;
    esac
}

# process_group NAME: its user's own.
process_group() {
    process_user "$1"
}

# process_as NAME: the command prefix that sets a process's user and groups, irrevocably.
# Group deft may enter the folder of the database's socket, group deft-runtime that of the Runtime API's.
# (chpst -u with several groups keeps root's among them.)
process_as() {
    case $1 in
    fcgi | gateway | worker) _more=--groups=deft,deft-runtime ;;
    postgres | log | resolver) _more=--clear-groups ;;
    nginx)
        echo "setpriv --no-new-privs --bounding-set=-all,+chown,+dac_override,+kill,+net_bind_service,+setgid,+setuid --"
        return
        ;;
    runtime)
        # For packet filter rules; or for the files, users and processes of sandboxes without an engine.
        _capabilities=+net_admin,+net_raw,+dac_override
        has_engine || _capabilities=+chown,+dac_override,+fowner,+kill,+setgid,+setuid,+sys_ptrace,+sys_resource
        echo "setpriv --no-new-privs --bounding-set=-all,$_capabilities --"
        return
        ;;
    *)
        echo "setpriv --no-new-privs --"
        return
        ;;
    esac
    echo "setpriv --reuid=deft-$1 --regid=deft-$1 $_more --no-new-privs --bounding-set=-all --inh-caps=-all --"
}

USERS_OF_PROCESSES='deft-fcgi deft-gateway deft-worker deft-resolver deft-nginx deft-postgres deft-log'
GROUPS_OF_PROCESSES='deft deft-runtime'

# users_become_root ARGUMENTS...: runs the same command with sudo, if necessary.
users_become_root() {
    [ "$(id -u)" -ne 0 ] || return 0
    command -v sudo >/dev/null ||
        die "this command needs root, and sudo is not installed" "run it as root"
    _keep=$(env | sed -n 's/^\(\(DEFT\|LLM\|LOG\|OH\)_[A-Z0-9_]*\)=.*/\1/p' | tr '\n' ',')
    exec sudo --preserve-env="${_keep}CI" -- "$DEFT_HOME/deft" "$@"
}

users_load() {
    BUILD_USER=$(stat -c %U -- "$DEFT_HOME")
}

# Creates the missing users and groups of the processes.
users_make() {
    users_load
    for _group in $GROUPS_OF_PROCESSES; do
        getent group "$_group" >/dev/null || groupadd --system "$_group"
    done
    for _user in $USERS_OF_PROCESSES; do
        getent passwd "$_user" >/dev/null ||
            useradd --system --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "$_user"
    done
}

# as_user USER COMMAND...: without a login; inherits only the environment.
as_user() {
    _user=$1
    shift
    if [ "$_user" = root ]; then
        "$@"
        return
    fi
    setpriv --reuid="$_user" --regid="$(id -g "$_user")" --init-groups -- \
        env HOME="$(getent passwd "$_user" | cut -d: -f6)" "$@"
}

as_builder() {
    as_user "$BUILD_USER" "$@"
}

users_prepare_var() {
    mkdir -p "$DEFT_VAR" || die "cannot create $DEFT_VAR" "set DEFT_VAR to a path that can be created"
    is_traversable "$DEFT_VAR" ||
        die "the users of the processes (deft-fcgi and others) cannot reach $DEFT_VAR" \
            "chmod o+x the folders above it; or, when deft is down, move it and set DEFT_VAR, and DEFT_INSTANCE=$DEFT_INSTANCE"
    [ -e "$DEFT_HOME/var" ] || [ "${DEFT_VAR#/var/lib/deft/}" = "$DEFT_VAR" ] || ln -s "$DEFT_VAR" "$DEFT_HOME/var"
    mkdir -p "$DEFT_BUILD" "$DEFT_APP" "$DEFT_LOG/up" "$DEFT_STAMPS" "$DEFT_SERVICES"
    chown "$BUILD_USER" "$DEFT_VAR" "$DEFT_BUILD"
    mkdir -p "$DEFT_KEYS"
    chmod 700 "$DEFT_KEYS"
    users_prepare_folder "$DEFT_LOG" root:deft-log 750
}

# users_prepare_folder FOLDER OWNER MODE
users_prepare_folder() {
    mkdir -p "$1"
    chown "$2" "$1"
    chmod "$3" "$1"
}

# The folders of sockets. A user who may enter one may connect; a socket has its folder's group (setgid).
# DEFT_RUN may lie in /run, which is empty after a restart of the host.
users_prepare_run() {
    users_prepare_folder "$DEFT_RUN" root:root 711
    users_prepare_folder "$DEFT_RUN/pg" deft-postgres:deft 750
    users_prepare_folder "$DEFT_RUN/fcgi" deft-fcgi:deft-nginx 2750
    users_prepare_folder "$DEFT_RUN/gateway" deft-gateway:deft-nginx 2750
    users_prepare_folder "$DEFT_RUN/runtime" root:deft-nginx 2750
    users_prepare_folder "$DEFT_RUN/private" root:deft-runtime 750
    users_prepare_folder "$DEFT_RUN/nginx" deft-nginx:deft-nginx 700
}

# In an earlier version one user owned everything. Its processes are stopped, and own
# their files when they start again.
users_carry_over() {
    [ -d "$DEFT_VAR/pg/data" ] || return 0
    [ "$(stat -c %U "$DEFT_VAR/pg/data")" != deft-postgres ] || return 0
    say "  ...  migrating to one user per process: stopping the processes"
    services_stop
    chown -R deft-postgres:deft-postgres "$DEFT_VAR/pg"
    for _name in $SERVICES_ALL; do
        [ ! -d "$DEFT_LOG/$_name" ] || chown -R deft-log:deft-log "$DEFT_LOG/$_name"
    done
    rm -rf "$DEFT_RUN/nginx" "$DEFT_RUN"/*.sock "$DEFT_RUN"/private/*.sock "$DEFT_RUN"/pg/.s.*
}
