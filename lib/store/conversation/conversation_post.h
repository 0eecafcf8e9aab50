/*
 * Client operations that write to a conversation: plan the events with lib/model, write them, and
 * plan again after a lost race.
 */
#ifndef DEFT_STORE_CONVERSATION_CONVERSATION_POST_H
#define DEFT_STORE_CONVERSATION_CONVERSATION_POST_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "model/prompt/planned_events.h"

struct catalogue;
struct conversation_scope;
struct conversation_write;
struct db;
struct error;
struct seen_calls;
struct uuid;

struct user_message {
    const struct catalogue *catalogue; /* borrowed */
    json_t *content;                   /* as content_read() gives it; borrowed */
    enum message_run run;
    const char *sender;            /* borrowed; NULL: not given */
    const struct seen_calls *seen; /* NULL: the client does not say */
};

/*
 * Appends a user's message and, with run, requests a run; both are committed on return.
 * Errors: ERROR_NOT_FOUND, ERROR_TOO_LARGE, ERROR_UNAVAILABLE, ERROR_INVALID; ERROR_CONFLICT, with
 * nothing stored, when the run would execute calls that the client has not seen.
 */
int conversation_post_message(struct db *db, const struct conversation_scope *scope,
                              const struct uuid *id, const struct user_message *message,
                              struct error *err) NONNULL MUST_CHECK;

/* Outcome of a request for a run. */
enum post_result {
    POST_WRITTEN,
    POST_UNDER_WAY, /* a run is requested already; nothing was written */
};

/* A request for a run without a message; borrowed. */
struct run_request {
    const struct catalogue *catalogue;
    const struct seen_calls *seen; /* NULL: the client does not say which calls it saw */
};

/* Requests a run. ERROR_CONFLICT when other calls than those seen are waiting, or none any more. */
int conversation_post_run(struct db *db, const struct conversation_scope *scope,
                          const struct uuid *id, const struct run_request *wanted,
                          enum post_result *result_out, struct error *err) NONNULL MUST_CHECK;

/* Fills a write with what a planned change does to the row; borrows the change's texts. */
void conversation_write_change(const struct conversation_change *change,
                               struct conversation_write *write) NONNULL;

#endif
