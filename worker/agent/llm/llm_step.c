#include "worker/agent/llm/llm_step.h"

#include <stdbool.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "model/event/event.h"
#include "worker/agent/calls/run_end.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/event_writer.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/model.h"
#include "worker/agent/core/run_control.h"
#include "worker/agent/core/transcript.h"
#include "worker/agent/llm/agent_prompt.h"
#include "worker/agent/llm/condense.h"
#include "worker/agent/llm/delta_stream.h"
#include "worker/agent/llm/fallback.h"
#include "worker/agent/llm/llm_response.h"
#include "worker/agent/llm/outage.h"
#include "worker/agent/llm/view_tokens.h"
#include "worker/agent/llm/vision.h"
#include "worker/agent/sandbox/checkpoint.h"
#include "worker/agent/sandbox/sandbox.h"
#include "worker/context.h"

#define USAGE_ID "agent"
#define KEY_REFUSED_TEXT "Your LLM API key appears to be invalid or has expired."
#define CODE_TOO_LARGE "RuntimeError"
#define CODE_SANDBOX "RuntimeError"
#define TOO_LARGE_TEXT "The model's answer is larger than a conversation can keep."

static void cancel_call(void *call)
{
    llm_call_cancel(call);
}

/*
 * A sub-agent's requests share a prefix with its parent's: with the same key, providers can reuse a
 * cached prefix.
 */
static const struct uuid *cache_of(const struct agent *agent)
{
    const struct conversation *conversation = &agent->conversation;

    if (conversation->is_sub_agent && uuid_is_set(&conversation->parent_id))
        return &conversation->parent_id;
    return &agent->lease.conversation_id;
}

/* Calls the model; a stop request ends the wait. The reply borrows from the choice. */
static int ask_and_wait(struct agent *agent, const struct model_choice *choice,
                        struct llm_reply *reply_out, struct llm_failure *failure_out,
                        struct error *err)
{
    CLEANUP(llm_call_freep) struct llm_call *call = llm_call_new(agent->context->llm);
    CLEANUP(delta_stream_done) struct delta_stream telling = delta_stream_begin(agent);
    const struct llm_listener listener = delta_stream_listener(&telling);
    struct llm_request request = {
        .spec = choice->spec,
        .address_of = choice->address_of,
        .api_key = choice->key,
        .prompt = &agent->transcript.prompt,
        .usage_id = USAGE_ID,
        .conversation_id = cache_of(agent)->text,
        .listener = &listener,
        .is_single_attempt = outage_lasts(agent),
        .releases_stack = true,
        .direct = agent->direct,
    };
    int rc = 0;

    failure_out->kind = LLM_FAILURE_CANCELLED;
    if (run_control_begin_wait(agent->control, WAIT_MODEL, cancel_call, call, err) < 0)
        return -1;
    crash_point(&agent->context->crash, CRASH_LLM_SENT);
    rc = llm_call_run(call, &request, reply_out, failure_out, err);
    run_control_end_wait(agent->control);
    return rc;
}

/* The newest event, except executions of hooks, which a message has, too; NULL: none. */
static const struct stored_event *find_newest(const struct history *history)
{
    for (size_t i = history->n; i > 0; i--) {
        if (!stored_event_is(&history->items[i - 1], "HookExecutionEvent"))
            return &history->items[i - 1];
    }
    return NULL;
}

/* True if the newest message is already our request to rephrase. */
static bool has_rephrased(const struct agent *agent)
{
    const struct stored_event *last = find_newest(&agent->history);
    const json_t *content = NULL;

    if (last == NULL || !stored_event_is_message(last, "user"))
        return false;
    content = json_object_get(json_object_get(stored_event_json(last), "llm_message"), "content");
    return text_equal(json_text_or(json_array_get(content, 0), "text", ""),
                      catalogue_text(agent->context->catalogue, TEXT_REPHRASE));
}

static int ask_to_rephrase(struct agent *agent, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    json_auto_t *content = json_array();

    json_push(content, text_content(catalogue_text(agent->context->catalogue, TEXT_REPHRASE)));
    (void)event_add_user_message(&events, content);
    return event_writer_append(agent, &events, NULL, err);
}

static int settle_failure(struct agent *agent, const struct llm_failure *failure,
                          const struct error *cause, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf detail = STRBUF_INIT;
    const char *words = failure->detail[0] != '\0' ? failure->detail : cause->message;

    if (failure->kind == LLM_FAILURE_CANCELLED) {
        *err = *cause;
        return -1;
    }
    if (outage_may_wait(agent, failure))
        return outage_wait(agent, failure, err);
    log_info("model.failed", LOG_STR("code", llm_failure_code(failure)), LOG_ERROR(cause));
    if (condense_may_help(agent, failure))
        return condense_request(agent, err);
    if (failure->kind == LLM_FAILURE_CONTENT_POLICY && !has_rephrased(agent))
        return ask_to_rephrase(agent, err);
    if (failure->kind == LLM_FAILURE_AUTHENTICATION)
        words = KEY_REFUSED_TEXT;
    secret_list_mask_text(&agent->secrets, words, &detail);
    return run_end_error(agent, llm_failure_code(failure), detail.text, err);
}

