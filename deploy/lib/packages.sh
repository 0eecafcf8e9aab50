# Debian packages: only missing ones are installed, and none of their services is started.
# shellcheck shell=sh

PACKAGES_MARK='of ./deft up, for as long as it installs packages'

# packages_missing LIST...: prints the missing packages of deploy/packages/LIST.txt.
packages_missing() (
    installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' | sed -n 's/ installed$/ /p')
    for list; do
        sed 's/#.*//' "$DEFT_HOME/deploy/packages/$list.txt"
    done | while read -r package command; do
        [ -n "$package" ] || continue
        case "
$installed" in
        *"
$package "*) continue ;;
        esac
        if [ -n "$command" ] && command -v "$command" >/dev/null; then
            continue
        fi
        printf '%s\n' "$package"
    done
)

packages_install() {
    _missing=$(packages_missing "$@" | tr '\n' ' ')
    if [ -z "$_missing" ]; then
        remark "nothing to install"
        return
    fi
    remark "installing $(printf '%s' "$_missing" | wc -w) packages"
    # Also when interrupted: otherwise the host's services could not start any more.
    trap packages_services_on EXIT
    trap 'exit 143' INT TERM
    packages_keep_services_off
    # shellcheck disable=SC2086 # the names are words
    packages_apt $_missing
    packages_services_on
    trap - EXIT
    remark "$(printf '%s' "$_missing" | wc -w) packages installed, plus dependencies"
}

# A failed update may not matter: the packages may be in another list.
packages_apt() {
    export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1
    apt-get -q -o DPkg::Lock::Timeout=120 update || echo "apt-get update failed; continuing with the existing package lists"
    apt-get -qy -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 -o APT::Install-Recommends=false install "$@"
}

# Debian starts a service when its package is installed. deft runs its own nginx and PostgreSQL next to the
# host's, so the packaged services are suppressed: no start, no main cluster, nothing at the next boot.
packages_keep_services_off() {
    PACKAGES_QUIET=''
    for _package in nginx postgresql docker.io; do
        dpkg-query -W "$_package" >/dev/null 2>&1 || PACKAGES_QUIET="$PACKAGES_QUIET $_package"
    done
    PACKAGES_POLICY=/usr/sbin/policy-rc.d
    if [ -e $PACKAGES_POLICY ] && ! grep -q "$PACKAGES_MARK" $PACKAGES_POLICY; then
        PACKAGES_POLICY=''
    else
        printf '#!/bin/sh\n# %s\nexit 101\n' "$PACKAGES_MARK" >$PACKAGES_POLICY
        chmod 755 $PACKAGES_POLICY
    fi
    PACKAGES_CLUSTERS=/etc/postgresql-common/createcluster.conf
    if [ -e $PACKAGES_CLUSTERS ]; then
        PACKAGES_CLUSTERS=''
    else
        mkdir -p ${PACKAGES_CLUSTERS%/*}
        echo 'create_main_cluster = false' >$PACKAGES_CLUSTERS
    fi
}

packages_services_on() {
    [ -z "$PACKAGES_POLICY" ] || rm -f "$PACKAGES_POLICY"
    if [ -n "$PACKAGES_CLUSTERS" ] && [ -f /usr/share/postgresql-common/createcluster.conf ]; then
        cp /usr/share/postgresql-common/createcluster.conf "$PACKAGES_CLUSTERS"
    fi
    case $PACKAGES_QUIET in
    *nginx*) update-rc.d nginx disable >/dev/null 2>&1 || : ;;
    esac
}
