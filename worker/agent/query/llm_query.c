#include "worker/agent/query/llm_query.h"

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "llm/llm.h"
#include "llm/llm_prompt.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "store/conversation/conversation_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/model.h"
#include "worker/agent/core/run_control.h"
#include "worker/context.h"

static void cancel_call(void *call)
{
    llm_call_cancel(call);
}

static void render(const struct catalogue *catalogue, const struct llm_query *query,
                   struct llm_prompt *prompt)
{
    llm_prompt_begin(prompt, catalogue, query->choice->spec);
    if (query->tools != NULL)
        llm_prompt_set_tools(prompt, query->tools);
    for (size_t i = 0; i < json_array_size(query->messages); i++)
        llm_prompt_add(prompt, json_array_get(query->messages, i));
}

int llm_query_run(struct agent *agent, const struct llm_query *query, struct llm_reply *reply_out,
                  struct llm_failure *failure_out, struct error *err)
{
    CLEANUP(llm_call_freep) struct llm_call *call = llm_call_new(agent->context->llm);
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    struct llm_request request = {
        .spec = query->choice->spec,
        .address_of = query->choice->address_of,
        .api_key = query->choice->key,
        .prompt = &prompt,
        .usage_id = query->usage_id,
        .conversation_id = agent->lease.conversation_id.text,
        .listener = query->listener,
        .is_single_attempt = agent->n_model_waits > 0,
    };
    int rc = 0;

    render(agent->context->catalogue, query, &prompt);
    failure_out->kind = LLM_FAILURE_CANCELLED;
    if (run_control_begin_wait(agent->control, WAIT_MODEL, cancel_call, call, err) < 0)
        return -1;
    rc = llm_call_run(call, &request, reply_out, failure_out, err);
    run_control_end_wait(agent->control);
    return rc;
}

void llm_query_limit(struct model_choice *choice, int64_t timeout_ms)
{
    json_t *spec = json_copy(choice->spec);

    json_put(spec, "timeout", json_integer((timeout_ms + 999) / 1000));
    json_put(spec, "num_retries", json_integer(1));
    json_decref(choice->spec);
    choice->spec = spec;
}

void llm_query_store_cost(struct agent *agent, const struct llm_reply *reply)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(event_list_done) struct event_list none = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf stats = STRBUF_INIT;
    json_auto_t *snapshot = NULL;
    struct conversation_write change = {.cost_nanos = cost_to_nanos(reply->usage.cost)};
    struct error failure = ERROR_INIT;
    int rc = 0;

    stats_add(agent->stats, &reply->usage);
    snapshot = stats_snapshot(agent->stats);
    event_add_state(&events, "stats", snapshot);
    stats_append_text(agent->stats, &stats);
    change.stats = stats.text;
    rc = event_writer_append(agent, &events, &change, &failure);
    change.stats = NULL;
    /* A client changed the row: the next write of the run has these stats, too. */
    if (rc < 0 && failure.code == ERROR_CONFLICT)
        rc = event_writer_append(agent, &none, &change, &failure);
    if (rc < 0)
        log_info("cost.not_stored", LOG_ERROR(&failure));
}