/* The answer could not be stored, or its calls' hooks could not be asked. */
static int settle_unstored(struct agent *agent, struct error *err)
{
    const struct error cause = *err;

    if (cause.code == ERROR_TOO_LARGE)
        return run_end_error(agent, CODE_TOO_LARGE, TOO_LARGE_TEXT, err);
    if (cause.code == ERROR_UNAVAILABLE)
        return run_end_error(agent, CODE_SANDBOX, cause.message, err);
    return -1;
}

/* A model, and what came of asking it. */
struct question {
    struct fallback_model fallback; /* the one that was asked instead, if any */
    struct llm_reply reply;         /* borrows from the choice */
    struct llm_failure failure;
    struct error cause;
};

/* clang-format off */
#define QUESTION_INIT {FALLBACK_MODEL_INIT, LLM_REPLY_INIT, LLM_FAILURE_INIT, ERROR_INIT}
/* clang-format on */

static void question_done(struct question *question)
{
    llm_reply_done(&question->reply);
    fallback_model_done(&question->fallback);
}

static int ask_one(struct agent *agent, const struct model_choice *choice,
                   struct question *question, struct llm_failure *failure_out, struct error *err)
{
    agent->answer_id = uuid_random();
    agent_prompt_write(agent, choice->spec);
    transcript_pack(&agent->transcript, &agent->history);
    if (ask_and_wait(agent, choice, &question->reply, failure_out, err) == 0)
        return 0;
    delta_stream_retract(agent, err->message);
    return -1;
}

/* Asks the fallbacks in order. What the question says of a failure changes only with a stop. */
static int ask_fallbacks(struct agent *agent, struct question *question)
{
    for (size_t i = 0; i < fallback_count(agent); i++) {
        struct llm_failure failure = LLM_FAILURE_INIT;
        struct error cause = ERROR_INIT;

        fallback_model_done(&question->fallback);
        question->fallback = (struct fallback_model)FALLBACK_MODEL_INIT;
        if (!fallback_load(agent, i, &question->fallback))
            continue;
        if (ask_one(agent, &question->fallback.choice, question, &failure, &cause) == 0) {
            fallback_note_rest(agent);
            return 0;
        }
        log_info("fallback.failed", LOG_STR("code", llm_failure_code(&failure)), LOG_ERROR(&cause));
        if (failure.kind != LLM_FAILURE_CANCELLED)
            continue;
        question->failure = failure;
        question->cause = cause;
        return -1;
    }
    return -1;
}

/* Asks the conversation's own model, or those that replace it while it is out of order. */
static int ask_any(struct agent *agent, const struct model_choice *own, struct question *question)
{
    bool is_resting = fallback_is_resting(agent);

    if (is_resting) {
        if (ask_fallbacks(agent, question) == 0)
            return 0;
        if (question->failure.kind == LLM_FAILURE_CANCELLED)
            return -1;
    }
    if (ask_one(agent, own, question, &question->failure, &question->cause) == 0) {
        view_tokens_note_usage(agent, &question->reply.usage);
        return 0;
    }
    if (is_resting || !fallback_may_help(&question->failure))
        return -1;
    return ask_fallbacks(agent, question);
}

static int ask_model(struct agent *agent, const struct model_choice *choice, struct error *err)
{
    CLEANUP(question_done) struct question question = QUESTION_INIT;

    /* Starting it takes longer than most answers; only the first call waits for it. */
    if (agent->sandbox != NULL)
        sandbox_begin(agent->sandbox);
    checkpoint_begin(agent);
    agent->asked_seq = agent->history.last_seq;
    agent->n_iterations++;
    if (ask_any(agent, choice, &question) < 0)
        return settle_failure(agent, &question.failure, &question.cause, err);
    outage_note_end(agent);
    crash_point(&agent->context->crash, CRASH_LLM_DONE);
    if (llm_response_store(agent, &question.reply, err) == 0)
        return 0;
    delta_stream_retract(agent, err->message);
    return settle_unstored(agent, err);
}

int llm_step_run(struct agent *agent, struct error *err)
{
    CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
    bool is_ended = false;

    agent->asked_seq = agent->history.last_seq;
    model_choose(agent->context, &agent->conversation, agent->llm_spec, &agent->llm_key, &choice);
    if (vision_end_run(agent, choice.spec, &is_ended, err) < 0)
        return -1;
    return is_ended ? 0 : ask_model(agent, &choice, err);
}
