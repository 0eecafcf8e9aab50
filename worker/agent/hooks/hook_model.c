#include "worker/agent/hooks/hook_model.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "base/uuid.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/messages.h"
#include "worker/agent/core/model.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/hooks/hook_tools.h"
#include "worker/agent/query/budget.h"
#include "worker/agent/query/llm_query.h"
#include "worker/context.h"

enum { ITERATIONS = 3, ITERATIONS_MAX = 10, CALLS_MAX = 16, USAGE_NAME_MAX_CHARS = 64 };

/* Of the event that the model is shown: a tool may have returned megabytes. */
enum { INPUT_MAX_CHARS = 50000 };

/* A hook's conversation with the model. */
struct model_exchange {
    struct agent *agent;
    const struct model_hook *hook;
    struct hook_tools *tools;
    json_t *functions; /* NULL: none */
    json_t *messages;
    struct strbuf usage_id;
    int64_t deadline_ms; /* clock_monotonic_ms() */
};

static void model_exchange_done(struct model_exchange *exchange)
{
    hook_tools_free(exchange->tools);
    json_decref(exchange->functions);
    json_decref(exchange->messages);
    strbuf_done(&exchange->usage_id);
}

/* What the hook is told may contain what a tool returned just now. */
static void add_question(struct model_exchange *exchange)
{
    CLEANUP(strbuf_done) struct strbuf input = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const struct catalogue *catalogue = exchange->agent->context->catalogue;
    const json_t *hook = exchange->hook->hook;
    const char *own = json_text_or(hook, "system_prompt", "");

    secret_list_mask_text(&exchange->agent->secrets, exchange->hook->input_text, &input);
    strbuf_truncate(&input, utf8_offset(input.text, input.len, INPUT_MAX_CHARS));
    catalogue_append(catalogue, TEXT_HOOK, "request",
                     (const struct text_value[]){{"prompt", json_text_or(hook, "prompt", "")},
                                                 {"input", input.text}},
                     2, &text);
    json_push(exchange->messages,
              messages_system(text_is_blank(own) ? catalogue_text(catalogue, TEXT_HOOK) : own));
    messages_append_user(exchange->messages, text.text);
}

static void model_exchange_begin(struct model_exchange *exchange)
{
    const json_t *hook = exchange->hook->hook;
    const char *name = json_text_or(hook, "name", "");

    exchange->messages = json_array();
    exchange->deadline_ms = clock_monotonic_ms() + exchange->hook->timeout_s * 1000;
    if (text_is_blank(name))
        name = exchange->hook->event_name;
    strbuf_appendf(&exchange->usage_id, "%s-hook:", exchange->hook->is_agent ? "agent" : "prompt");
    strbuf_append_bytes(&exchange->usage_id, name,
                        utf8_offset(name, strlen(name), USAGE_NAME_MAX_CHARS));
    add_question(exchange);
    if (!exchange->hook->is_agent)
        return;
    exchange->tools = hook_tools_new(exchange->agent, json_object_get(hook, "tools"));
    exchange->functions = hook_tools_functions(exchange->tools);
    if (json_array_size(exchange->functions) == 0) {
        json_decref(exchange->functions);
        exchange->functions = NULL;
    }
}

/* --- one call of the model --- */

/* Appends why the model cannot be asked, if it cannot. */
static int check_call(const struct model_exchange *exchange, struct strbuf *problem,
                      struct error *err)
{
    if (clock_monotonic_ms() >= exchange->deadline_ms) {
        strbuf_append(problem, "The hook's time is over.");
        return 0;
    }
    return budget_check_call(exchange->agent, problem, err);
}

static int ask_once(const struct model_exchange *exchange, struct llm_reply *reply_out,
                    struct strbuf *problem, struct error *err)
{
    CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
    struct agent *agent = exchange->agent;
    const struct llm_query query = {&choice, exchange->messages, exchange->functions,
                                    exchange->usage_id.text, NULL};
    struct llm_failure failure = LLM_FAILURE_INIT;
    struct error why = ERROR_INIT;

    if (check_call(exchange, problem, err) < 0)
        return -1;
    if (problem->len > 0)
        return 0;
    model_choose(agent->context, &agent->conversation, agent->llm_spec, &agent->llm_key, &choice);
    llm_query_limit(&choice, exchange->deadline_ms - clock_monotonic_ms());
    if (llm_query_run(agent, &query, reply_out, &failure, &why) == 0) {
        llm_query_store_cost(agent, reply_out);
        return 0;
    }
    if (why.code == ERROR_CANCELLED || why.code == ERROR_STALE) {
        *err = why;
        return -1;
    }
    strbuf_appendf(problem, "The model could not be asked: %s", failure.detail);
    return 0;
}

