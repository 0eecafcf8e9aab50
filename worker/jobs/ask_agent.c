/*
 * Side question: answered from the agent's context, without becoming part of the conversation.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "model/tools/toolset.h"
#include "store/conversation/job_store.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/messages.h"
#include "worker/agent/core/model.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/query/llm_query.h"
#include "worker/context.h"
#include "worker/jobs/job.h"
#include "worker/jobs/job_conversation.h"
#include "worker/jobs/job_refusal.h"

#define USAGE_ID "ask-agent-llm"

/* Before the first message, adds the system prompt as the run would; not stored in the log. */
static void ensure_system_prompt(struct agent *agent)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct history *history = &agent->history;

    for (size_t i = 0; i < history->n; i++) {
        if (stored_event_is(&history->items[i], "SystemPromptEvent"))
            return;
    }
    conversation_add_system_prompt(agent->context->catalogue, &agent->conversation, &events);
    history_add_written(history, &events, history->last_seq + 1);
}

static json_t *messages_for(struct job_conversation *target, const char *question)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *messages = json_array();

    ensure_system_prompt(&target->agent);
    messages_append_as_said(messages, &target->agent.history);
    catalogue_append(target->agent.context->catalogue, TEXT_SIDE_QUESTION, "",
                     &(struct text_value){"question", question}, 1, &text);
    messages_append_user(messages, text.text);
    return messages;
}

int job_ask_agent(struct job_conversation *target, const struct job *job, json_t **result_out,
                  struct error *err)
{
    CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
    CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *messages = messages_for(target, json_text_or(job->payload, "question", ""));
    const struct agent *agent = &target->agent;
    json_auto_t *tools = toolset_functions(agent->tools);
    struct llm_failure failure = LLM_FAILURE_INIT;

    model_choose(agent->context, &agent->conversation, agent->llm_spec, &agent->llm_key, &choice);
    if (llm_query_run(&target->agent, &(struct llm_query){&choice, messages, tools, USAGE_ID, NULL},
                      &reply, &failure, err) < 0) {
        if (err->code == ERROR_CANCELLED)
            return -1;
        log_info("ask.failed", LOG_STR("code", llm_failure_code(&failure)), LOG_ERROR(err));
        secret_list_mask_text(&agent->secrets, failure.detail, &text);
        *result_out = job_refusal(text.text);
        return 0;
    }
    if (job_conversation_write(target, &(struct job_note){.reply = &reply}, err) < 0)
        return -1;
    secret_list_mask_text(&agent->secrets, reply.text, &text);
    *result_out = json_object();
    json_put_text(*result_out, "response", text.text);
    return 0;
}
