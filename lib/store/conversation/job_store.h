/*
 * Jobs: work for a worker in addition to runs of conversations, such as a title or an answer to a
 * side query. A job is added with the change that makes it due (conversation_write.job) or by
 * itself; a worker claims it under a lease, renews the lease, and finishes it. If a worker abandons
 * a job, another claims it.
 *
 * Ownership: job_done() releases what a claim returned.
 * Threading: no state; any thread.
 */
#ifndef DEFT_STORE_CONVERSATION_JOB_STORE_H
#define DEFT_STORE_CONVERSATION_JOB_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;
struct error;
struct job_hold;
struct job_request;

struct job {
    int64_t id;
    char *kind;
    struct uuid conversation_id;
    json_t *payload;
    int64_t n_attempts; /* including this one */
};

void job_done(struct job *job);

/* Adds a job, due at once. */
int job_store_add(struct db *db, const struct uuid *conversation_id,
                  const struct job_request *request, struct error *err) NONNULL MUST_CHECK;
/*
 * Claims the job that has been due longest and that no worker has, for LEASE_MS; *claimed_out =
 * false when there is none.
 */
int job_store_claim(struct db *db, const struct uuid *owner, bool *claimed_out, struct job *job_out,
                    struct error *err) NONNULL MUST_CHECK;
/* Renews all leases of this owner, LEASE_MS from now. */
int job_store_renew(struct db *db, const struct uuid *owner, struct error *err) NONNULL MUST_CHECK;
/* ERROR_STALE when the hold was lost. */
int job_store_check(struct db *db, const struct job_hold *hold,
                    struct error *err) NONNULL MUST_CHECK;
/*
 * Finishes a job. result: for the client that waits for it; NULL when there is none. Does nothing
 * when another worker has the job by now.
 */
int job_store_finish(struct db *db, const struct uuid *owner, const struct job *job,
                     const json_t *result, struct error *err)
    __attribute__((nonnull(1, 2, 3, 5))) MUST_CHECK;
/* Puts a job back: it is due again after delay_ms. */
int job_store_put_back(struct db *db, const struct uuid *owner, const struct job *job,
                       int64_t delay_ms, struct error *err) NONNULL MUST_CHECK;
/*
 * Waits for the result of the job with that key, and takes it. A new reference. ERROR_TIMEOUT after
 * deadline_ms (clock_monotonic_ms()), ERROR_NOT_FOUND when the job is gone. Holds a connection for
 * the whole wait.
 */
int job_store_wait(struct db *db, const struct uuid *key, int64_t deadline_ms, json_t **result_out,
                   struct error *err) NONNULL MUST_CHECK;

#endif
