#include "sandbox/ports/mcp_programs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/uuid.h"
#include "sandbox/core/action_config.h"
#include "sandbox/ports/mcp_command.h"
#include "sandbox/ports/mcp_process.h"
#include "sandbox/ports/mcp_program.h"

struct mcp_entry {
    struct uuid conversation;
    char *server;
    char digest[CRYPTO_HASH_HEX_BYTES]; /* of its configuration, which contains secrets */
    struct mcp_program *program;
    TAILQ_ENTRY(mcp_entry) entry;
};

TAILQ_HEAD(mcp_entry_list, mcp_entry);

struct mcp_programs {
    struct event_loop *loop;
    const struct action_config *config;
    struct mcp_processes *processes;
    struct mcp_entry_list list;
    size_t n;
};

struct mcp_programs *mcp_programs_new(struct event_loop *loop, const struct action_config *config)
{
    struct mcp_programs *programs = NEW(struct mcp_programs);

    programs->loop = loop;
    programs->config = config;
    programs->processes = mcp_processes_new(loop);
    TAILQ_INIT(&programs->list);
    return programs;
}

static void remove_entry(struct mcp_programs *programs, struct mcp_entry *entry)
{
    TAILQ_REMOVE(&programs->list, entry, entry);
    programs->n--;
    mcp_program_free(entry->program);
    mem_free(entry->server);
    mem_free(entry);
}

void mcp_programs_free(struct mcp_programs *programs)
{
    if (programs == NULL)
        return;
    while (!TAILQ_EMPTY(&programs->list))
        remove_entry(programs, TAILQ_FIRST(&programs->list));
    mcp_processes_free(programs->processes);
    mem_free(programs);
}

static void on_over(void *owner, struct mcp_program *program)
{
    struct mcp_programs *programs = owner;
    struct mcp_entry *entry = NULL;

    TAILQ_FOREACH (entry, &programs->list, entry) {
        if (entry->program != program)
            continue;
        remove_entry(programs, entry);
        return;
    }
}

static void digest_of(const struct mcp_program_order *order, char digest[CRYPTO_HASH_HEX_BYTES])
{
    static const char *const members[] = {"command", "args", "env", "cwd"};
    json_auto_t *what = json_object();
    char *text = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put(what, members[i], json_incref(json_object_get(order->order, members[i])));
    json_put_text(what, "working_dir", order->working_dir);
    text = json_dumps(what, JSON_COMPACT | JSON_SORT_KEYS);
    if (text == NULL)
        abort(); /* it was parsed from text */
    crypto_sha256_hex(text, strlen(text), digest);
    explicit_bzero(text, strlen(text));
    mem_free(text);
}

static bool is_server(const struct mcp_entry *entry, const struct mcp_program_order *order)
{
    return text_equal(entry->conversation.text, order->conversation->text) &&
           text_equal(entry->server, order->server);
}

/* It ends after its calls. No configuration has its digest, so it gets no new ones. */
static void retire(struct mcp_entry *entry)
{
    entry->digest[0] = '\0';
    mcp_program_retire(entry->program);
}

/* The living program of that configuration, or NULL; ends the others of that server. */
static struct mcp_entry *find_entry(struct mcp_programs *programs,
                                    const struct mcp_program_order *order, const char *digest)
{
    struct mcp_entry *found = NULL;
    struct mcp_entry *entry = TAILQ_FIRST(&programs->list);

    while (entry != NULL) {
        struct mcp_entry *next = TAILQ_NEXT(entry, entry);

        if (is_server(entry, order)) {
            if (text_equal(entry->digest, digest))
                found = entry;
            else
                retire(entry);
        }
        entry = next;
    }
    return found;
}

/* Makes room for another program, if one is idle. */
static void drop_idle(struct mcp_programs *programs)
{
    struct mcp_entry *entry = NULL;
    struct mcp_entry *oldest = NULL;

    TAILQ_FOREACH (entry, &programs->list, entry) {
        if (mcp_program_n_calls(entry->program) == 0 &&
            (oldest == NULL || mcp_program_idle_since_ms(entry->program) <
                                   mcp_program_idle_since_ms(oldest->program)))
            oldest = entry;
    }
    if (oldest != NULL)
        remove_entry(programs, oldest);
}

static int add_entry(struct mcp_programs *programs, const struct mcp_program_order *order,
                     const char *digest, struct mcp_entry **entry_out, struct error *err)
{
    const struct mcp_command command = {.order = order->order,
                                        .workspace = programs->config->workspace,
                                        .working_dir = order->working_dir,
                                        .ends_with_server = true};
    const struct mcp_program_spec spec = {.loop = programs->loop,
                                          .processes = programs->processes,
                                          .command = &command,
                                          .idle_ms = programs->config->mcp_idle_ms,
                                          .over = on_over,
                                          .owner = programs};
    struct mcp_program *program = NULL;
    struct mcp_entry *entry = NULL;

    if (programs->n >= MCP_PROGRAMS_MAX)
        drop_idle(programs);
    if (programs->n >= MCP_PROGRAMS_MAX)
        return error_set(err, ERROR_RATE_LIMITED, "Too many MCP servers run in this sandbox");
    if (mcp_program_start(&spec, &program, err) < 0)
        return -1;
    entry = NEW(struct mcp_entry);
    entry->conversation = *order->conversation;
    entry->server = mem_dup_text(order->server);
    memcpy(entry->digest, digest, sizeof(entry->digest));
    entry->program = program;
    TAILQ_INSERT_TAIL(&programs->list, entry, entry);
    programs->n++;
    *entry_out = entry;
    return 0;
}

int mcp_programs_call(struct mcp_programs *programs, const struct mcp_program_order *order,
                      const struct mcp_call_spec *spec, struct mcp_call **call_out,
                      struct error *err)
{
    char digest[CRYPTO_HASH_HEX_BYTES];
    struct mcp_entry *entry = NULL;

    digest_of(order, digest);
    entry = find_entry(programs, order, digest);
    /* Nothing has been sent yet, so that a new one can have the call. */
    if (entry != NULL && mcp_program_is_dead(entry->program)) {
        retire(entry);
        entry = NULL;
    }
    if (entry == NULL && add_entry(programs, order, digest, &entry, err) < 0)
        return -1;
    return mcp_program_call(entry->program, spec, call_out, err);
}

void mcp_programs_end(struct mcp_programs *programs, const struct uuid *conversation)
{
    struct mcp_entry *entry = TAILQ_FIRST(&programs->list);

    while (entry != NULL) {
        struct mcp_entry *next = TAILQ_NEXT(entry, entry);

        if (text_equal(entry->conversation.text, conversation->text))
            remove_entry(programs, entry);
        entry = next;
    }
}