/* --- its calls --- */

/* Content of a message to a model: text_content() is that of an event. */
static json_t *content_of(const char *text)
{
    json_t *content = json_array();
    json_t *part = json_object();

    json_put_text(part, "type", "text");
    json_put_text(part, "text", text);
    json_push(content, part);
    return content;
}

static json_t *call_to_json(const struct llm_tool_call *call)
{
    json_t *json = json_object();
    json_t *function = json_object();

    json_put_text(function, "name", call->name);
    json_put_text(function, "arguments", call->arguments);
    json_put_text(json, "id", call->id);
    json_put_text(json, "item_id", call->item_id);
    json_put_text(json, "type", "function");
    json_put(json, "function", function);
    return json;
}

static json_t *answer_to_json(const struct llm_reply *reply)
{
    json_t *message = json_object();
    json_t *content = reply->text[0] != '\0' ? content_of(reply->text) : json_array();
    json_t *calls = json_array();

    for (size_t i = 0; i < reply->n_calls; i++)
        json_push(calls, call_to_json(&reply->calls[i]));
    json_put_text(message, "role", "assistant");
    json_put(message, "content", content);
    json_put(message, "tool_calls", calls);
    if (reply->thinking != NULL)
        json_put(message, "thinking_blocks", json_incref(reply->thinking));
    if (reply->reasoning_item != NULL)
        json_put(message, "responses_reasoning_item", json_incref(reply->reasoning_item));
    return message;
}

static int run_call(const struct model_exchange *exchange, const struct llm_tool_call *call,
                    bool may_run, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf result = STRBUF_INIT;
    json_t *message = json_object();
    int rc = 0;

    if (may_run)
        rc = hook_tools_run(exchange->agent, exchange->tools, exchange->hook->id, call, &result,
                            err);
    else
        strbuf_append(&result, "This call was not run: there are too many in one answer.");
    json_put_text(message, "role", "tool");
    json_put(message, "content", content_of(result.text));
    json_put_text(message, "tool_call_id", call->id);
    json_put_text(message, "name", call->name);
    json_push(exchange->messages, message);
    return rc;
}

static int run_calls(const struct model_exchange *exchange, const struct llm_reply *reply,
                     struct error *err)
{
    json_push(exchange->messages, answer_to_json(reply));
    for (size_t i = 0; i < reply->n_calls; i++) {
        if (run_call(exchange, &reply->calls[i], i < CALLS_MAX, err) < 0)
            return -1;
    }
    return 0;
}

static int64_t iterations_of(const struct model_hook *hook)
{
    int64_t n = json_int_or(hook->hook, "max_iterations", ITERATIONS);

    if (!hook->is_agent)
        return 1;
    return n >= 1 && n <= ITERATIONS_MAX ? n : ITERATIONS_MAX;
}

static int converse(const struct model_exchange *exchange, struct strbuf *answer,
                    struct strbuf *problem, struct error *err)
{
    int64_t n = iterations_of(exchange->hook);

    for (int64_t i = 0; i < n; i++) {
        CLEANUP(llm_reply_done) struct llm_reply reply = LLM_REPLY_INIT;

        if (ask_once(exchange, &reply, problem, err) < 0)
            return -1;
        if (problem->len > 0)
            return 0;
        if (reply.n_calls == 0 || exchange->functions == NULL) {
            strbuf_append(answer, reply.text);
            return 0;
        }
        if (i + 1 < n && run_calls(exchange, &reply, err) < 0)
            return -1;
    }
    strbuf_appendf(problem, "The hook's agent gave no verdict in %lld iterations.", (long long)n);
    return 0;
}

int hook_model_ask(struct agent *agent, const struct model_hook *hook, struct strbuf *answer,
                   struct strbuf *problem, struct error *err)
{
    CLEANUP(model_exchange_done) struct model_exchange exchange = {
        .agent = agent, .hook = hook, .usage_id = STRBUF_INIT};

    if (text_is_blank(json_text_or(hook->hook, "prompt", ""))) {
        strbuf_append(problem, "The hook has no prompt.");
        return 0;
    }
    model_exchange_begin(&exchange);
    return converse(&exchange, answer, problem, err);
}
