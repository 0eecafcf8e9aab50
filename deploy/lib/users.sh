# Who does what: root sets up and supervises; the owner of the checkout builds; the processes
# run as that owner too, or as the user `deft` where the checkout belongs to root.
# shellcheck shell=sh

# users_become_root ARGUMENTS...: runs the same command again with sudo where it has to.
users_become_root() {
    [ "$(id -u)" -ne 0 ] || return 0
    command -v sudo >/dev/null ||
        die "this needs root, and sudo is not installed" "run it as root"
    _keep=$(env | sed -n 's/^\(\(DEFT\|LLM\|LOG\|OH\)_[A-Z0-9_]*\)=.*/\1/p' | tr '\n' ',')
    exec sudo --preserve-env="${_keep}CI" -- "$DEFT_HOME/deft" "$@"
}

users_load() {
    BUILD_USER=$(stat -c %U -- "$DEFT_HOME")
    DEFT_USER=$BUILD_USER
    [ "$BUILD_USER" != root ] || DEFT_USER=deft
}

# Makes the user `deft` where it is needed.
users_make() {
    users_load
    id -u "$DEFT_USER" >/dev/null 2>&1 || {
        useradd --system --user-group --no-create-home --home-dir /nonexistent \
            --shell /usr/sbin/nologin "$DEFT_USER"
    }
    DEFT_GROUP=$(id -gn "$DEFT_USER")
}

# as_user USER COMMAND...: without a login, with nothing inherited but the environment.
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
    mkdir -p "$DEFT_VAR" || die "cannot make the folder $DEFT_VAR" "set DEFT_VAR to a path that can be made"
    [ -e "$DEFT_HOME/var" ] || [ "${DEFT_VAR#/var/lib/deft/}" = "$DEFT_VAR" ] || ln -s "$DEFT_VAR" "$DEFT_HOME/var"
    is_traversable "$DEFT_VAR" || [ "$DEFT_USER" = "$BUILD_USER" ] ||
        die "the user $DEFT_USER cannot reach $DEFT_VAR" "set DEFT_VAR to a folder that others may enter"
    mkdir -p "$DEFT_BUILD" "$DEFT_APP" "$DEFT_LOG/up" "$DEFT_STAMPS" "$DEFT_SERVICES"
    chown "$BUILD_USER" "$DEFT_VAR" "$DEFT_BUILD"
    # Logs are for root and for the group.
    chown "root:$DEFT_GROUP" "$DEFT_LOG"
    chmod 750 "$DEFT_LOG"
    mkdir -p -m 700 "$DEFT_KEYS"
    # DEFT_RUN may lie in /run, which is empty after a restart of the host.
    mkdir -p -m 700 "$DEFT_RUN" "$DEFT_RUN/pg" "$DEFT_RUN/private" "$DEFT_RUN/nginx"
    chown "$DEFT_USER:$DEFT_GROUP" "$DEFT_RUN" "$DEFT_RUN/pg" "$DEFT_RUN/private" "$DEFT_RUN/nginx"
}
