/*
 * Files that a conversation's next run sets back before anything else: the order for it, which
 * waits in agent_state.
 *
 * Ownership: an order borrows its texts from the state that it was read from.
 * Threading: no state.
 * Decision:  docs/decisions/0101-checkpoints.md
 */
#ifndef DEFT_MODEL_CONVERSATION_FILE_RESTORE_H
#define DEFT_MODEL_CONVERSATION_FILE_RESTORE_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct file_restore {
    const char *id; /* a uuid, new for each order */
    /* A checkpoint that was found, and the sandbox that has it; else all NULL. */
    const char *tree;
    const char *runtime_session;
    const char *runtime_id;
    /* Else the conversation and the event whose files are wanted, to be found by the run. */
    const char *source_id;
    const char *event_id; /* NULL: the start of the log */
    bool is_required;     /* the client asked for it: without the files the run ends */
};

/* Replaces the order in an agent_state. */
void file_restore_set(json_t *agent_state, const struct file_restore *order) NONNULL;
void file_restore_clear(json_t *agent_state) __attribute__((nonnull(1)));
/* Reads the order; false if there is none. agent_state: NULL has none. */
bool file_restore_read(const json_t *agent_state, struct file_restore *order_out)
    __attribute__((nonnull(2))) MUST_CHECK;

#endif
