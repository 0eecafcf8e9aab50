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
#include "worker/agent/core/mask.h"
#include "worker/agent/core/record.h"
#include "worker/agent/core/view.h"
#include "worker/agent/llm/summary.h"
#include "worker/jobs/job.h"
#include "worker/jobs/side.h"

#define NOTHING_TEXT "There is nothing in this conversation that could be condensed."

struct result {
    struct agent *agent;
    const struct view_range *range;
    const struct llm_reply *reply;
};

/* A run may have condensed in the meantime: a second summary would be redundant. */
static void plan_condensation(struct conversation *now, const void *what, struct event_list *events,
                              struct conversation_write *change)
{
    const struct result *result = what;
    struct error err = ERROR_INIT;

    (void)now;
    (void)change;
    error_ignore(record_load(result->agent, &err), "the write fails as well, and is tried again");
    if (view_is_condensation_due(&result->agent->history))
        summary_add(result->agent, result->range, result->reply, events);
}

static int refuse_with(const struct agent *agent, const struct llm_failure *failure,
                       json_t **result_out)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;

    mask_append(&agent->secrets, failure->detail, &words);
    *result_out = job_refusal(words.text);
    return 0;
}

static int condense(struct side *side, const json_t *condenser, const struct view_range *range,
                    json_t **result_out, struct error *err)
{
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    struct llm_failure failure = LLM_FAILURE_INIT;
    struct result result = {&side->agent, range, &reply};

    if (summary_ask(&side->agent, condenser, range, &reply, &failure, err) < 0) {
        if (err->code == ERROR_CANCELLED)
            return -1;
        log_info("condensation.failed", LOG_STR("code", llm_failure_code(&failure)),
                 LOG_ERROR(err));
        return refuse_with(&side->agent, &failure, result_out);
    }
    *result_out = json_object();
    return side_write(
        side,
        &(struct side_note){
            .reply = &reply, .tells_cost = true, .plan = plan_condensation, .what = &result},
        err);
}

int job_condense(struct side *side, const struct job *job, json_t **result_out, struct error *err)
{
    CLEANUP(view_range_done) struct view_range range = VIEW_RANGE_INIT;
    json_auto_t *condenser = summary_condenser(&side->agent);
    struct view_rule rule = summary_rule(condenser);

    (void)job;
    /* Already done, by a run or by another worker that died before it could report it. */
    if (!view_is_condensation_due(&side->agent.history)) {
        *result_out = json_object();
        return 0;
    }
    view_choose_range(&side->agent.history, &rule, &range);
    if (condenser == NULL || range.events.n == 0) {
        *result_out = job_refusal(NOTHING_TEXT);
        return 0;
    }
    return condense(side, condenser, &range, result_out, err);
}
