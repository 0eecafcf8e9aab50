/*
 * Jobs of a worker: work other than runs of conversations, one file per kind.
 *
 * Threading: a job runs on a thread of the pool, as a conversation does.
 * Decision: docs/decisions/0012-jobs-beside-runs.md
 */
#ifndef DEFT_WORKER_JOBS_JOB_H
#define DEFT_WORKER_JOBS_JOB_H

#include <jansson.h>

#include "base/attr.h"

struct run_control;
struct error;
struct job;
struct job_conversation;
struct worker_context;

/* Runs the job and completes it, or puts it back for another try. */
void job_run(struct worker_context *context, struct run_control *control,
             const struct job *job) NONNULL;

/*
 * One function per kind. A result, for the waiting requester, is a new reference; {"error": text}
 * says why there is none. Errors: ERROR_CANCELLED after a stop request; others of the database.
 */
int job_title(struct job_conversation *target, const struct job *job, json_t **result_out,
              struct error *err) NONNULL MUST_CHECK;
int job_ask_agent(struct job_conversation *target, const struct job *job, json_t **result_out,
                  struct error *err) NONNULL MUST_CHECK;
int job_condense(struct job_conversation *target, const struct job *job, json_t **result_out,
                 struct error *err) NONNULL MUST_CHECK;
int job_goal(struct job_conversation *target, const struct job *job, json_t **result_out,
             struct error *err) NONNULL MUST_CHECK;
int job_worktree(struct job_conversation *target, const struct job *job, json_t **result_out,
                 struct error *err) NONNULL MUST_CHECK;
/*
 * One that needs no conversation: it may be deleted by then. ERROR_CANCELLED after a stop request.
 */
int job_end_sessions(struct worker_context *context, struct run_control *control,
                     const struct job *job, struct error *err) NONNULL MUST_CHECK;

#endif
