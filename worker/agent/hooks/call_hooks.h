/*
 * The hooks before and after the model's calls.
 *
 * Ownership: call_verdicts_done() releases verdicts.
 * Threading: the conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_HOOKS_CALL_HOOKS_H
#define DEFT_WORKER_AGENT_HOOKS_CALL_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "model/event/event.h"

struct agent;
struct error;

/* What the hooks said of one call. */
struct call_verdict {
    struct uuid action_id; /* of its event, whether or not it has hooks */
    struct event_list events;
    size_t n_bytes; /* of the events' JSON */
    bool is_blocked;
    struct strbuf reason;
};

/* Of all calls of an answer, however often its events are planned. */
struct call_verdicts {
    struct call_verdict *items;
    size_t n;
};

/* clang-format off */
#define CALL_VERDICTS_INIT {NULL, 0}
/* clang-format on */

/* n calls without a verdict yet; the first one's event has that id. */
void call_verdicts_init(struct call_verdicts *verdicts, size_t n,
                        const struct uuid *first_id) NONNULL;
void call_verdicts_done(struct call_verdicts *verdicts) NONNULL;

/* Runs the PreToolUse hooks of a valid call. Errors as hook_run_all(). */
int call_hooks_before(struct agent *agent, const char *tool_name, const json_t *action,
                      struct call_verdict *verdict, struct error *err) NONNULL MUST_CHECK;
/*
 * Runs the PostToolUse hooks of a call that has an observation; adds their events, and their text
 * for the model. An interrupt or the lack of a sandbox ends them, since the result must be kept.
 * ERROR_CANCELLED for another stop, ERROR_STALE if the lease is lost.
 */
int call_hooks_after(struct agent *agent, size_t action, const json_t *observation,
                     struct event_list *events, struct strbuf *context,
                     struct error *err) NONNULL MUST_CHECK;
/* As call_hooks_after(), and adds the observation, with the hooks' text if there is any. */
int call_hooks_add_observation(struct agent *agent, size_t action, json_t *observation,
                               struct event_list *events, struct error *err) NONNULL MUST_CHECK;

#endif
