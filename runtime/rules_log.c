#include "runtime/rules_log.h"

#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "runtime/rules.h"
#include "runtime/spawn.h"
#include "runtime/tally.h"

/* Of each sandbox: a flood costs us no more than that. The rest is refused all the same. */
#define SHOWN_PER_SECOND 20
#define SHOWN_AT_ONCE 50

struct way {
    const char *from;   /* a chain of the kernel's or the engine's */
    const char *shared; /* what refuses */
};

static const struct way ways[] = {{"INPUT", "DEFT-IN"}, {"DOCKER-USER", "DEFT-OUT"}};

static void append_show(struct strbuf *out, const struct rules_log *log, enum refusal_reason reason)
{
    strbuf_appendf(out,
                   " -m hashlimit --hashlimit-name deft-%s --hashlimit-mode srcip"
                   " --hashlimit-upto %d/second --hashlimit-burst %d"
                   " -j NFLOG --nflog-group %d --nflog-prefix %s\n",
                   log->tag, SHOWN_PER_SECOND, SHOWN_AT_ONCE, log->group,
                   refusal_reason_to_string(reason));
}

static void append_begin(struct strbuf *out, const char *chain, const char *tag)
{
    strbuf_appendf(out, "-A %s-%s -m conntrack --ctstate ESTABLISHED,RELATED -j RETURN\n", chain,
                   tag);
}

void rules_log_append_text(struct strbuf *out, const struct rules_log *log, const char *resolv_conf)
{
    CLEANUP(strbuf_done) struct strbuf chain = STRBUF_INIT;

    strbuf_appendf(&chain, "DEFT-OUT-%s", log->tag);
    strbuf_appendf(out, "*filter\n:DEFT-IN-%s - [0:0]\n:%s - [0:0]\n", log->tag, chain.text);
    append_begin(out, "DEFT-IN", log->tag);
    strbuf_appendf(out, "-A DEFT-IN-%s", log->tag);
    append_show(out, log, REFUSED_HOST);
    append_begin(out, "DEFT-OUT", log->tag);
    strbuf_appendf(out, "-A %s -o " RULES_BRIDGES, chain.text);
    append_show(out, log, REFUSED_SANDBOX);
    strbuf_appendf(out, "-A %s -o " RULES_BRIDGES " -j RETURN\n", chain.text);
    rules_append_resolvers(out, chain.text, resolv_conf);
    for (size_t i = 0; i < rules_n_denied; i++) {
        strbuf_appendf(out, "-A %s -d %s", chain.text, rules_denied[i].range);
        append_show(out, log, rules_denied[i].reason);
    }
    strbuf_append(out, "COMMIT\n");
}

static int run(const char *const *argv, const char *input, struct strbuf *said, struct error *err)
{
    strbuf_reset(said);
    return spawn_run(argv, input, said, err);
}

#define RUN(said, err, ...)                                                                        \
    run((const char *const[]){"iptables", "-w", "5", __VA_ARGS__, NULL}, "", said, err)

/* True when our jump stands before the one to the chain that refuses. */
static bool is_in_front(const struct strbuf *listed, const char *own, const char *shared)
{
    CLEANUP(strbuf_done) struct strbuf own_end = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf shared_end = STRBUF_INIT;
    const char *own_at = NULL;
    const char *shared_at = NULL;

    strbuf_appendf(&own_end, " -j %s\n", own);
    strbuf_appendf(&shared_end, " -j %s\n", shared);
    own_at = strstr(listed->text, own_end.text);
    shared_at = strstr(listed->text, shared_end.text);
    return own_at != NULL && (shared_at == NULL || own_at < shared_at);
}

static int make_jump(const struct way *way, const char *tag, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf own = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf bridges = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    strbuf_appendf(&own, "%s-%s", way->shared, tag);
    strbuf_appendf(&bridges, "dsb%s+", tag);
    if (RUN(&said, err, "-S", way->from) < 0)
        return -1;
    if (is_in_front(&said, own.text, way->shared))
        return 0;
    error_ignore(RUN(&said, &ignored, "-D", way->from, "-i", bridges.text, "-j", own.text),
                 "most often it is not there");
    return RUN(&said, err, "-I", way->from, "1", "-i", bridges.text, "-j", own.text);
}

int rules_log_apply(const struct rules_log *log, struct error *err)
{
    const char *const restore[] = {"iptables-restore", "-w", "5", "--noflush", NULL};
    CLEANUP(strbuf_done) struct strbuf resolvers = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    rules_read_resolvers(&resolvers);
    rules_log_append_text(&text, log, resolvers.text);
    if (run(restore, text.text, &said, err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        if (make_jump(&ways[i], log->tag, err) < 0)
            return -1;
    }
    return 0;
}

void rules_log_remove(const char *tag)
{
    CLEANUP(strbuf_done) struct strbuf bridges = STRBUF_INIT;

    strbuf_appendf(&bridges, "dsb%s+", tag);
    for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
        CLEANUP(strbuf_done) struct strbuf own = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
        struct error ignored = ERROR_INIT;

        strbuf_appendf(&own, "%s-%s", ways[i].shared, tag);
        error_ignore(RUN(&said, &ignored, "-D", ways[i].from, "-i", bridges.text, "-j", own.text),
                     "they may not be there");
        error_ignore(RUN(&said, &ignored, "-F", own.text), "they may not be there");
        error_ignore(RUN(&said, &ignored, "-X", own.text), "they may not be there");
    }
}
