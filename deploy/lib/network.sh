# Removes deft-runtime's packet filter rules. The rules that block are shared by all instances, and are
# kept while any of them is running. The rules that log refused packets, and those of allow lists, have
# four digits of their instance in their name.
# shellcheck shell=sh

# The same as in runtime/backend/bridge.c.
network_tag() {
    printf '%s' "$DEFT_INSTANCE" | sha256sum | cut -c1-4
}

# network_cut TOOL TABLE CHAIN BRIDGES FROM: removes a chain of deft, and the jump to it.
network_cut() {
    "$1" -w 5 -t "$2" -D "$5" -i "$4" -j "$3" 2>/dev/null || :
    "$1" -w 5 -t "$2" -F "$3" 2>/dev/null || :
    "$1" -w 5 -t "$2" -X "$3" 2>/dev/null || :
}

# The rules of this instance: no process reads their log any more. A sandbox that keeps running stays
# restricted to its list.
network_remove_own() {
    command -v iptables >/dev/null || return 0
    _tag=$(network_tag)
    network_cut iptables filter "DEFT-IN-$_tag" "dsb$_tag+" INPUT
    network_cut iptables filter "DEFT-OUT-$_tag" "dsb$_tag+" DOCKER-USER
    for _port in "/sys/class/net/dsb$_tag"*/brif/*; do
        [ ! -e "$_port" ] || return 0
    done
    network_cut iptables nat "DEFT-DNS-$_tag" "dsb$_tag+" PREROUTING
    network_cut iptables nat "DEFT-NAMES-$_tag" "dsb$_tag+" PREROUTING
    network_cut iptables filter "DEFT-ASK-$_tag" "dsb$_tag+" INPUT
    network_cut iptables filter "DEFT-GO-$_tag" "dsb$_tag+" DOCKER-USER
    for _chain in $(iptables -w 5 -S 2>/dev/null | sed -n "s/^-N \(DEFT-P[0-9]*-$_tag\)\$/\1/p"); do
        iptables -w 5 -F "$_chain" || :
        iptables -w 5 -X "$_chain" || :
    done
}

# The rules of all instances: only if none is running, and no sandbox has a network.
network_remove_shared() {
    command -v iptables >/dev/null || return 0
    ! engine_has_users || return 0
    for _bridge in /sys/class/net/dsb*; do
        [ ! -e "$_bridge" ] || return 0
    done
    network_cut iptables filter DEFT-IN dsb+ INPUT
    network_cut iptables filter DEFT-OUT dsb+ DOCKER-USER
    network_cut ip6tables filter DEFT-IN dsb+ INPUT
    network_cut ip6tables filter DEFT-OUT dsb+ FORWARD
}

# DNS queries of sandboxes go to the resolver; also true without packet filter rules.
network_leads_names() {
    [ "${DEFT_NETWORK_RULES:-1}" != 0 ] && [ "$DEFT_RUNTIME" = docker ] || return 0
    iptables -w 5 -t nat -S "DEFT-NAMES-$(network_tag)" 2>/dev/null | grep -q -- '-j REDIRECT'
}

# Refused connections are logged; also true if nothing is refused.
network_shows_refusals() {
    [ "${DEFT_NETWORK_RULES:-1}" != 0 ] && [ "$DEFT_RUNTIME" = docker ] || return 0
    iptables -w 5 -S "DEFT-OUT-$(network_tag)" 2>/dev/null | grep -q -- '-j NFLOG'
}
