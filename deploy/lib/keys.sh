# API keys and sign-in links: created by deft-fcgi, in the environment of its service.
# shellcheck shell=sh

command_key() {
    case $#:${1-} in
    2:--runtime) set -- --new-runtime-key "$2" ;;
    1:--list) set -- --list-keys ;;
    2:--revoke) set -- --revoke-key "$2" ;;
    1:--runtime) die "key --runtime requires a name" "./deft key --help" ;;
    1:--revoke) die "key --revoke requires an id or a name" "./deft key --list shows both" ;;
    *:-*) die "key: unknown arguments '$*'" "./deft key --help" ;;
    [01]:*) set -- --new-key "${1:-deft key}" ;;
    *) die "key takes at most one name" "./deft key --help" ;;
    esac
    key_check_up
    key_run "$@"
}

command_link() {
    refuse_arguments link "$@"
    key_check_up
    key_link
}

key_check_up() {
    users_load
    service_is_up fcgi && service_is_up postgres || die "deft is not running" "./deft up"
}

key_link() {
    key_run --new-link
}

key_run() {
    (
        cd /
        # shellcheck disable=SC2046 # words of a command line
        chpst -e "$DEFT_SERVICES/fcgi/env" $(process_as fcgi) "$DEFT_APP/bin/deft-fcgi" "$@"
    )
}
