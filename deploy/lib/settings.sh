# Settings: paths, ports, and the names that distinguish this instance from others on the same host.
# Precedence: the environment, then deft.env next to the script, then the defaults here.
# shellcheck shell=sh

# A Unix socket's path has 108 bytes; the longest name below DEFT_RUN has 25.
RUN_PATH_MAX_BYTES=75

settings_load() {
    # A trial (deploy/lib/trial.sh) gets all settings from its environment.
    [ -n "${DEFT_TRIAL-}" ] || settings_read_file "$DEFT_HOME/deft.env"
    : "${DEFT_VAR:=$(settings_default_var)}"
    : "${DEFT_LISTEN:=127.0.0.1}" "${DEFT_APP_PORT:=3000}" "${DEFT_AGENT_PORT:=8000}"
    : "${DEFT_HOSTNAMES:=}" "${DEFT_CORS_ORIGINS:=}"
    : "${DEFT_DOCKER_SOCKET:=/var/run/docker.sock}" "${DEFT_SANDBOX_BROWSER:=0}"
    : "${DEFT_RUNTIME:=docker}"
    case $DEFT_RUNTIME in
    docker | process) ;;
    local) DEFT_RUNTIME=process ;;
    *) die "DEFT_RUNTIME=$DEFT_RUNTIME is invalid" "use docker, or process: no container engine, less isolation" ;;
    esac
    case $DEFT_SANDBOX_BROWSER in
    0) : "${DEFT_SANDBOX_IMAGE:=deft-sandbox:1}" ;;
    1) : "${DEFT_SANDBOX_IMAGE:=$BROWSER_IMAGE}" ;;
    *) die "DEFT_SANDBOX_BROWSER=$DEFT_SANDBOX_BROWSER is invalid" "use 1 for sandboxes with a browser, else 0" ;;
    esac
    : "${DEFT_CONVERSATION_RUNTIME:=local}"
    : "${LOG_LEVEL:=info}"
    settings_check_port DEFT_APP_PORT "$DEFT_APP_PORT"
    settings_check_port DEFT_AGENT_PORT "$DEFT_AGENT_PORT"
    [ "$DEFT_APP_PORT" != "$DEFT_AGENT_PORT" ] ||
        die "DEFT_APP_PORT and DEFT_AGENT_PORT are both $DEFT_APP_PORT" "set different ports"
    case $DEFT_VAR in
    /*) ;;
    *) die "DEFT_VAR=$DEFT_VAR is not an absolute path" "it must begin with /" ;;
    esac
    DEFT_VAR=$(readlink -m -- "$DEFT_VAR")
    settings_check_path DEFT_VAR "$DEFT_VAR"
    settings_check_address DEFT_LISTEN "$DEFT_LISTEN"
    # nginx and URLs need brackets around an IPv6 address.
    case $DEFT_LISTEN in
    *:*) DEFT_LISTEN=[$(settings_bare_address "$DEFT_LISTEN")] ;;
    esac
    settings_check_label DEFT_INSTANCE "${DEFT_INSTANCE-}"
    settings_derive
    settings_derive_mode
}

# local: only the administrator of this host can reach the instance, so its users may give private addresses.
# Host names other than localhost are those of a proxy, or of the network.
settings_derive_mode() {
    if ! settings_is_loopback "$(settings_bare_address "$DEFT_LISTEN")"; then
        [ "${DEFT_MODE:-shared}" != local ] || die "DEFT_MODE=local, but DEFT_LISTEN=$DEFT_LISTEN is reachable from other hosts" \
            "with DEFT_MODE=local every user can reach private addresses: unset one of the two; for a model on a private address set LLM_BASE_URL"
        DEFT_MODE=shared
    elif [ -n "$DEFT_HOSTNAMES" ]; then
        : "${DEFT_MODE:=shared}"
    fi
    : "${DEFT_MODE:=local}"
    case $DEFT_MODE in
    local | shared) ;;
    *) die "DEFT_MODE=$DEFT_MODE is invalid" "use local or shared, or unset it: it is derived from DEFT_LISTEN" ;;
    esac
}

# settings_is_loopback ADDRESS: the address, or each address of the name, is a loopback address.
settings_is_loopback() {
    ! getent ahosts "$1" | grep -qv '^\(127\.\|::1[[:space:]]\)'
}

# var next to the script, unless the users of the processes cannot reach it (a checkout in /root, or
# in a private home): then that is a link to a folder in /var/lib/deft.
# Decision: docs/decisions/0006-state-directory.md
settings_default_var() {
    if [ -e "$DEFT_HOME/var" ] || is_traversable "$DEFT_HOME"; then
        echo "$DEFT_HOME/var"
    else
        echo "/var/lib/deft/$(basename -- "$DEFT_HOME")-$(printf '%s' "$DEFT_HOME" | sha256sum | cut -c1-8)"
    fi
}

# is_traversable FOLDER: all users may enter it and all folders above it.
is_traversable() (
    folder=$1
    while [ "$folder" != / ]; do
        [ $((0$(stat -c %a -- "$folder") & 1)) -eq 1 ] || exit 1
        folder=$(dirname -- "$folder")
    done
)

# Derives the other settings.
settings_derive() {
    _id=$(printf '%s' "$DEFT_VAR" | sha256sum | cut -c1-8)
    : "${DEFT_INSTANCE:=$_id}"
    DEFT_RUN=$DEFT_VAR/run
    [ ${#DEFT_RUN} -le $RUN_PATH_MAX_BYTES ] || DEFT_RUN=/run/deft-$_id
    : "${DEFT_BUILD:=$DEFT_VAR/build}" "${DEFT_BUILD_KIND:=release}"
    DEFT_APP=$DEFT_VAR/app
    DEFT_KEYS=$DEFT_VAR/keys
    DEFT_SERVICES=$DEFT_VAR/services
    DEFT_LOG=$DEFT_VAR/log
    DEFT_STAMPS=$DEFT_VAR/stamps
    DEFT_DATABASE_URL="host=$DEFT_RUN/pg user=deft dbname=deft"
    settings_derive_url DEFT_APP_URL "$DEFT_APP_PORT"
    settings_derive_url DEFT_AGENT_URL "$DEFT_AGENT_PORT"
}

# settings_derive_url NAME PORT: the URL of an origin for clients: the operator's, such as that of a proxy that
# terminates TLS, or the default. Its host is added to DEFT_HOSTNAMES. (A URL of localhost is replaced by the
# default: the environment may contain another instance's.)
settings_derive_url() {
    eval "_url=\${$1-}"
    _url=${_url%/}
    _host=''
    case $_url in
    '' | http://localhost:*) _url=http://localhost:$2 ;;
    http://?* | https://?*) _host=${_url#*://} ;;
    *) _host=/ ;;
    esac
    case $_host in
    *[!A-Za-z0-9.:-]*) die "$1=$_url is not a valid origin" "write it as https://deft.example.org, without a path" ;;
    esac
    eval "$1=\$_url"
    [ -n "$_host" ] || return 0
    _host=${_host%%:*}
    case " $DEFT_HOSTNAMES " in
    *" $_host "*) ;;
    *) DEFT_HOSTNAMES="$DEFT_HOSTNAMES $_host" ;;
    esac
}

# Lines NAME=VALUE; a name that is set in the environment is skipped.
settings_read_file() {
    [ -f "$1" ] || return 0
    while IFS= read -r _line || [ -n "$_line" ]; do
        case $_line in
        '' | '#'*) continue ;;
        [A-Z]*=*) ;;
        *) die "$1: invalid line: $_line" "each line is NAME=VALUE, or begins with #" ;;
        esac
        _name=${_line%%=*}
        case $_name in
        *[!A-Z0-9_]*) die "$1: $_name is not a valid name of a setting" ;;
        DEFT_* | LLM_* | LOG_* | OH_*) ;;
        *) die "$1: $_name is not a setting of deft" "names begin with DEFT_, LLM_, LOG_ or OH_" ;;
        esac
        eval "_known=\${$_name+yes}"
        [ -n "$_known" ] || export "$_name=${_line#*=}"
    done <"$1"
}

settings_check_port() {
    case $2 in
    '' | *[!0-9]* | ??????*) die "$1=$2 is not a port number" "use a number from 1 to 65535" ;;
    esac
    if [ "$2" -lt 1 ] || [ "$2" -gt 65535 ]; then
        die "$1=$2 is not a port number" "use a number from 1 to 65535"
    fi
}

# The path is part of settings of PostgreSQL, nginx and runit, which have different quoting rules.
settings_check_path() {
    case $2 in
    *[[:space:][:cntrl:]\"\'\`\\\$\;\#\&\|\<\>\(\)\{\}\*\?\[\]]*)
        die "$1=$2 contains a space or a special character" "set $1 to a path without it"
        ;;
    esac
}

# Names are resolved: nginx would refuse a name without an address, in the middle of a start.
settings_check_address() {
    getent ahosts "$(settings_bare_address "$2")" >/dev/null || die "$1=$2 is not a valid address" "use 127.0.0.1, 0.0.0.0 or another address of this host"
}

# settings_bare_address ADDRESS: an IPv6 address without its brackets.
settings_bare_address() (
    address=$1
    case $address in
    \[*:*\])
        address=${address#\[}
        address=${address%\]}
        ;;
    esac
    echo "$address"
)

settings_check_label() {
    case $2 in
    [!A-Za-z0-9]* | *[!A-Za-z0-9_.-]*) die "$1=$2 is not a valid prefix of container names" "use letters, digits, and after the first character also _ . -" ;;
    esac
}
