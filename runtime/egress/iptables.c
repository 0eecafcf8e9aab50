#include "runtime/egress/iptables.h"

#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/backend/command_run.h"

static int run_iptables(const char *const *argv, struct strbuf *said, struct error *err)
{
    strbuf_reset(said);
    return command_run(argv, "", said, err);
}

#define RUN(said, err, table, ...)                                                                 \
    run_iptables((const char *const[]){"iptables", "-w", "5", "-t", table, __VA_ARGS__, NULL},     \
                 said, err)

int iptables_load(const char *text, struct error *err)
{
    const char *const restore[] = {"iptables-restore", "-w", "5", "--noflush", NULL};
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;

    return command_run(restore, text, &said, err);
}

/* Names of a chain with its instance's tag, and the pattern of that instance's bridges. */
struct tagged {
    struct strbuf chain;
    struct strbuf bridges;
};

static void tagged_done(struct tagged *tagged)
{
    strbuf_done(&tagged->chain);
    strbuf_done(&tagged->bridges);
}

static struct tagged tag_names(const char *name, const char *tag)
{
    struct tagged tagged = {STRBUF_INIT, STRBUF_INIT};

    strbuf_appendf(&tagged.chain, "%s%s", name, tag);
    strbuf_appendf(&tagged.bridges, "dsb%s+", tag);
    return tagged;
}

/* True if our jump exists and precedes all that must come later. */
static bool is_in_place(const struct iptables_chain *chain, const char *own, const char *listed)
{
    CLEANUP(strbuf_done) struct strbuf own_end = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf later = STRBUF_INIT;
    const char *own_at = NULL;
    const char *later_at = NULL;

    strbuf_appendf(&own_end, " -j %s\n", own);
    own_at = strstr(listed, own_end.text);
    if (own_at == NULL || chain->in_front == NULL)
        return own_at != NULL;
    strbuf_appendf(&later, " -j %s", chain->in_front);
    later_at = strstr(listed, later.text);
    return later_at == NULL || own_at < later_at;
}

int iptables_jump(const struct iptables_chain *chain, const char *tag, struct error *err)
{
    CLEANUP(tagged_done) struct tagged own = tag_names(chain->name, tag);
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    if (RUN(&said, err, chain->table, "-S", chain->from) < 0)
        return -1;
    if (is_in_place(chain, own.chain.text, said.text))
        return 0;
    error_ignore(RUN(&said, &ignored, chain->table, "-D", chain->from, "-i", own.bridges.text, "-j",
                     own.chain.text),
                 "the rule may not exist");
    return RUN(&said, err, chain->table, "-I", chain->from, "1", "-i", own.bridges.text, "-j",
               own.chain.text);
}

static void remove_chain(const char *table, const char *chain)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    error_ignore(RUN(&said, &ignored, table, "-F", chain), "the rule may not exist");
    error_ignore(RUN(&said, &ignored, table, "-X", chain), "the rule may not exist");
}

void iptables_cut(const struct iptables_chain *chain, const char *tag)
{
    CLEANUP(tagged_done) struct tagged own = tag_names(chain->name, tag);
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct error ignored = ERROR_INIT;

    error_ignore(RUN(&said, &ignored, chain->table, "-D", chain->from, "-i", own.bridges.text, "-j",
                     own.chain.text),
                 "the rule may not exist");
    remove_chain(chain->table, own.chain.text);
}

void iptables_sweep(const char *table, const char *beginning, const char *tag)
{
    static const char word[] = "-N ";
    CLEANUP(strbuf_done) struct strbuf listed = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    const char *line = NULL;

    error_ignore(RUN(&listed, &ignored, table, "-S"), "there is nothing to remove then");
    for (line = listed.text; line[0] != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
        CLEANUP(strbuf_done) struct strbuf chain = STRBUF_INIT;

        if (!text_starts_with(line, word))
            continue;
        strbuf_append_bytes(&chain, line + sizeof(word) - 1,
                            strcspn(line, "\n") - (sizeof(word) - 1));
        if (text_starts_with(chain.text, beginning) && text_ends_with(chain.text, tag))
            remove_chain(table, chain.text);
    }
}
