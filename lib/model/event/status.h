/*
 * execution_status: the states of a conversation.
 *
 * Source: the wire contract; "deleting" is only sent to webhooks.
 */
#ifndef DEFT_MODEL_EVENT_STATUS_H
#define DEFT_MODEL_EVENT_STATUS_H

#include <stdbool.h>

#include "base/attr.h"

#define EXECUTION_STATUSES(X)                                                                      \
    X(STATUS_IDLE, "idle")                                                                         \
    X(STATUS_RUNNING, "running")                                                                   \
    X(STATUS_PAUSED, "paused")                                                                     \
    X(STATUS_WAITING_FOR_CONFIRMATION, "waiting_for_confirmation")                                 \
    X(STATUS_FINISHED, "finished")                                                                 \
    X(STATUS_ERROR, "error")                                                                       \
    X(STATUS_STUCK, "stuck")

#define X(constant, text) constant,
enum execution_status { EXECUTION_STATUSES(X) STATUS_N };
#undef X

/* Sent to webhooks when a conversation is deleted; never stored in a row. */
#define STATUS_DELETING "deleting"

/* The wire's word; a static string. */
const char *status_to_string(enum execution_status status) MUST_CHECK;
/* False if text is none of them. */
bool status_from_string(const char *text, enum execution_status *status_out) NONNULL MUST_CHECK;
/* The status after a run request: `finished` stays, all others become `running`. */
enum execution_status status_on_run(enum execution_status status) MUST_CHECK;

#endif
