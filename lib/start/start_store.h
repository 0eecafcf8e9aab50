/*
 * Last stage of a start: stores the conversation with its first message in one transaction.
 *
 * A conversation that is to have a git worktree of its own is stored without the message, together
 * with a job that adds the worktree and then stores the message: the first events depend on the
 * working directory.
 *
 * Threading: no state.
 * Decision:  docs/decisions/0073-worktree-jobs.md
 */
#ifndef DEFT_START_START_STORE_H
#define DEFT_START_START_STORE_H

#include "base/attr.h"
#include "start/start_rows.h"

struct error;
struct start_context;
struct start_plan;

enum start_outcome {
    START_STORED,
    START_PENDING, /* stored; a job with the conversation's id as key adds the worktree */
    START_EXISTED, /* the caller's user has a conversation of that id; nothing was written */
};

/*
 * ERROR_RATE_LIMITED when the user can request no further run. start_store_order() checks this
 * itself; for callers that prepare more than rows, or write them in their own transaction.
 */
int start_check_quota(const struct start_context *context, struct error *err) NONNULL MUST_CHECK;
/*
 * Stores; the conversation is then as stored. ERROR_RATE_LIMITED: the user can request no further
 * run. ERROR_CONFLICT: the id is another user's.
 */
int start_store_order(const struct start_context *context, const struct start_order *order,
                      enum start_outcome *outcome_out, struct error *err) NONNULL MUST_CHECK;
/* Seals the plan's secrets; the order of its conversation, which borrows from the plan. */
struct start_order start_order_of(const struct start_context *context,
                                  struct start_plan *plan) NONNULL MUST_CHECK;
/* Stores a plan. */
int start_store(const struct start_context *context, struct start_plan *plan,
                enum start_outcome *outcome_out, struct error *err) NONNULL MUST_CHECK;

#endif
