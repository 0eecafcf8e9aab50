# ./deft logs: follows the logs of the processes.
# shellcheck shell=sh

command_logs() {
    case $#:${1-} in
    *:-*) die "logs: unknown option '$1'" "./deft logs --help" ;;
    [01]:*) ;;
    *) die "logs takes at most one process" "./deft logs --help" ;;
    esac
    _names=${1:-$SERVICES_ALL}
    for _name in $_names; do
        case " $SERVICES_ALL " in
        *" $_name "*) ;;
        *) die "unknown process '$_name'" "processes: $SERVICES_ALL" ;;
        esac
        [ -f "$DEFT_LOG/$_name/current" ] || die "$_name has no log yet" "./deft up"
    done
    cd "$DEFT_LOG"
    trap 'logs_stop; exit 130' INT TERM HUP
    for _name in $_names; do
        tail -n "${LINES_SHOWN:-20}" -F "$_name/current" 2>/dev/null | logs_format "$_name" &
    done
    wait
}

logs_stop() {
    for _child in $(ps -o pid= --ppid $$); do
        kill_tree "$_child"
    done
}

# A line of JSON becomes: process  time  severity  message  name=value ...; other lines are printed unchanged.
logs_format() {
    sed -u -E -e '/^\{.*\}$/{
s/\}$//
s/^\{"timestamp":"[^T"]*T?([0-9:.]*)[^"]*",?/\1 /
s/"process":"[^"]*",?//
s/"(severity|message)":"([^"]*)",?/\2 /g
s/"([A-Za-z_]+)":("([^"\]*)"|([^,"]*)),?/\1=\3\4 /g
}' -e "s/^/$(printf '%-9s' "$1")/"
}
