#!/bin/sh
# python.sh PROGRAM [ARGUMENT...]: runs a Python program of this folder with the official SDK, as pip installs it.
# python.sh --install: only makes sure that the SDK is installed.
#
# The SDK needs Python 3.12. Where the host's is older, a small Debian that has a newer one is made of Debian's packages;
# it shares the host's network, not its files. What was made is kept in DEFT_BUILD until the lists of packages change.
set -eu

HERE=$(cd "$(dirname "$0")" && pwd)
SUITE=trixie
ENVIRONMENT=/opt/sdk

main() {
    _recipe=$(cat "$HERE/python.sh" "$HERE/constraints.txt" "$HERE/requirements.txt" /etc/os-release | sha256sum | cut -c1-16)
    ROOT=$DEFT_BUILD/python-$_recipe
    (
        flock 8
        [ -f "$ROOT/complete" ] || environment_make
    ) 8>"$DEFT_BUILD/python.lock" >&2
    [ "$1" = --install ] || run "$@"
}

# run PROGRAM [ARGUMENT...]: instead of this shell.
run() {
    if [ -x "$ROOT/bin/sh" ]; then
        run_in_root "$@"
    fi
    program=$1
    shift
    exec "$ROOT$ENVIRONMENT/bin/python" "$HERE/$program" "$@"
}

# Its own mount namespace: what is mounted for the program goes with it.
run_in_root() {
    mkdir -p "$ROOT/program"
    # shellcheck disable=SC2016 # the inner shell's words
    ROOT=$ROOT exec unshare --mount --propagation private sh -c '
        mount --rbind /dev "$ROOT/dev"
        mount --rbind /proc "$ROOT/proc"
        mount -o bind,ro "$1" "$ROOT/program"
        python=$2/bin/python
        program=/program/$3
        shift 3
        exec chroot "$ROOT" "$python" "$program" "$@"
    ' sh "$HERE" "$ENVIRONMENT" "$@"
}

environment_make() {
    rm -rf "$DEFT_BUILD"/python-*
    mkdir -p "$ROOT"
    if python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
        python3 -m venv "$ROOT$ENVIRONMENT"
        pip_install "$ROOT$ENVIRONMENT/bin/python" "$HERE"
    else
        root_make
        pip_install chroot "$ROOT" "$ENVIRONMENT/bin/python" /tmp
    fi
    (run load.py)
    touch "$ROOT/complete"
}

root_make() {
    _apt=$(mktemp)
    apt-config dump | grep -E '^Acquire::(Check-Valid-Until|Check-Date|Retries|http|https|ForceIPv4)' >"$_apt" || :
    # The same mirrors that the host uses, Debian's own sections only; its updates where they are of that release.
    apt-get indextargets --format "\$(REPO_URI) \$(COMPONENT) \$(ORIGIN) \$(RELEASE)" 'Created-By: Packages' |
        sed -n "s/^\([^ ]*\) main Debian [a-z]*$/deb \1 $SUITE main/p" | sort -u |
        mmdebstrap --quiet --mode=root --variant=essential --include=python3-venv,libstdc++6 --aptopt="$_apt" \
            --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' --dpkgopt=force-unsafe-io \
            --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
            --dpkgopt='path-exclude=/usr/share/doc/*' "$SUITE" "$ROOT" -
    rm -f "$_apt"
    # Files of the host that pip needs to reach its registry.
    for _file in /etc/hosts /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt /etc/pip.conf "$HOME/.config/pip/pip.conf" \
        "$HOME/.pip/pip.conf" "${PIP_CONFIG_FILE:-}" "${PIP_CERT:-}"; do
        [ ! -f "$_file" ] || install -D -m 644 "$_file" "$ROOT$_file"
    done
    cp "$HERE/requirements.txt" "$HERE/constraints.txt" "$ROOT/tmp"
    chroot "$ROOT" python3 -m venv "$ENVIRONMENT"
}

# pip_install PYTHON... FOLDER: the lists of that folder. The second list names everything that the first needs.
pip_install() {
    _python=''
    while [ $# -gt 1 ]; do
        _python="$_python $1"
        shift
    done
    # shellcheck disable=SC2086 # the words of a command
    PIP_CERT=${PIP_CERT:-/etc/ssl/certs/ca-certificates.crt} $_python -m pip install -qq --no-cache-dir \
        --disable-pip-version-check --no-deps --no-compile -r "$1/requirements.txt" -r "$1/constraints.txt"
}

main "$@"
