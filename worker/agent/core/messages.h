/*
 * The stored history as messages for a chat model: the system prompt, what the user and the
 * framework said, each answer of the model as one assistant message with all its calls, and behind
 * it all their results in call order, whatever was said in between.
 *
 * Threading: pure.
 */
#ifndef DEFT_WORKER_AGENT_CORE_MESSAGES_H
#define DEFT_WORKER_AGENT_CORE_MESSAGES_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct history;

/* How far a history's messages are settled: no later event changes them or comes before them. */
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

/* The whole history in its own order: for who adds a last word of the user's. */
void messages_append_as_said(json_t *messages, const struct history *history) NONNULL;
/* {"role":"system", …} with these words. A new reference. */
json_t *messages_system(const char *text) NONNULL MUST_CHECK;
/* Appends what a user says, to the last message when that is the user's, too. */
void messages_append_user(json_t *messages, const char *text) NONNULL;

#endif
