/*
 * conversation_post_message() for a process that must not block.
 */
#ifndef DEFT_STORE_CONVERSATION_ASYNC_POST_H
#define DEFT_STORE_CONVERSATION_ASYNC_POST_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "store/conversation/async_store.h"
#include "store/conversation/conversation_store.h"

struct catalogue;
struct db_async;
struct error;

/*
 * A message in progress: valid from async_post_new() until done() has returned, or
 * async_post_free().
 */
struct async_post {
    struct db_async *async;
    struct run_limits limits;
    const struct catalogue *catalogue; /* set by the caller; borrowed */
    struct state_query state;
    struct async_query *asking;
    struct async_query *finding; /* the query for waiting calls */
    struct async_query *writing;
    bool is_full; /* no further run can be requested */
    json_t *message;
    unsigned hints; /* those that the write calls for */
    int n_tries;
    void *owner;
    void (*done)(struct async_post *post, const struct error *err);
};

/*
 * Appends a user's message, {"content": as content_read() gives it, "sender": text or null,
 * "action_ids": the calls that the client has seen, or absent}, and requests a run. *scope is
 * borrowed until done().
 * Errors in the answer: ERROR_NOT_FOUND, ERROR_TOO_LARGE, ERROR_UNAVAILABLE, ERROR_INVALID;
 * ERROR_CONFLICT: the run would execute calls that the client has not seen, and nothing is stored;
 * ERROR_RATE_LIMITED: the message is stored, and no run was requested.
 */
struct async_post *async_post_new(struct db_async *async, const struct conversation_scope *scope,
                                  const struct uuid *id, json_t *message,
                                  const struct run_limits *limits) NONNULL MUST_CHECK;
/* Sends it; done() comes later. */
void async_post_start(struct async_post *post) NONNULL;
/* Cancels a message in progress: it may be stored nevertheless. */
void async_post_free(struct async_post *post);

#endif
