/*
 * Models to ask instead of a conversation's own while that one is out of order: profiles of its
 * user, named in order by the LLM object's fallback_strategy.
 *
 * Threading: the conversation's thread.
 * Decision: docs/decisions/0090-fallback-models.md
 */
#ifndef DEFT_WORKER_AGENT_LLM_FALLBACK_H
#define DEFT_WORKER_AGENT_LLM_FALLBACK_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/secret.h"
#include "worker/agent/core/model.h"

struct agent;
struct llm_failure;

/* The model that a fallback asks. */
struct fallback_model {
    json_t *llm; /* of the profile */
    struct secret key;
    struct model_choice choice; /* borrows the key */
};

/* clang-format off */
#define FALLBACK_MODEL_INIT {NULL, SECRET_INIT, MODEL_CHOICE_INIT}
/* clang-format on */

void fallback_model_done(struct fallback_model *model) NONNULL;

/* Number of the conversation's fallbacks; none if a sandbox's client started it. */
size_t fallback_count(const struct agent *agent) NONNULL MUST_CHECK;
/* True if another model may succeed where one has failed like that, after its own retries. */
bool fallback_may_help(const struct llm_failure *failure) NONNULL MUST_CHECK;
/*
 * Loads the i-th fallback. False, with a line in the log, if there is no such profile, or if the
 * conversation has a budget and the price of the profile's model is unknown.
 */
bool fallback_load(const struct agent *agent, size_t i,
                   struct fallback_model *model_out) NONNULL MUST_CHECK;
/* True while the conversation's own model is not asked because it has failed a short time ago. */
bool fallback_is_resting(const struct agent *agent) NONNULL MUST_CHECK;
/* Notes that a fallback has answered: its own model is left alone for a while. */
void fallback_note_rest(struct agent *agent) NONNULL;

#endif
