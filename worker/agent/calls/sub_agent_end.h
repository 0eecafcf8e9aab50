/*
 * How a sub-agent's run ended: its words for its caller, and its cost.
 *
 * Threading: the conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_SUB_AGENT_END_H
#define DEFT_WORKER_AGENT_CALLS_SUB_AGENT_END_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct conversation;
struct error;
struct event_list;
struct strbuf;
struct uuid;

/* That many characters fit into an event even if each is escaped in JSON. */
enum { SUB_AGENT_WORDS_MAX_CHARS = 100000 };

/*
 * Appends its last message since its work was given, at most max_chars of it, or why there is none.
 * child: NULL: its conversation was deleted. Errors as database_retry().
 */
int sub_agent_end_append(struct agent *agent, const struct conversation *child, size_t max_chars,
                         struct strbuf *out, struct error *err)
    __attribute__((nonnull(1, 4, 5))) MUST_CHECK;
/*
 * Sets its total cost in the caller's stats, under that usage id. It is set rather than added, so
 * that reporting it twice counts once.
 */
void sub_agent_end_set_cost(struct agent *agent, const char *usage_id,
                            const struct conversation *child) NONNULL;

struct sub_agent_result {
    json_t *observation;
    json_t *state;            /* the new agent_state; NULL: unchanged */
    const struct uuid *ended; /* sub-agents that are no longer waited for */
    size_t n_ended;
};
/*
 * Stores the result of the call at that index of the history after the events, with the agent's
 * stats and with the texts of hooks. Errors as event_writer_append().
 */
int sub_agent_end_store(struct agent *agent, size_t action, const struct sub_agent_result *result,
                        struct event_list *events, struct error *err) NONNULL MUST_CHECK;

#endif
