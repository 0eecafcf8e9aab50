/*
 * Blocking work (running git, walking folders), done by a fork of the process while the loop
 * continues: the fork has a copy of the request, and leaves an answer. A client that disconnects,
 * or a deadline, ends it.
 *
 * Ownership: struct fork_requests owns the forks; each borrows its request.
 * Threading: fork_request_start() on the loop's thread; the work runs alone in its own process.
 */
#ifndef DEFT_SANDBOX_HTTP_FORK_REQUEST_H
#define DEFT_SANDBOX_HTTP_FORK_REQUEST_H

#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct event_loop;
struct fork_requests;
struct server_request;

enum { FORK_REQUEST_DEADLINE_MS = 150000 };

enum { FORK_FILE_BYTES = 64 };

/*
 * Whatever would outlive a work that is killed. It is in memory shared with the server, which then
 * ends and removes it.
 */
struct fork_leftovers {
    pid_t session;              /* of a program with a session of its own; 0: none */
    char file[FORK_FILE_BYTES]; /* a temporary file, with its .lock; "": none */
};

/* The answer of the work. */
struct fork_reply {
    int status;               /* initially 200 */
    json_t *body;             /* NULL: the body is what the work wrote to `result` */
    const char *content_type; /* of `result` */
    json_t *headers;          /* an object of texts */
    int result;               /* an open file without a name */
    struct fork_leftovers *leftovers;
};

struct fork_request_spec {
    void (*work)(const struct server_request *request, struct fork_reply *answer);
    int result;          /* file for a large answer, which the fork then owns; -1: one in memory */
    int64_t deadline_ms; /* of the whole work; 0: FORK_REQUEST_DEADLINE_MS */
};

struct fork_requests *fork_requests_new(struct event_loop *loop) NONNULL MUST_CHECK;
/* Kills running forks. */
void fork_requests_free(struct fork_requests *forks);
/* Answers the request with the work's result; 429 when too many run, 504 after the deadline. */
void fork_request_start(struct server_request *request,
                        const struct fork_request_spec *order) NONNULL;
/* Within the work: sets {"detail": message} with the error's status. */
void fork_reply_error(struct fork_reply *answer, const struct error *err) NONNULL;

#endif
