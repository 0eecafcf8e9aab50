#include "worker/agent/query/llm_query.h"

#include "llm/llm.h"
#include "llm/llm_prompt.h"
#include "worker/agent/core/agent.h"
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
