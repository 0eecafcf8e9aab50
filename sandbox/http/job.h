/*
 * Blocking work (running git, walking folders), done by a fork of the process while the loop
 * continues: the fork has a copy of the request, and leaves an answer. A client that disconnects,
 * or a deadline, ends it.
 *
 * Ownership: struct jobs owns the jobs; a job borrows its request.
 * Threading: job_start() on the loop's thread; the work runs alone in its own process.
 */
#ifndef DEFT_SANDBOX_HTTP_JOB_H
#define DEFT_SANDBOX_HTTP_JOB_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct jobs;
struct loop;
struct request;

enum { JOB_DEADLINE_MS = 150000 };

/* The answer of the work. */
struct job_answer {
    int status;               /* initially 200 */
    json_t *body;             /* NULL: the body is what the work wrote to `result` */
    const char *content_type; /* of `result` */
    json_t *headers;          /* an object of texts */
    int result;               /* an open file without a name */
};

struct job_order {
    void (*work)(const struct request *request, struct job_answer *answer);
    int result;          /* file for a large answer, which the job then owns; -1: one in memory */
    int64_t deadline_ms; /* of the whole work; 0: JOB_DEADLINE_MS */
};

struct jobs *jobs_new(struct loop *loop) NONNULL MUST_CHECK;
/* Kills running jobs. */
void jobs_free(struct jobs *jobs);
/* Answers the request with the work's result; 429 when too many run, 504 after the deadline. */
void job_start(struct request *request, const struct job_order *order) NONNULL;
/* Within the work: sets {"detail": message} with the error's status. */
void job_answer_error(struct job_answer *answer, const struct error *err) NONNULL;

#endif
