/*
 * Requests that are answered once something has happened.
 *
 * Ownership: the holder's, who answers all of them before it goes; a client that disconnects before
 * leaves the list.
 * Threading: one thread.
 */
#ifndef DEFT_SANDBOX_HTTP_REQUEST_WAITERS_H
#define DEFT_SANDBOX_HTTP_REQUEST_WAITERS_H

#include <stddef.h>
#include <sys/queue.h>

#include "base/attr.h"

struct error;
struct server_request;

LIST_HEAD(request_waiter_list, request_waiter);

struct request_waiters {
    struct request_waiter_list list;
    size_t n;
};

/* Adds a request. ERROR_RATE_LIMITED if MAX_WAITERS wait. */
int request_waiters_add(struct request_waiters *waiters, struct server_request *request,
                        struct error *err) NONNULL MUST_CHECK;
/* Removes the newest request, to be answered; NULL: there is none. */
struct server_request *request_waiters_take(struct request_waiters *waiters) NONNULL MUST_CHECK;

#endif
