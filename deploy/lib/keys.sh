# API keys and sign-in links: deft-fcgi makes them, in the environment of its service.
# shellcheck shell=sh

command_key() {
    case $#:${1-} in
    2:--runtime) set -- --new-runtime-key "$2" ;;
    1:--list) set -- --list-keys ;;
    2:--revoke) set -- --revoke-key "$2" ;;
    *:-*) die "key does not know '$*'" "./deft key [NAME]; ./deft key --runtime NAME; ./deft key --list; ./deft key --revoke NAME" ;;
    [01]:*) set -- --new-key "${1:-deft key}" ;;
    *) die "key takes one name at most" ;;
    esac
    key_check_up
    key_run "$@"
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
