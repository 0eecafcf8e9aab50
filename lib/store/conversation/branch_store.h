/*
 * Logs with several branches: going back to an earlier event, and copying a log up to an event.
 *
 * A log is never rewritten. Going back records that events appended from now on follow an earlier
 * event; the events in between are off the path and stay readable.
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
struct file_restore;
struct history;
struct strbuf;

/*
 * Continues the log after the given event; NULL: from the start, as if the log were empty.
 * Errors: ERROR_NOT_FOUND when the conversation has no such event, ERROR_CONFLICT while a run is
 * requested or in progress.
 */
int branch_store_navigate(struct db *db, const struct uuid *conversation_id, const char *event_id,
                          struct error *err) __attribute__((nonnull(1, 2, 4))) MUST_CHECK;
/* As above; the next run sets files back (NULL: it does not, also not those ordered earlier). */
int branch_store_navigate_with_files(struct db *db, const struct uuid *conversation_id,
                                     const char *event_id, const struct file_restore *restore,
                                     struct error *err)
    __attribute__((nonnull(1, 2, 5))) MUST_CHECK;

/*
 * Removes from a complete history the events off the path to its end, and the model's calls whose
 * results are off it.
 */
int branch_store_prune(struct db *db, const struct uuid *conversation_id, struct history *history,
                       struct error *err) NONNULL MUST_CHECK;

/*
 * Appends the path to the end of the log, as an int8multirange of seqs. All of the log if it has no
 * branches, or if there is no such conversation.
 */
int branch_store_find_path(struct db *db, const struct uuid *conversation_id,
                           struct strbuf *path_out, struct error *err) NONNULL MUST_CHECK;

/*
 * Appends {"items": [{"parent_event_id", "first_event_id"}]}, the newest branches (at most 1000),
 * oldest first: docs/api/branches.md.
 */
int branch_store_list(struct db *db, const struct uuid *conversation_id, struct strbuf *json_out,
                      struct error *err) NONNULL MUST_CHECK;

/* Which part of a conversation's log a copy gets. */
struct fork {
    struct uuid source_id;
    const char *from_event_id; /* its last event; NULL: the whole path */
};

/*
 * Stores a new conversation with a copy of the path to an event, and of the checkpoints up to it;
 * moves its last_seq, last_timestamp_us and leaf_event_id to the end of the copy.
 * Errors: ERROR_NOT_FOUND when the source has no such event, ERROR_CONFLICT when the new id is
 * taken.
 */
int branch_store_fork(struct db *db, const struct fork *fork, struct conversation *copy,
                      struct error *err) NONNULL MUST_CHECK;

#endif
