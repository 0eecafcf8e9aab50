#include "runtime/rules.h"

#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/spawn.h"

#define BRIDGES RULES_BRIDGES
#define RESOLV_MAX_BYTES (64UL * 1024)

/* Where a sandbox may not go: RFC 6890, and what is not unicast. */
const struct denied_range rules_denied[] = {
    {"0.0.0.0/8", REFUSED_RESERVED},        {"10.0.0.0/8", REFUSED_PRIVATE},
    {"100.64.0.0/10", REFUSED_PRIVATE},     {"127.0.0.0/8", REFUSED_RESERVED},
    {"169.254.0.0/16", REFUSED_LINK_LOCAL}, {"172.16.0.0/12", REFUSED_PRIVATE},
    {"192.0.0.0/24", REFUSED_RESERVED},     {"192.0.2.0/24", REFUSED_RESERVED},
    {"192.88.99.0/24", REFUSED_RESERVED},   {"192.168.0.0/16", REFUSED_PRIVATE},
    {"198.18.0.0/15", REFUSED_RESERVED},    {"198.51.100.0/24", REFUSED_RESERVED},
    {"203.0.113.0/24", REFUSED_RESERVED},   {"224.0.0.0/4", REFUSED_RESERVED},
    {"240.0.0.0/4", REFUSED_RESERVED},
};
const size_t rules_n_denied = ARRAY_SIZE(rules_denied);

/* What is said of the engine's name servers: both files, since the first may point to loopback. */
static const char *const resolver_files[] = {"/etc/resolv.conf",
                                             "/run/systemd/resolve/resolv.conf"};

static void append_resolver(struct strbuf *out, const char *chain, const char *address)
{
    struct in_addr parsed = {0};

    if (inet_pton(AF_INET, address, &parsed) != 1)
        return;
    strbuf_appendf(out, "-A %s -d %s -p udp --dport 53 -j RETURN\n", chain, address);
    strbuf_appendf(out, "-A %s -d %s -p tcp --dport 53 -j RETURN\n", chain, address);
}

/* "nameserver 192.0.2.1", a line each; resolv.conf(5). */
void rules_append_resolvers(struct strbuf *out, const char *chain, const char *resolv_conf)
{
    static const char word[] = "nameserver";
    const char *line = resolv_conf;

    while (line != NULL && *line != '\0') {
        const char *next = strchr(line, '\n');
        char address[INET_ADDRSTRLEN] = "";
        size_t len = 0;

        if (strncmp(line, word, sizeof(word) - 1) == 0) {
            line += sizeof(word) - 1;
            line += strspn(line, " \t");
            len = strcspn(line, " \t\r\n#;");
            if (len < sizeof(address))
                memcpy(address, line, len);
            append_resolver(out, chain, address);
        }
        line = next != NULL ? next + 1 : NULL;
    }
}

void rules_append_text(struct strbuf *out, const char *resolv_conf)
{
    strbuf_append(out, "*filter\n:DEFT-IN - [0:0]\n:DEFT-OUT - [0:0]\n");
    /* To the host: only answers to what the host itself asked. */
    strbuf_append(out, "-A DEFT-IN -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT\n"
                       "-A DEFT-IN -j REJECT\n");
    strbuf_append(out, "-A DEFT-OUT -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n"
                       "-A DEFT-OUT -o " BRIDGES " -j REJECT\n");
    rules_append_resolvers(out, "DEFT-OUT", resolv_conf);
    for (size_t i = 0; i < rules_n_denied; i++)
        strbuf_appendf(out, "-A DEFT-OUT -d %s -j REJECT\n", rules_denied[i].range);
    strbuf_append(out, "-A DEFT-OUT -j RETURN\nCOMMIT\n");
}

/* Sandboxes have no IPv6; a bridge's own link-local address is no way in either. */
static const char rules6[] = "*filter\n:DEFT-IN - [0:0]\n:DEFT-OUT - [0:0]\n"
                             "-A DEFT-IN -j DROP\n-A DEFT-OUT -j DROP\nCOMMIT\n";

static int run(const char *const *argv, const char *input, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    return spawn_run(argv, input, &said, err);
}

#define RUN(err, ...) run((const char *const[]){__VA_ARGS__, NULL}, "", err)

static int make_chain(const char *tool, const char *chain, struct error *err)
{
    struct error missing = ERROR_INIT;

    if (RUN(&missing, tool, "-w", "5", "-n", "-L", chain) == 0)
        return 0;
    return RUN(err, tool, "-w", "5", "-N", chain);
}

/* Puts the jump in front where it is missing. */
static int make_jump(const char *tool, const char *from, const char *to, struct error *err)
{
    struct error missing = ERROR_INIT;

    if (RUN(&missing, tool, "-w", "5", "-C", from, "-i", BRIDGES, "-j", to) == 0)
        return 0;
    return RUN(err, tool, "-w", "5", "-I", from, "1", "-i", BRIDGES, "-j", to);
}

/* The engine makes DOCKER-USER and goes through it first; without an engine so far, we do. */
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

    if (run(restore, text, err) < 0 || make_user_chain(err) < 0)
        return -1;
    if (make_jump("iptables", "INPUT", "DEFT-IN", err) < 0)
        return -1;
    return make_jump("iptables", "DOCKER-USER", "DEFT-OUT", err);
}

static int apply_ipv6(struct error *err)
{
    const char *const restore[] = {"ip6tables-restore", "-w", "5", "--noflush", NULL};

    /* A kernel without IPv6 has no tables for it. */
    if (access("/proc/net/if_inet6", F_OK) != 0)
        return 0;
    if (run(restore, rules6, err) < 0)
        return -1;
    if (make_jump("ip6tables", "INPUT", "DEFT-IN", err) < 0)
        return -1;
    return make_jump("ip6tables", "FORWARD", "DEFT-OUT", err);
}

void rules_read_resolvers(struct strbuf *resolv_conf)
{
    struct error ignored = ERROR_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(resolver_files); i++) {
        error_ignore(file_read(resolver_files[i], RESOLV_MAX_BYTES, resolv_conf, &ignored),
                     "a host may have either file, or none");
        strbuf_append(resolv_conf, "\n");
    }
}

int rules_apply(struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf resolvers = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    rules_read_resolvers(&resolvers);
    rules_append_text(&text, resolvers.text);
    if (apply_ipv4(text.text, err) < 0 || apply_ipv6(err) < 0)
        return error_wrap(err, "network rules");
    return 0;
}
