#include "runtime/egress/firewall.h"

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/command_run.h"

#define BRIDGES FIREWALL_BRIDGES

/* Ranges that no sandbox may reach: RFC 6890, and non-unicast ranges. */
const struct denied_range firewall_denied[] = {
    {"0.0.0.0/8", DENIED_RESERVED},        {"10.0.0.0/8", DENIED_PRIVATE},
    {"100.64.0.0/10", DENIED_PRIVATE},     {"127.0.0.0/8", DENIED_RESERVED},
    {"169.254.0.0/16", DENIED_LINK_LOCAL}, {"172.16.0.0/12", DENIED_PRIVATE},
    {"192.0.0.0/24", DENIED_RESERVED},     {"192.0.2.0/24", DENIED_RESERVED},
    {"192.88.99.0/24", DENIED_RESERVED},   {"192.168.0.0/16", DENIED_PRIVATE},
    {"198.18.0.0/15", DENIED_RESERVED},    {"198.51.100.0/24", DENIED_RESERVED},
    {"203.0.113.0/24", DENIED_RESERVED},   {"224.0.0.0/4", DENIED_RESERVED},
    {"240.0.0.0/4", DENIED_RESERVED},
};
const size_t firewall_n_denied = ARRAY_SIZE(firewall_denied);

void firewall_append_rules(struct strbuf *out)
{
    strbuf_append(out, "*filter\n:DEFT-IN - [0:0]\n:DEFT-OUT - [0:0]\n");
    /* To the host: only replies to connections from the host. */
    strbuf_append(out, "-A DEFT-IN -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT\n"
                       "-A DEFT-IN -j REJECT\n");
    strbuf_append(out, "-A DEFT-OUT -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n"
                       "-A DEFT-OUT -o " BRIDGES " -j REJECT\n");
    for (size_t i = 0; i < firewall_n_denied; i++)
        strbuf_appendf(out, "-A DEFT-OUT -d %s -j REJECT\n", firewall_denied[i].range);
    strbuf_append(out, "-A DEFT-OUT -j RETURN\nCOMMIT\n");
}

/* Sandboxes have no IPv6; packets to the bridge's link-local address are dropped too. */
static const char rules6[] = "*filter\n:DEFT-IN - [0:0]\n:DEFT-OUT - [0:0]\n"
                             "-A DEFT-IN -j DROP\n-A DEFT-OUT -j DROP\nCOMMIT\n";

size_t firewall_jump_number(const char *listed)
{
    size_t n_rules = 0;
    size_t last = 0;

    for (const char *line = listed; line[0] != '\0';) {
        size_t len = strcspn(line, "\n");

        if (text_starts_with(line, "-A "))
            n_rules++;
        if (memmem(line, len, " -j DEFT-", strlen(" -j DEFT-")) != NULL)
            last = n_rules;
        line += len;
        line += line[0] == '\n';
    }
    return last + 1;
}

static int run_tool(const char *const *argv, const char *input, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    return command_run(argv, input, &said, err);
}

#define RUN(err, ...) run_tool((const char *const[]){__VA_ARGS__, NULL}, "", err)

static int make_chain(const char *tool, const char *chain, struct error *err)
{
    struct error missing = ERROR_INIT;

    if (RUN(&missing, tool, "-w", "5", "-n", "-L", chain) == 0)
        return 0;
    return RUN(err, tool, "-w", "5", "-N", chain);
}

/* Inserts the jump if it is missing, in front of all rules that are not of deft. */
static int make_jump(const char *tool, const char *from, const char *to, struct error *err)
{
    const char *const list[] = {tool, "-w", "5", "-S", from, NULL};
    CLEANUP(strbuf_done) struct strbuf listed = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf number = STRBUF_INIT;
    struct error missing = ERROR_INIT;

    if (RUN(&missing, tool, "-w", "5", "-C", from, "-i", BRIDGES, "-j", to) == 0)
        return 0;
    if (command_run(list, "", &listed, err) < 0)
        return -1;
    strbuf_appendf(&number, "%zu", firewall_jump_number(listed.text));
    return RUN(err, tool, "-w", "5", "-I", from, number.text, "-i", BRIDGES, "-j", to);
}

/* The engine creates DOCKER-USER and jumps to it first; if no engine has yet, we do. */
static int make_user_chain(struct error *err)
{
    struct error missing = ERROR_INIT;

    if (make_chain("iptables", "DOCKER-USER", err) < 0)
        return -1;
    if (RUN(&missing, "iptables", "-w", "5", "-C", "FORWARD", "-j", "DOCKER-USER") == 0)
        return 0;
    return RUN(err, "iptables", "-w", "5", "-I", "FORWARD", "1", "-j", "DOCKER-USER");
}

static int apply_ipv4(const char *text, struct error *err)
{
    const char *const restore[] = {"iptables-restore", "-w", "5", "--noflush", NULL};

    if (run_tool(restore, text, err) < 0 || make_user_chain(err) < 0)
        return -1;
    if (make_jump("iptables", "INPUT", "DEFT-IN", err) < 0)
        return -1;
    return make_jump("iptables", "DOCKER-USER", "DEFT-OUT", err);
}

static int apply_ipv6(struct error *err)
{
    const char *const restore[] = {"ip6tables-restore", "-w", "5", "--noflush", NULL};

    /* A kernel without IPv6 has no ip6tables. */
    if (access("/proc/net/if_inet6", F_OK) != 0)
        return 0;
    if (run_tool(restore, rules6, err) < 0)
        return -1;
    if (make_jump("ip6tables", "INPUT", "DEFT-IN", err) < 0)
        return -1;
    return make_jump("ip6tables", "FORWARD", "DEFT-OUT", err);
}

int firewall_apply(struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    firewall_append_rules(&text);
    if (apply_ipv4(text.text, err) < 0 || apply_ipv6(err) < 0)
        return error_wrap(err, "network rules");
    return 0;
}
