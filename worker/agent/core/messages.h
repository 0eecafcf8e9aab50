/*
 * Converts the stored history to messages for a chat model: the system prompt, messages of the user
 * and the framework, and each model answer as one assistant message with all its calls, followed by
 * all their results in call order, even if other messages came in between.
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_CORE_MESSAGES_H
#define DEFT_WORKER_AGENT_CORE_MESSAGES_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct history;

/* How far a history's messages are final: no later event changes them or comes before them. */
struct messages_mark {
    size_t n_events;   /* of the history */
    size_t n_messages; /* of the array */
};

/*
 * Appends the messages of the history from event `first` on, which is 0 or an earlier mark's
 * n_events: in OpenAI Chat form, content as lists of parts.
 */
struct messages_mark messages_append(json_t *messages, const struct history *history,
                                     size_t first) NONNULL;

/* Appends the whole history in stored order, for callers that add a final user message. */
void messages_append_as_said(json_t *messages, const struct history *history) NONNULL;
/* {"role":"system", …} with this text. A new reference. */
json_t *messages_system(const char *text) NONNULL MUST_CHECK;
/* Appends text as a user message, merging it into the last message if that is also the user's. */
void messages_append_user(json_t *messages, const char *text) NONNULL;

#endif
