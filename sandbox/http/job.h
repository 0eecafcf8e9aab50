/*
 * Work that blocks (running git, walking folders), done by a copy of the process while the loop
 * goes on: the copy has the request as it is, and leaves an answer. A client that goes away, or a
 * deadline, ends it.
 *
 * Ownership: struct jobs owns the jobs; a job borrows its request.
 * Threading: job_start() on the loop's thread; the work is alone in a process of its own.
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

/* What the work answers. */
struct job_answer {
    int status;               /* 200 */
    json_t *body;             /* NULL: what the work wrote to `result` is the body */
    const char *content_type; /* of that */
    json_t *headers;          /* an object of texts */
    int result;               /* an open file without a name */
};

/* A piece of work. */
struct job_order {
    void (*work)(const struct request *request, struct job_answer *answer);
    int result; /* a file for a large answer, which the job owns from now on; -1: one in memory */
    int64_t deadline_ms; /* of the whole work; 0: JOB_DEADLINE_MS */
};

struct jobs *jobs_new(struct loop *loop) NONNULL MUST_CHECK;
/* Kills what still runs. */
void jobs_free(struct jobs *jobs);
/* Answers the request with what the work says; 429 when too many run, 504 after the deadline. */
void job_start(struct request *request, const struct job_order *order) NONNULL;
/* In the work: {"detail": message} with the error's status. */
void job_answer_error(struct job_answer *answer, const struct error *err) NONNULL;

#endif
