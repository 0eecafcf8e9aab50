#include "runtime/egress/egress_table_rules.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/egress/denial_counter.h"
#include "runtime/egress/egress_table.h"
#include "runtime/egress/firewall.h"
#include "runtime/egress/firewall_log.h"

/* Limits of DNS queries by UDP of each sandbox; the rest is dropped. */
#define QUESTIONS_PER_SECOND 100
#define QUESTIONS_AT_ONCE 200
/* The same for TCP, of which dnsmasq serves twenty connections, each with any number of queries. */
#define CONNECTIONS_AT_ONCE 3
#define CONNECTIONS_PER_SECOND 20
#define CONNECTIONS_BURST 40

static const char *const protocols[] = {"udp", "tcp"};

static bool is_restricted(const struct egress_table *table, size_t policy)
{
    return table->policies[policy].policy.mode != EGRESS_INTERNET;
}

/*
 * Unrestricted sandboxes: queries to private addresses, such as the assigned name server's, go to
 * the resolver; public servers may be queried directly.
 */
static void append_private_servers(const struct egress_rules *rules, struct strbuf *out)
{
    for (size_t i = 0; i < firewall_n_denied; i++) {
        for (size_t k = 0; k < ARRAY_SIZE(protocols); k++)
            strbuf_appendf(
                out,
                "-A " EGRESS_NAMES_CHAIN "%s -d %s -p %s --dport 53 -j REDIRECT --to-ports %d\n",
                rules->tag, firewall_denied[i].range, protocols[k], rules->resolver_port);
    }
}

/* Restricted sandboxes: all queries go to deft-runtime, whatever server they are sent to. */
static void append_redirect(const struct egress_rules *rules, const char *bridge,
                            struct strbuf *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
        strbuf_appendf(out, "-A " EGRESS_DNS_CHAIN "%s", rules->tag);
        if (bridge != NULL)
            strbuf_appendf(out, " -i %s", bridge);
        strbuf_appendf(out, " -p %s --dport 53 -j REDIRECT --to-ports %d\n", protocols[i],
                       rules->dns_port);
    }
}

static void append_names(const struct egress_table *table, const struct egress_rules *rules,
                         struct strbuf *out)
{
    const char *tag = rules->tag;

    strbuf_appendf(out,
                   "*nat\n:" EGRESS_DNS_CHAIN "%s - [0:0]\n:" EGRESS_NAMES_CHAIN "%s - [0:0]\n",
                   tag, tag);
    append_private_servers(rules, out);
    for (size_t i = 0; i < table->n_assignments; i++) {
        const struct egress_assignment *assignment = &table->assignments[i];

        if (is_restricted(table, assignment->policy))
            append_redirect(rules, assignment->bridge, out);
        else
            strbuf_appendf(out, "-A " EGRESS_DNS_CHAIN "%s -i %s -g " EGRESS_NAMES_CHAIN "%s\n",
                           tag, assignment->bridge, tag);
    }
    if (is_restricted(table, 0))
        append_redirect(rules, NULL, out);
    else
        strbuf_appendf(out, "-A " EGRESS_DNS_CHAIN "%s -g " EGRESS_NAMES_CHAIN "%s\n", tag, tag);
    strbuf_append(out, "COMMIT\n");
}

/*
 * Accepts a limited rate of redirected queries and connections, which arrive at the sandbox's own
 * gateway. Packets that are sent to these ports directly are refused like any other packet to the
 * host. purpose: the letter of a limit's name, for UDP and for TCP.
 */
static void append_port(const struct egress_rules *rules, const char purpose[2], int port,
                        struct strbuf *out)
{
    const char *tag = rules->tag;

    strbuf_appendf(out,
                   "-A DEFT-ASK-%s -p udp --dport %d -m conntrack --ctstate DNAT"
                   " -m hashlimit --hashlimit-name deft%c-%s --hashlimit-mode srcip"
                   " --hashlimit-upto %d/second --hashlimit-burst %d -j ACCEPT\n"
                   "-A DEFT-ASK-%s -p udp --dport %d -m conntrack --ctstate DNAT -j DROP\n",
                   tag, port, purpose[0], tag, QUESTIONS_PER_SECOND, QUESTIONS_AT_ONCE, tag, port);
    strbuf_appendf(out,
                   "-A DEFT-ASK-%s -p tcp --syn --dport %d -m conntrack --ctstate DNAT"
                   " -m connlimit --connlimit-upto %d -m hashlimit --hashlimit-name deft%c-%s"
                   " --hashlimit-mode srcip --hashlimit-upto %d/second --hashlimit-burst %d"
                   " -j ACCEPT\n"
                   "-A DEFT-ASK-%s -p tcp --syn --dport %d -m conntrack --ctstate DNAT"
                   " -j REJECT --reject-with tcp-reset\n",
                   tag, port, CONNECTIONS_AT_ONCE, purpose[1], tag, CONNECTIONS_PER_SECOND,
                   CONNECTIONS_BURST, tag, port);
}

