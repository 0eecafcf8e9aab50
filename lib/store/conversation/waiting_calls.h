/*
 * The agent's calls that the next run would execute, and which of them a client has seen. Starting
 * a run approves them, so a client that says which calls it saw is refused when other calls wait.
 *
 * Ownership: struct seen_calls borrows its list.
 */
#ifndef DEFT_STORE_CONVERSATION_WAITING_CALLS_H
#define DEFT_STORE_CONVERSATION_WAITING_CALLS_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"

struct conversation;
struct db;
struct error;
struct history;

struct seen_calls {
    const json_t *ids; /* array of texts; NULL: the client does not say, and is not refused */
    bool is_decision;  /* a decision about these calls: one of them must still be waiting */
};

/* clang-format off */
#define SEEN_CALLS_UNSAID {NULL, false}
/* clang-format on */

/*
 * Fills an empty history with the calls that have no result and are on the path to the
 * conversation's end, oldest first. Calls copied by a fork belong to its source and are left out.
 */
int open_calls_load(struct db *db, const struct conversation *conversation, struct history *open,
                    struct error *err) NONNULL MUST_CHECK;
/* As above, only calls that can be executed. */
int waiting_calls_load(struct db *db, const struct conversation *conversation,
                       struct history *waiting, struct error *err) NONNULL MUST_CHECK;

/*
 * True, with *err set to ERROR_CONFLICT with a message for the client, when an unseen call waits,
 * or when a decision comes too late.
 */
bool waiting_calls_refuse(const struct history *waiting, const struct seen_calls *seen,
                          struct error *err) NONNULL MUST_CHECK;

/*
 * False when the client does not say what it saw, or when a message has no effect on what is
 * executed: during a run, and after its end.
 */
bool waiting_calls_matter(const struct conversation *conversation,
                          const struct seen_calls *seen) NONNULL MUST_CHECK;

/*
 * Loads and checks: *is_refused_out with *err set as above. Reads nothing when
 * waiting_calls_matter() is false.
 */
int waiting_calls_check(struct db *db, const struct conversation *conversation,
                        const struct seen_calls *seen, bool *is_refused_out,
                        struct error *err) NONNULL MUST_CHECK;

#endif
