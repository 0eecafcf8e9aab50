/*
 * What a guard model is asked: the calls of an answer that would run, and the last events before
 * them, as quoted text with secrets masked.
 *
 * Ownership: risk_calls_done() releases the text.
 * Threading: the agent's thread.
 */
#ifndef DEFT_WORKER_AGENT_LLM_RISK_QUESTION_H
#define DEFT_WORKER_AGENT_LLM_RISK_QUESTION_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct agent;
struct call_verdicts;
struct llm_reply;

/* Calls of an answer that can run and that no hook has blocked. */
struct risk_calls {
    struct strbuf text; /* quoted, with what the model says of them */
    size_t n;
    bool is_talk; /* a call without side effects, alone; see policy_is_talk() */
    bool is_cut;  /* the text has only their beginning */
};

/* clang-format off */
#define RISK_CALLS_INIT {STRBUF_INIT, 0, false, false}
/* clang-format on */

void risk_calls_done(struct risk_calls *calls) NONNULL;
/* Fills an empty one. */
void risk_calls_read(struct risk_calls *calls, const struct agent *agent,
                     const struct llm_reply *reply, const struct call_verdicts *verdicts) NONNULL;
/* The messages for the guard's model; guard: as analyzer_read() made it. A new reference. */
json_t *risk_question_messages(const struct agent *agent, const json_t *guard,
                               const struct risk_calls *calls) NONNULL MUST_CHECK;

#endif
