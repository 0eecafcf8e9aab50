/*
 * Waits until a worker has added the git worktree of a new conversation.
 */
#ifndef DEFT_FCGI_AGENT_CONVERSATION_WORKTREE_H
#define DEFT_FCGI_AGENT_CONVERSATION_WORKTREE_H

#include "base/attr.h"
#include "start/start_store.h"

struct conversation;
struct error;
struct request;
struct start_context;

/*
 * start_store_order(), and for START_PENDING the wait for the worktree: then the order's
 * conversation is loaded again, and the outcome is START_STORED. Takes a waiting slot where it may
 * wait: also errors of wait_slot_take(). ERROR_INVALID with git's message, or ERROR_UNAVAILABLE or
 * ERROR_TIMEOUT without a worktree: then the conversation is deleted again, unless a user has
 * written to it.
 */
int worktree_store(const struct request *request, const struct start_context *context,
                   const struct start_order *order, enum start_outcome *outcome_out,
                   struct error *err) NONNULL MUST_CHECK;
/*
 * Waits for the worktree of a stored conversation that is still without it, and loads it again;
 * fails for one whose worktree was refused, unless a user has written to it since.
 * Errors as above, and ERROR_NOT_FOUND.
 */
int worktree_wait(const struct request *request, struct conversation *conversation,
                  struct error *err) NONNULL MUST_CHECK;

#endif
