/*
 * What a stored call runs with. Its stored form may be masked; the run that received the answer
 * still has the original.
 */
#ifndef DEFT_WORKER_AGENT_CORE_CALL_ACTION_H
#define DEFT_WORKER_AGENT_CORE_CALL_ACTION_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;

/* For the model, of a call that cannot run any more: see call_is_incomplete(). */
#define CALL_WITHHELD_TEXT                                                                         \
    "The call was not run: its arguments hold the value of a secret. Such values are not stored, " \
    "and the call could not be run at once. Call again, and refer to the secret by its "           \
    "environment variable, such as \"$NAME\"."

/*
 * The action of the call at that index of the history, as the model wrote it if this run received
 * it; else as stored. Borrowed.
 */
json_t *call_action_to_run(const struct agent *agent, size_t action) NONNULL MUST_CHECK;
/* True for a call from another worker or run that lost a secret's value to masking. */
bool call_is_incomplete(const struct agent *agent, size_t action) NONNULL MUST_CHECK;

#endif
