# ./deft test and ./deft bench: a complete instance of their own, beside one that may be up.
# shellcheck shell=sh

command_test() {
    trial_run test "$@"
}

command_bench() {
    trial_run bench "$@"
}
