/*
 * Checkpoints: which files a conversation's workspace had at a place in its log. The files are in
 * the sandbox; a row names them there.
 *
 * Places are seqs, not paths: the files change in the order in which events are appended, whatever
 * branch of the log these are on.
 *
 * Threading: no state; any thread.
 * Decision:  docs/decisions/0101-checkpoints.md
 */
#ifndef DEFT_STORE_CONVERSATION_CHECKPOINT_STORE_H
#define DEFT_STORE_CONVERSATION_CHECKPOINT_STORE_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;
struct error;
struct lease;
struct strbuf;

/* All pointers are borrowed. */
struct checkpoint {
    int64_t seq;                 /* of the first event after it */
    struct uuid message_id;      /* the user's message that began the turn; unset: none */
    const char *runtime_session; /* of the sandbox that has the files */
    const char *runtime_id;
    const char *tree;      /* NULL: none could be taken */
    const json_t *details; /* {"n_files", "n_skipped", "skipped": [{"path", "reason"}], "reason"} */
};

/*
 * Stores a checkpoint unless there is one of that seq. ERROR_STALE, with nothing stored, if the
 * lease is lost.
 */
int checkpoint_store_add(struct db *db, const struct lease *lease,
                         const struct checkpoint *checkpoint, struct error *err) NONNULL MUST_CHECK;
/* The seq of the conversation's newest checkpoint, 0 if there is none. */
int checkpoint_store_last(struct db *db, const struct uuid *conversation_id, int64_t *seq_out,
                          struct error *err) NONNULL MUST_CHECK;
/*
 * Appends {"items": […]}, the newest checkpoints (at most 1000), oldest first: docs/api/
 * checkpoints.md.
 */
int checkpoint_store_list(struct db *db, const struct uuid *conversation_id,
                          struct strbuf *json_out, struct error *err) NONNULL MUST_CHECK;

enum checkpoint_state {
    CHECKPOINT_IS_PRESENT, /* no call since then has changed files */
    CHECKPOINT_IS_STORED,
    CHECKPOINT_IS_MISSING, /* there is none */
};

/* The files as they were at an event. */
struct found_checkpoint {
    enum checkpoint_state state;
    char *runtime_session; /* the others are of a stored one */
    char *runtime_id;
    char *tree;
    char *reason; /* of a missing one, or NULL */
};

/* clang-format off */
#define FOUND_CHECKPOINT_INIT {CHECKPOINT_IS_MISSING, NULL, NULL, NULL, NULL}
/* clang-format on */

void found_checkpoint_done(struct found_checkpoint *found);
/*
 * Finds the files as they were after an event: those of the first checkpoint after it if no call
 * changed files before that was taken, else those at the start of the event's turn. event_id: NULL
 * is the start of the log. ERROR_NOT_FOUND if the conversation has no such event.
 */
int checkpoint_store_find(struct db *db, const struct uuid *conversation_id, const char *event_id,
                          struct found_checkpoint *found_out, struct error *err)
    __attribute__((nonnull(1, 2, 4, 5))) MUST_CHECK;

#endif