static void append_questions(const struct egress_rules *rules, struct strbuf *out)
{
    append_port(rules, "qu", rules->dns_port, out);
    append_port(rules, "rt", rules->resolver_port, out);
}

static void append_ways(const struct egress_table *table, const struct egress_rules *rules,
                        struct strbuf *out)
{
    const char *tag = rules->tag;

    strbuf_appendf(out,
                   "-A DEFT-GO-%s -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n"
                   "-A DEFT-GO-%s -o " FIREWALL_BRIDGES " -j RETURN\n",
                   tag, tag);
    /* Other chains refuse these and log the reason. */
    for (size_t i = 0; i < firewall_n_denied; i++)
        strbuf_appendf(out, "-A DEFT-GO-%s -d %s -j RETURN\n", tag, firewall_denied[i].range);
    for (size_t i = 0; i < table->n_assignments; i++) {
        const struct egress_assignment *assignment = &table->assignments[i];

        strbuf_appendf(out, "-A DEFT-GO-%s -i %s", tag, assignment->bridge);
        if (is_restricted(table, assignment->policy))
            strbuf_appendf(out, " -g DEFT-P%d-%s\n", (int)assignment->policy, tag);
        else
            strbuf_append(out, " -j RETURN\n");
    }
    if (is_restricted(table, 0))
        strbuf_appendf(out, "-A DEFT-GO-%s -g DEFT-P0-%s\n", tag, tag);
}

/* To one address or range, with one port or all. */
static void append_place(struct strbuf *out, const char *chain, const char *target, uint16_t port)
{
    if (port == 0) {
        strbuf_appendf(out, "-A %s -d %s -j RETURN\n", chain, target);
        return;
    }
    strbuf_appendf(out, "-A %s -d %s -p tcp --dport %d -j RETURN\n", chain, target, port);
    strbuf_appendf(out, "-A %s -d %s -p udp --dport %d -j RETURN\n", chain, target, port);
}

static void append_target(struct strbuf *target, uint32_t address, unsigned prefix)
{
    const struct in_addr in = {.s_addr = htonl(address)};
    char text[INET_ADDRSTRLEN] = "";

    strbuf_reset(target);
    strbuf_appendf(target, "%s/%u", inet_ntop(AF_INET, &in, text, sizeof(text)), prefix);
}

static void append_known(const struct egress_table *table,
                         const struct egress_destination *destination, const char *chain,
                         struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf target = STRBUF_INIT;

    for (size_t i = 0; i < table->n_known; i++) {
        if (!egress_destination_holds(destination, table->known[i].name))
            continue;
        append_target(&target, table->known[i].address, 32);
        append_place(out, chain, target.text, destination->port);
    }
}

static void append_refusal(const struct egress_rules *rules, const char *chain, struct strbuf *out)
{
    const struct firewall_log log = {.tag = rules->tag, .group = (uint16_t)rules->group};

    if (rules->group >= 0) {
        strbuf_appendf(out, "-A %s", chain);
        firewall_log_append_show(out, &log, DENIED_POLICY);
    }
    strbuf_appendf(out, "-A %s -j REJECT\n", chain);
}

static void append_policy(const struct egress_table *table, size_t index,
                          const struct egress_rules *rules, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf chain = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf target = STRBUF_INIT;
    const struct egress_policy *policy = &table->policies[index].policy;

    strbuf_appendf(&chain, "DEFT-P%d-%s", (int)index, rules->tag);
    for (size_t i = 0; policy->mode == EGRESS_LIST && i < policy->n; i++) {
        const struct egress_destination *destination = &policy->destinations[i];

        append_known(table, destination, chain.text, out);
        if (destination->kind != DESTINATION_RANGE)
            continue;
        append_target(&target, destination->address, destination->prefix);
        append_place(out, chain.text, target.text, destination->port);
    }
    append_refusal(rules, chain.text, out);
}

void egress_table_append_rules(const struct egress_table *table, const struct egress_rules *rules,
                               struct strbuf *out)
{
    append_names(table, rules, out);
    strbuf_appendf(out, "*filter\n:DEFT-ASK-%s - [0:0]\n:DEFT-GO-%s - [0:0]\n", rules->tag,
                   rules->tag);
    for (size_t i = 0; i < table->n_policies; i++)
        strbuf_appendf(out, ":DEFT-P%d-%s - [0:0]\n", (int)i, rules->tag);
    append_questions(rules, out);
    append_ways(table, rules, out);
    for (size_t i = 0; i < table->n_policies; i++) {
        if (is_restricted(table, i))
            append_policy(table, i, rules, out);
    }
    strbuf_append(out, "COMMIT\n");
}
