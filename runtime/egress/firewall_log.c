#include "runtime/egress/firewall_log.h"

#include "base/error.h"
#include "base/strbuf.h"
#include "runtime/egress/denial_counter.h"
#include "runtime/egress/firewall.h"
#include "runtime/egress/iptables.h"

/* Limits for each sandbox, against floods. Packets above them are refused but not reported. */
#define SHOWN_PER_SECOND 20
#define SHOWN_AT_ONCE 50

static const struct iptables_chain chains[] = {
    {"filter", "INPUT", "DEFT-IN-", "DEFT-IN\n"},
    {"filter", "DOCKER-USER", "DEFT-OUT-", "DEFT-OUT\n"},
};

void firewall_log_append_show(struct strbuf *out, const struct firewall_log *log,
                              enum denial_reason reason)
{
    strbuf_appendf(out,
                   " -m hashlimit --hashlimit-name deft-%s --hashlimit-mode srcip"
                   " --hashlimit-upto %d/second --hashlimit-burst %d"
                   " -j NFLOG --nflog-group %d --nflog-prefix %s\n",
                   log->tag, SHOWN_PER_SECOND, SHOWN_AT_ONCE, log->group,
                   denial_reason_to_string(reason));
}

static void append_begin(struct strbuf *out, const char *chain, const char *tag)
{
    strbuf_appendf(out, "-A %s-%s -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n", chain,
                   tag);
}

void firewall_log_append_text(struct strbuf *out, const struct firewall_log *log)
{
    CLEANUP(strbuf_done) struct strbuf chain = STRBUF_INIT;

    strbuf_appendf(&chain, "DEFT-OUT-%s", log->tag);
    strbuf_appendf(out, "*filter\n:DEFT-IN-%s - [0:0]\n:%s - [0:0]\n", log->tag, chain.text);
    append_begin(out, "DEFT-IN", log->tag);
    strbuf_appendf(out, "-A DEFT-IN-%s", log->tag);
    firewall_log_append_show(out, log, DENIED_HOST);
    append_begin(out, "DEFT-OUT", log->tag);
    strbuf_appendf(out, "-A %s -o " FIREWALL_BRIDGES, chain.text);
    firewall_log_append_show(out, log, DENIED_SANDBOX);
    strbuf_appendf(out, "-A %s -o " FIREWALL_BRIDGES " -j RETURN\n", chain.text);
    for (size_t i = 0; i < firewall_n_denied; i++) {
        strbuf_appendf(out, "-A %s -d %s", chain.text, firewall_denied[i].range);
        firewall_log_append_show(out, log, firewall_denied[i].reason);
    }
    strbuf_append(out, "COMMIT\n");
}

int firewall_log_apply(const struct firewall_log *log, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    firewall_log_append_text(&text, log);
    if (iptables_load(text.text, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
        if (iptables_jump(&chains[i], log->tag, err) < 0)
            return -1;
    }
    return 0;
}

void firewall_log_remove(const char *tag)
{
    for (size_t i = 0; i < ARRAY_SIZE(chains); i++)
        iptables_cut(&chains[i], tag);
}
