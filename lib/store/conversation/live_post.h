/*
 * conversation_post_message() for a process that must not block.
 */
#ifndef DEFT_STORE_CONVERSATION_LIVE_POST_H
#define DEFT_STORE_CONVERSATION_LIVE_POST_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/live_store.h"

struct db_pipe;
struct error;

/*
 * A message in progress: valid from live_post_new() until done() has returned, or live_post_free().
 */
struct live_post {
    struct db_pipe *pipe;
    struct run_limits limits;
    struct state_question state;
    struct db_ticket *asking;
    struct db_ticket *finding; /* the query for waiting calls */
    struct db_ticket *writing;
    bool is_full; /* no further run can be requested */
    json_t *message;
    int n_tries;
    void *owner;
    void (*done)(struct live_post *post, const struct error *err);
};

/*
 * Appends a user's message, {"content": as content_read() gives it, "sender": text or null,
 * "action_ids": the calls that the client has seen, or absent}, and requests a run. *scope is
 * borrowed until done(). The caller then sends HINT_EVENTS and HINT_WORK.
 * Errors in the answer: ERROR_NOT_FOUND, ERROR_TOO_LARGE, ERROR_UNAVAILABLE, ERROR_INVALID;
 * ERROR_CONFLICT: the run would execute calls that the client has not seen, and nothing is stored;
 * ERROR_RATE_LIMITED: the message is stored, and no run was requested.
 */
struct live_post *live_post_new(struct db_pipe *pipe, const struct conversation_scope *scope,
                                const struct uuid *id, json_t *message,
                                const struct run_limits *limits) NONNULL MUST_CHECK;
/* Sends it; done() comes later. */
void live_post_start(struct live_post *post) NONNULL;
/* Cancels a message in progress: it may be stored nevertheless. */
void live_post_free(struct live_post *post);

#endif
