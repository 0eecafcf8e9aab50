/*
 * Running the hooks of one event of a conversation.
 *
 * A command runs in the sandbox, under an id made from the conversation, what the event is about
 * and the hook's place: a worker that takes over finds its result there instead of running it
 * again. A hook that fails, or that cannot be run, blocks nothing.
 *
 * Ownership: hook_outcome_done() releases the outcome's texts.
 * Threading: the conversation's thread.
 * Decision: docs/decisions/0089-hooks.md
 */
#ifndef DEFT_WORKER_AGENT_HOOKS_HOOK_RUN_H
#define DEFT_WORKER_AGENT_HOOKS_HOOK_RUN_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "model/agent/hook_match.h"

struct agent;
struct error;
struct event_list;

/* One event at which hooks run. Texts and JSON are borrowed. */
struct hook_occasion {
    enum hook_event event;
    const char *subject;         /* id of what it is about, which is not repeated */
    const char *action_id;       /* of the call that it is about, or NULL */
    const char *message_id;      /* of the message that it is about, or NULL */
    const char *tool_name;       /* NULL: not about a call */
    const json_t *tool_input;    /* NULL: not about a call */
    const json_t *tool_response; /* NULL: the call has no result yet */
    const char *message;         /* what was said; NULL: not about a message */
};

struct hook_outcome {
    bool is_blocked;
    struct strbuf reason;  /* of the block */
    struct strbuf context; /* text for the model, of all hooks; as long as one may print */
};

/* clang-format off */
#define HOOK_OUTCOME_INIT {false, STRBUF_INIT, STRBUF_INIT}
/* clang-format on */

void hook_outcome_done(struct hook_outcome *outcome) NONNULL;

/* True if the conversation has a hook for the event. */
bool hook_run_has(const struct agent *agent, enum hook_event event) NONNULL MUST_CHECK;
/*
 * Runs the hooks of the event one after the other, and adds a HookExecutionEvent for each, of a
 * size that can be stored, and the request of each that asks for a reading of the workspace. The
 * first one that blocks ends this, except at events that cannot be blocked: PostToolUse and
 * SessionStart. ERROR_CANCELLED after a stop request, ERROR_STALE if the lease is lost,
 * ERROR_UNAVAILABLE if there is no sandbox, with a message for the user.
 */
int hook_run_all(struct agent *agent, const struct hook_occasion *occasion,
                 struct event_list *events, struct hook_outcome *outcome,
                 struct error *err) NONNULL MUST_CHECK;
/* After the events are stored: the sandbox need not keep the results. */
void hook_run_acknowledge(struct agent *agent, const struct event_list *events) NONNULL;

#endif
