# nginx of this instance, with folders of its own; the host's nginx is not touched.
# shellcheck shell=sh

# Renders nginx/ into DEFT_VAR/nginx.
web_write() {
    # An address of the host's own is a name too; a wildcard is not (browsers let pages reach 0.0.0.0).
    case $DEFT_LISTEN in
    127.0.0.1 | 0.0.0.0) ;;
    *) DEFT_HOSTNAMES="$DEFT_HOSTNAMES $DEFT_LISTEN" ;;
    esac
    mkdir -p "$DEFT_VAR/nginx" "$DEFT_APP/share/deft/www"
    for _part in nginx app agent runtime errors answer-headers page-headers fastcgi-preview; do
        render "$DEFT_HOME/nginx/$_part.conf.in" | web_ipv6 >"$DEFT_VAR/nginx/$_part.conf"
    done
    render "$DEFT_HOME/nginx/preview.conf.in" | sed "s,@PREVIEW_HOSTS@,$(web_preview_hosts),g" | web_ipv6 >"$DEFT_VAR/nginx/preview.conf"
    web_write_origin app app /agent "\$agent_uri"
    web_write_origin agent agent '' "\$request_uri"
    # Beside the agent API the app origin has an API of its own, with nothing to strip.
    web_write_fastcgi app app "\$request_uri"
}

# web_write_fastcgi ORIGIN KIND URI: for each socket of deft-fcgi, a file to include.
web_write_fastcgi() {
    for _socket in fcgi sandbox stream probe; do
        _name=$_socket-$2
        [ "$_socket" != fcgi ] || _name=$2
        render "$DEFT_HOME/nginx/fastcgi.conf.in" |
            sed -e "s|@ORIGIN@|$1|g; s|@URI@|$3|g; s|@SOCKET@|$_socket|g" >"$DEFT_VAR/nginx/fastcgi-$_name.conf"
    done
}

# The names below which previews have theirs, as alternatives of a regular expression; an address of
# numbers has no names below it. (Doubled backslashes: sed takes one away.)
web_preview_hosts() {
    _hosts=localhost
    for _host in $DEFT_HOSTNAMES; do
        case $_host in
        *[!A-Za-z0-9.-]* | .*) ;;
        *[A-Za-z]*) _hosts="$_hosts|$(printf '%s' "$_host" | tr '[:upper:]' '[:lower:]' | sed 's/\./\\\\./g')" ;;
        esac
    done
    printf '%s\n' "$_hosts"
}

# web_write_origin ORIGIN KIND PREFIX URI
web_write_origin() {
    _kind=$2
    [ -z "$3" ] || _kind=$2-stripped
    render "$DEFT_HOME/nginx/agent-api.conf.in" |
        sed -e "s|@ORIGIN@|$1|g; s|@KIND@|$_kind|g; s|@PREFIX@|$3|g; s|@URI@|$4|g" >"$DEFT_VAR/nginx/agent-api-$1.conf"
    web_write_fastcgi "$1" "$_kind" "$4"
}

# `localhost` means ::1 too, where the host has it.
web_ipv6() {
    if [ "$DEFT_LISTEN" = 127.0.0.1 ] && grep -qs '^00000000000000000000000000000001 ' /proc/net/if_inet6; then
        sed 's/#IPV6 //'
    else
        sed '/#IPV6 /d'
    fi
}

# The configuration may change while nginx runs: it reads it again, and drops no connection.
web_reload() {
    nginx -t -q -e stderr -p "$DEFT_RUN/nginx/" -c "$DEFT_VAR/nginx/nginx.conf"
    _hash=$(cat "$DEFT_VAR/nginx/"*.conf | sha256sum | cut -d' ' -f1)
    if service_is_up nginx && ! stamp_is nginx-settings "$_hash"; then
        sv hup "$DEFT_SERVICES/nginx" >/dev/null
    fi
    stamp_set nginx-settings "$_hash"
}

# web_answers PATH: the agent origin says 200.
web_answers() {
    web_is_ours "$DEFT_AGENT_PORT" &&
        curl -sf -o /dev/null --noproxy '*' --max-time 5 "http://$(web_address):$DEFT_AGENT_PORT$1"
}

# The app origin says 200.
web_answers_page() {
    web_is_ours "$DEFT_APP_PORT" &&
        curl -sf -o /dev/null --noproxy '*' --max-time 5 "http://$(web_address):$DEFT_APP_PORT/"
}

# web_is_ours PORT: our nginx listens there, and nobody else on any address. Another instance of deft would
# answer just as well, and an nginx that cannot have one of its addresses holds the others for a while.
web_is_ours() {
    # It may be started again while the kernel is asked.
    _pids=$(web_pid)
    _listeners=$(ss -ltnpH "sport = :$1")
    _pids="$_pids $(web_pid)"
    [ -n "$_listeners" ] || return 1
    for _pid in $_pids; do
        _listeners=$(printf '%s\n' "$_listeners" | grep -v "pid=$_pid," || :)
    done
    [ -z "$_listeners" ]
}

web_pid() {
    cat "$DEFT_SERVICES/nginx/supervise/pid" 2>/dev/null || :
}

web_address() {
    case $DEFT_LISTEN in
    0.0.0.0) echo 127.0.0.1 ;;
    *) echo "$DEFT_LISTEN" ;;
    esac
}

# port_is_taken PORT: something listens there, as the kernel's tables say.
port_is_taken() {
    grep -qsi "^ *[0-9]*: [0-9A-F]*:$(printf '%04X' "$1") [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6
}

# Another program may have our ports; our own nginx may have them already.
web_check_ports() {
    for _setting in DEFT_APP_PORT DEFT_AGENT_PORT; do
        eval "_port=\$$_setting"
        ! port_is_taken "$_port" || web_is_ours "$_port" || {
            _who=$(ss -ltnpH "sport = :$_port" 2>/dev/null | sed -n 's/.*users:(("\([^"]*\)",pid=\([0-9]*\).*/ (\1, pid \2)/p' | head -n 1)
            die "port $_port is taken by another program$_who" \
                "choose another one: $_setting=$((_port + 1)) ./deft up, or write it into deft.env"
        }
    done
}
