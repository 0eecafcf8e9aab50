/*
 * Logs with more than one end: going back to an earlier event, and copying a log up to one.
 *
 * A log is never rewritten. Whoever goes back leaves a note that what is appended from now on
 * stands behind an earlier event; what stood between is off the path, and stays readable.
 *
 * Threading: no state; any thread.
 */
#ifndef DEFT_STORE_CONVERSATION_BRANCH_STORE_H
#define DEFT_STORE_CONVERSATION_BRANCH_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"

struct conversation;
struct db;
struct error;
struct history;

/*
 * Makes an event the one behind which the log goes on; NULL: as if nothing had been said. Errors:
 * ERROR_NOT_FOUND when the conversation has no such event, ERROR_CONFLICT while a run is asked for
 * or under way.
 */
int branch_store_navigate(struct db *db, const struct uuid *conversation_id, const char *event_id,
                          struct error *err) __attribute__((nonnull(1, 2, 4))) MUST_CHECK;

/*
 * Takes out of a whole history what is off the path to its end, and the calls of the model whose
 * results are.
 */
int branch_store_prune(struct db *db, const struct uuid *conversation_id, struct history *history,
                       struct error *err) NONNULL MUST_CHECK;

/* What becomes of a conversation's log in a copy. */
struct fork {
    struct uuid source_id;
    const char *from_event_id; /* its last event; NULL: the whole path */
};

/*
 * Stores a new conversation with a copy of the path to an event; moves its last_seq,
 * last_timestamp_us and leaf_event_id to the copy's end. Errors: ERROR_NOT_FOUND when the source
 * has no such event, ERROR_CONFLICT when the new id is taken.
 */
int branch_store_fork(struct db *db, const struct fork *fork, struct conversation *copy,
                      struct error *err) NONNULL MUST_CHECK;

#endif
