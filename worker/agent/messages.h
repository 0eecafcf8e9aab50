/*
 * The stored history as messages for a chat model: the system prompt, what the user and the
 * framework said, each answer of the model as one assistant message with all its calls, and behind
 * it all their results in call order, whatever was said in between.
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_MESSAGES_H
#define DEFT_WORKER_AGENT_MESSAGES_H

#include <jansson.h>

#include "base/attr.h"

struct history;

/* An array in OpenAI Chat form, content as lists of parts. A new reference. */
json_t *messages_from_history(const struct history *history) NONNULL MUST_CHECK;

#endif
