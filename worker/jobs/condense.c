/*
 * A condensation requested by a client: a model summarizes the middle of the history, and from then
 * on the agent reads the summary instead.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "llm/llm.h"
#include "model/event/event.h"
#include "store/conversation/job_store.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/model_view.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/llm/hard_reset.h"
#include "worker/agent/llm/summary.h"
#include "worker/jobs/job.h"
#include "worker/jobs/job_conversation.h"
#include "worker/jobs/job_refusal.h"

#define NOTHING_TEXT "There is nothing in this conversation to condense."

struct condensation_result {
    struct agent *agent;
    const struct model_view_range *range;
    const struct llm_reply *reply;
};

/* A run may have condensed in the meantime: a second summary would be redundant. */
static void plan_condensation(struct conversation *now, const void *what, struct event_list *events,
                              struct conversation_write *change)
{
    const struct condensation_result *result = what;
    struct error err = ERROR_INIT;

    (void)now;
    (void)change;
    error_ignore(event_writer_load(result->agent, &err), "the write fails as well, and is retried");
    if (model_view_is_condensation_due(&result->agent->history))
        summary_add(result->agent, result->range, result->reply, events);
}

static int refuse_with(const struct agent *agent, const struct llm_failure *failure,
                       json_t **result_out)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    secret_list_mask_text(&agent->secrets, failure->detail, &words);
    *result_out = job_refusal(words.text);
    return 0;
}

static int condense(struct job_conversation *target, struct summary_request *request,
                    json_t **result_out, struct error *err)
{
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    struct llm_failure failure = LLM_FAILURE_INIT;
    struct condensation_result result = {&target->agent, request->range, &reply};

    if (hard_reset_ask(&target->agent, request, &reply, &failure, err) < 0) {
        if (err->code == ERROR_CANCELLED)
            return -1;
        log_info("condensation.failed", LOG_STR("code", llm_failure_code(&failure)),
                 LOG_ERROR(err));
        return refuse_with(&target->agent, &failure, result_out);
    }
    *result_out = json_object();
    return job_conversation_write(
        target,
        &(struct job_note){
            .reply = &reply, .tells_cost = true, .plan = plan_condensation, .what = &result},
        err);
}

int job_condense(struct job_conversation *target, const struct job *job, json_t **result_out,
                 struct error *err)
{
    CLEANUP(model_view_range_done) struct model_view_range range = MODEL_VIEW_RANGE_INIT;
    json_auto_t *condenser = summary_condenser(&target->agent);
    struct model_view_rule rule = summary_rule(condenser);
    struct summary_request request = {condenser, &range, SUMMARY_PREVIEW_CHARS};

    (void)job;
    /* Already done, by a run or by another worker that died before it could report it. */
    if (!model_view_is_condensation_due(&target->agent.history)) {
        *result_out = json_object();
        return 0;
    }
    model_view_choose_range(&target->agent.history, &rule, &range);
    if (condenser == NULL || range.events.n == 0) {
        *result_out = job_refusal(NOTHING_TEXT);
        return 0;
    }
    return condense(target, &request, result_out, err);
}
