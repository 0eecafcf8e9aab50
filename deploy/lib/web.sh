# This instance's nginx, with folders of its own; the host's nginx is not affected.
# shellcheck shell=sh

# Renders nginx/ into DEFT_VAR/nginx.
web_write() {
    # A specific address is a host name, too; a wildcard is not (browsers let pages reach 0.0.0.0).
    case $DEFT_LISTEN in
    127.0.0.1 | 0.0.0.0) ;;
    *) DEFT_HOSTNAMES="$DEFT_HOSTNAMES $DEFT_LISTEN" ;;
    esac
    mkdir -p "$DEFT_VAR/nginx" "$DEFT_APP/share/deft/www"
    for _part in nginx app agent runtime errors answer-headers page-headers fastcgi-preview fastcgi-socket; do
        render "$DEFT_HOME/nginx/$_part.conf.in" | web_ipv6 >"$DEFT_VAR/nginx/$_part.conf"
    done
    render "$DEFT_HOME/nginx/preview.conf.in" | sed "s,@PREVIEW_HOSTS@,$(web_preview_hosts),g" | web_ipv6 >"$DEFT_VAR/nginx/preview.conf"
    web_write_origin app app /agent "\$agent_uri"
    web_write_origin agent agent '' "\$request_uri"
    # The app origin also has an API of its own, without a prefix to strip.
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

# The parent names of preview hosts, as alternatives of a regular expression; an IP address
# has no names below it. (Doubled backslashes: sed removes one.)
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

# `localhost` is also ::1, if the host has IPv6.
web_ipv6() {
    if [ "$DEFT_LISTEN" = 127.0.0.1 ] && grep -qs '^00000000000000000000000000000001 ' /proc/net/if_inet6; then
        sed 's/#IPV6 //'
    else
        sed '/#IPV6 /d'
    fi
}

# A changed configuration is reloaded without dropping connections.
web_reload() {
    nginx -t -q -e stderr -p "$DEFT_RUN/nginx/" -c "$DEFT_VAR/nginx/nginx.conf"
    _hash=$(cat "$DEFT_VAR/nginx/"*.conf | sha256sum | cut -d' ' -f1)
    if service_is_up nginx && ! stamp_is nginx-settings "$_hash"; then
        sv hup "$DEFT_SERVICES/nginx" >/dev/null
    fi
    stamp_set nginx-settings "$_hash"
}

# web_answers PATH: the agent origin answers 200.
web_answers() {
    web_is_ours "$DEFT_AGENT_PORT" &&
        curl -sf -o /dev/null --noproxy '*' --max-time 5 "http://$(web_address):$DEFT_AGENT_PORT$1"
}

# The app origin answers 200.
web_answers_page() {
    web_is_ours "$DEFT_APP_PORT" &&
        curl -sf -o /dev/null --noproxy '*' --max-time 5 "http://$(web_address):$DEFT_APP_PORT/"
}

# web_is_ours PORT: this instance's nginx listens there, and no other program on any address. Another instance
# would answer as well, and an nginx that cannot bind one address holds the others for a while.
web_is_ours() {
    _all=$(ss -ltnpH "sport = :$1")
    [ -n "$_all" ] && [ -z "$(printf '%s\n' "$_all" | web_strangers)" ]
}

# Filters the listeners on standard input: those that are not this nginx. An nginx that cannot bind is
# restarted every few seconds, so it is recognized by its prefix, not only by its pid.
web_strangers() {
    while IFS= read -r _listener; do
        for _pid in $(printf '%s\n' "$_listener" | grep -o 'pid=[0-9]*' | cut -d= -f2) ''; do
            if [ -z "$_pid" ]; then
                printf '%s\n' "$_listener"
            elif [ ! -e "/proc/$_pid" ] || [ "$_pid" = "$(web_pid)" ] ||
                tr '\0' ' ' <"/proc/$_pid/cmdline" 2>/dev/null | grep -qF -- "-p $DEFT_RUN/nginx/ "; then
                break
            fi
        done
    done
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

# port_is_taken PORT: a program listens there, according to the kernel's tables.
port_is_taken() {
    grep -qsi "^ *[0-9]*: [0-9A-F]*:$(printf '%04X' "$1") [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6
}

# Checks that no other program uses the ports; this instance's nginx may use them already.
web_check_ports() {
    for _setting in DEFT_APP_PORT DEFT_AGENT_PORT; do
        eval "_port=\$$_setting"
        port_is_taken "$_port" || continue
        _strangers=$(ss -ltnpH "sport = :$_port" | web_strangers)
        # A listener without a process may be this instance's nginx that ended a moment ago.
        case $_strangers in
        *pid=*) ;;
        ?*) _strangers=$(ss -ltnpH "sport = :$_port" | web_strangers) ;;
        esac
        [ -z "$_strangers" ] || {
            _who=$(printf '%s\n' "$_strangers" | sed -n 's/.*users:(("\([^"]*\)",pid=\([0-9]*\).*/ (\1, pid \2)/p' | head -n 1)
            die "port $_port is used by another program$_who" \
                "choose another one: $_setting=$((_port + 1)) ./deft up, or set it in deft.env"
        }
    done
}
