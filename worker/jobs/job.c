#include "worker/jobs/job.h"

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_store.h"
#include "worker/context.h"
#include "worker/jobs/job_conversation.h"
#include "worker/jobs/job_refusal.h"

enum { ATTEMPTS_MAX = 5, RETRY_MS = 2000 };

/* Delay before another worker may take a job when this one shuts down. */
enum { HANDED_OVER_MS = 0 };

struct job_kind {
    const char *name;
    int (*run)(struct job_conversation *target, const struct job *job, json_t **result_out,
               struct error *err);
    /* Instead, for a job without a result that needs no conversation. */
    int (*run_alone)(struct worker_context *context, struct run_control *control,
                     const struct job *job, struct error *err);
};

static const struct job_kind kinds[] = {
    {"title", job_title, NULL},       {"ask", job_ask_agent, NULL},
    {"condense", job_condense, NULL}, {"goal", job_goal, NULL},
    {"worktree", job_worktree, NULL}, {JOB_END_SESSIONS, NULL, job_end_sessions},
};

static const struct job_kind *find_kind(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (text_equal(kinds[i].name, name))
            return &kinds[i];
    }
    return NULL;
}

static int run_kind(struct worker_context *context, struct run_control *control,
                    const struct job *job, json_t **result_out, struct error *err)
{
    CLEANUP(job_conversation_done) struct job_conversation target = {.agent = {.context = NULL}};
    const struct job_kind *kind = find_kind(job->kind);

    if (kind == NULL)
        return error_set(err, ERROR_UNSUPPORTED, "there is no job of kind %s", job->kind);
    if (kind->run_alone != NULL)
        return kind->run_alone(context, control, job, err);
    if (job_conversation_open(&target, context, control, job, err) < 0)
        return -1;
    return kind->run(&target, job, result_out, err);
}

static bool is_worth_another_try(const struct job *job, const struct error *err)
{
    return err->code == ERROR_CANCELLED ||
           (job->n_attempts < ATTEMPTS_MAX &&
            (error_is_transient(err) || err->code == ERROR_CONFLICT));
}

static int settle_failure(struct worker_context *context, const struct job *job,
                          const struct error *cause, struct error *err)
{
    json_auto_t *result = job_refusal("The server failed to do this. Its log contains the reason.");

    if (is_worth_another_try(job, cause))
        return job_store_put_back(context->db, &context->owner, job,
                                  cause->code == ERROR_CANCELLED ? HANDED_OVER_MS : RETRY_MS, err);
    /* Deleting a conversation deletes its jobs; a stale job belongs to another worker. */
    if (cause->code != ERROR_NOT_FOUND && cause->code != ERROR_STALE)
        log_error("job.failed", LOG_STR("kind", job->kind), LOG_ERROR(cause));
    return job_store_finish(context->db, &context->owner, job, result, err);
}

void job_run(struct worker_context *context, struct run_control *control, const struct job *job)
{
    json_auto_t *result = NULL;
    struct error cause = ERROR_INIT;
    struct error err = ERROR_INIT;
    int rc = 0;

    log_context_set("conversation_id", job->conversation_id.text);
    if (run_kind(context, control, job, &result, &cause) < 0)
        rc = settle_failure(context, job, &cause, &err);
    else
        rc = job_store_finish(context->db, &context->owner, job, result, &err);
    /* Its lease expires, and a worker tries again. */
    if (rc < 0)
        log_warning("job.settle_failed", LOG_STR("kind", job->kind), LOG_ERROR(&err));
    log_context_set("conversation_id", NULL);
}
