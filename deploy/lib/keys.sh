# API keys and sign-in links: deft-fcgi makes them, in the environment of its service.
# shellcheck shell=sh

command_key() {
    if [ "${1-}" = --runtime ]; then
        shift
        key_new_runtime "$@"
        return
    fi
    [ $# -le 1 ] || die "key takes one name at most"
    case ${1-} in
    -*) die "key does not know '$1'" "./deft key [NAME]; a name does not begin with -" ;;
    esac
    key_check_up
    key_run --new-key "${1:-deft key}"
}

# For programs that ask for sandboxes themselves, below /runtime-api of the app origin.
key_new_runtime() {
    [ $# -eq 1 ] || die "key --runtime takes one name" "./deft key --runtime NAME"
    key_check_up
    key_run --new-runtime-key "$1"
}

command_link() {
    [ $# -eq 0 ] || die "link takes no arguments"
    key_check_up
    key_link
}

key_check_up() {
    users_load
    service_is_up fcgi && service_is_up postgres || die "deft is not up" "./deft up"
}

key_link() {
    key_run --new-link
}

key_run() {
    (
        cd /
        chpst -u "$DEFT_USER:$(id -gn "$DEFT_USER")" -e "$DEFT_SERVICES/fcgi/env" "$DEFT_APP/bin/deft-fcgi" "$@"
    )
}
