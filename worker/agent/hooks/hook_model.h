/*
 * Hooks that ask the conversation's model: of the type prompt with one call, of the type agent with
 * a few calls, between which it may read files (hook_tools.h).
 *
 * Nothing of it is stored but the cost, at once: a worker that takes over asks anew.
 *
 * Threading: the conversation's thread.
 * Decision: docs/decisions/0103-hooks-that-ask-a-model.md
 */
#ifndef DEFT_WORKER_AGENT_HOOKS_HOOK_MODEL_H
#define DEFT_WORKER_AGENT_HOOKS_HOOK_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct error;
struct strbuf;
struct uuid;

/* All borrowed. */
struct model_hook {
    const json_t *hook;
    bool is_agent;
    const char *event_name;
    const char *input_text;
    const struct uuid *id; /* of the execution */
    int64_t timeout_s;     /* for all of it */
};

/*
 * Appends the model's answer, or to *problem why there is none: the model or a budget refused, or
 * the time was over. ERROR_CANCELLED after a stop request, ERROR_STALE if the lease is lost,
 * ERROR_UNAVAILABLE if tools need a sandbox and there is none.
 */
int hook_model_ask(struct agent *agent, const struct model_hook *hook, struct strbuf *answer,
                   struct strbuf *problem, struct error *err) NONNULL MUST_CHECK;

#endif
