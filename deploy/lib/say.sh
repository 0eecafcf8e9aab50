# Messages on the terminal.
# shellcheck shell=sh

say() {
    printf '%s\n' "$*"
}

# die MESSAGE [FIX]
die() {
    printf 'deft: %s\n' "$1" >&2
    [ -z "${2-}" ] || printf '      %s\n' "$2" >&2
    exit 1
}

warn() {
    printf 'deft: %s\n' "$*" >&2
}

now_ms() {
    date +%s%3N
}

# seconds MILLISECONDS: with one decimal.
seconds() {
    printf '%d.%d' $(($1 / 1000)) $(($1 % 1000 / 100))
}

# wait_until SECONDS COMMAND...: tries ten times a second until COMMAND succeeds.
wait_until() {
    _left=$(($1 * 10))
    shift
    until "$@" >/dev/null 2>&1; do
        _left=$((_left - 1))
        [ "$_left" -gt 0 ] || return 1
        sleep 0.1
    done
}
