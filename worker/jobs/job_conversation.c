#include "worker/jobs/job_conversation.h"

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "llm/llm.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/job_store.h"
#include "worker/agent/agent_run.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/secret_list.h"
#include "worker/context.h"

/* Each lost race means that another writer's step was stored. */
enum { TRIES_MAX = 100 };

int job_conversation_open(struct job_conversation *target, struct worker_context *context,
                          struct run_control *control, const struct job *job, struct error *err)
{
    struct claim claim = {.lease = {.conversation_id = job->conversation_id},
                          .conversation = CONVERSATION_INIT};

    if (conversation_store_load_any(context->db, &job->conversation_id, &claim.conversation, err) <
        0)
        return -1;
    target->hold = (struct job_hold){.id = job->id, .owner = context->owner};
    agent_init(&target->agent, context, control, &claim);
    return event_writer_load(&target->agent, err);
}

void job_conversation_done(struct job_conversation *target)
{
    if (target->agent.context != NULL)
        agent_done(&target->agent);
}

/* events: NULL if no event is to report the cost. */
static void count_cost(const struct conversation *now, const struct llm_reply *reply,
                       struct strbuf *text_out, struct event_list *events)
{
    CLEANUP(stats_freep) struct stats *stats = stats_open(now->stats);
    json_auto_t *snapshot = NULL;

    stats_add(stats, &reply->usage);
    stats_append_text(stats, text_out);
    if (events == NULL)
        return;
    snapshot = stats_snapshot(stats);
    event_add_state(events, "stats", snapshot);
}

static int try_write(struct job_conversation *target, const struct job_note *note,
                     struct error *err)
{
    CLEANUP(conversation_done) struct conversation now = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf stats = STRBUF_INIT;
    struct conversation_write change = {.guard = GUARD_JOB, .hold = target->hold};
    struct db *db = target->agent.context->db;

    if (conversation_store_load_any(db, &target->agent.lease.conversation_id, &now, err) < 0)
        return -1;
    if (note->reply != NULL) {
        count_cost(&now, note->reply, &stats, note->tells_cost ? &events : NULL);
        change.stats = stats.text;
        change.cost_nanos = cost_to_nanos(note->reply->usage.cost);
    }
    if (note->plan != NULL)
        note->plan(&now, note->what, &events, &change);
    secret_list_mask_events(&target->agent.secrets, &events);
    return conversation_store_write(db, &now, &events, &change, err);
}

/* A deleted row is noticed by the next try; a job taken by another worker is noticed here. */
static bool may_try_again(const struct job_conversation *target, struct error *err)
{
    return error_is_lost_race(err) &&
           (err->code != ERROR_STALE ||
            job_store_check(target->agent.context->db, &target->hold, err) == 0);
}

int job_conversation_write(struct job_conversation *target, const struct job_note *note,
                           struct error *err)
{
    int rc = try_write(target, note, err);

    for (int i = 1; i < TRIES_MAX && rc < 0 && may_try_again(target, err); i++)
        rc = try_write(target, note, err);
    return rc;
}
