#include "worker/agent/llm/summary.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "model/event/event.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/messages.h"
#include "worker/agent/core/model.h"
#include "worker/agent/core/secret_lookup.h"
#include "worker/agent/llm/delta_stream.h"
#include "worker/agent/query/llm_query.h"
#include "worker/context.h"

#define USAGE_ID "condenser"
#define KEEP_FIRST 2
#define MINIMUM_PROGRESS 0.1
#define BLANK_TEXT "The condenser's model wrote no summary."

json_t *summary_condenser(const struct agent *agent)
{
    json_auto_t *secrets = agent_open_secrets(agent);
    json_auto_t *spec = conversation_spec_with_secrets(&agent->conversation, secrets);
    json_t *condenser = json_object_get(json_object_get(spec, "agent"), "condenser");

    return json_incref(conversation_find_condenser(condenser));
}

struct model_view_rule summary_rule(const json_t *condenser)
{
    return (struct model_view_rule){
        .keep_first = (size_t)json_int_or(condenser, "keep_first", KEEP_FIRST),
        .minimum_progress = json_number_or(condenser, "minimum_progress", MINIMUM_PROGRESS),
        .max_events = SUMMARY_MAX_EVENTS};
}

/* --- the request --- */

/* Text for the condenser's model, and how much of each text it is shown. */
struct preview {
    struct strbuf *out;
    size_t max_chars;
    size_t n_longest; /* characters of the longest text shown */
};

static void append_preview(struct preview *preview, const char *text)
{
    size_t len = strlen(text);
    size_t end = utf8_offset(text, len, preview->max_chars);
    size_t n_chars = utf8_length(text, end);

    if (n_chars > preview->n_longest)
        preview->n_longest = n_chars;
    strbuf_append_bytes(preview->out, text, end);
    if (end < len)
        strbuf_append(preview->out, " […]");
}

static void append_message(struct preview *preview, const json_t *message)
{
    const json_t *content = json_object_get(message, "content");
    const json_t *calls = json_object_get(message, "tool_calls");

    strbuf_appendf(preview->out, "<%s>\n", json_text_or(message, "role", ""));
    for (size_t i = 0; i < json_array_size(content); i++) {
        append_preview(preview, json_text_or(json_array_get(content, i), "text", "[an image]"));
        strbuf_append_char(preview->out, '\n');
    }
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *function = json_object_get(json_array_get(calls, i), "function");

        strbuf_appendf(preview->out, "calls %s ", json_text_or(function, "name", ""));
        append_preview(preview, json_text_or(function, "arguments", ""));
        strbuf_append_char(preview->out, '\n');
    }
}

static void append_summaries(const struct history *history, const struct model_view_range *range,
                             struct strbuf *out)
{
    for (size_t i = 0; i < range->summaries.n; i++) {
        const json_t *json = stored_event_json(&history->items[range->summaries.items[i]]);

        strbuf_appendf(out, "<summary of what was forgotten before>\n%s\n",
                       json_text_or(json, "summary", ""));
    }
}

/* The events of the range as the model would read them, in order. */
static void append_events(const struct history *history, const struct model_view_range *range,
                          struct preview *preview)
{
    CLEANUP(history_done) struct history part = HISTORY_INIT;
    json_auto_t *messages = json_array();

    part.items = mem_alloc_array(range->events.n, sizeof(*part.items));
    for (size_t i = 0; i < range->events.n; i++)
        part.items[part.n++] = stored_event_copy(&history->items[range->events.items[i]]);
    messages_append_as_said(messages, &part);
    for (size_t i = 0; i < json_array_size(messages); i++)
        append_message(preview, json_array_get(messages, i));
}

static json_t *messages_for(const struct agent *agent, const struct summary_request *request)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct preview preview = {.out = &text, .max_chars = request->preview_chars};
    json_t *messages = json_array();

    append_summaries(&agent->history, request->range, &text);
    append_events(&agent->history, request->range, &preview);
    json_push(messages, messages_system(catalogue_text(agent->context->catalogue, TEXT_SUMMARY)));
    messages_append_user(messages, text.text);
    return messages;
}

size_t summary_longest_preview(const struct agent *agent, const struct model_view_range *range)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct preview preview = {.out = &text, .max_chars = SUMMARY_PREVIEW_CHARS};

    append_events(&agent->history, range, &preview);
    return preview.n_longest;
}

/* A summary without words would lose what it replaces. */
static int refuse_blank(struct llm_reply *reply, struct llm_failure *failure_out, struct error *err)
{
    llm_reply_done(reply);
    *reply = (struct llm_reply)LLM_REPLY_INIT;
    *failure_out = (struct llm_failure){LLM_FAILURE_NO_RESPONSE, false, -1, BLANK_TEXT};
    return error_set(err, ERROR_INVALID, BLANK_TEXT);
}

int summary_ask(struct agent *agent, const struct summary_request *request,
                struct llm_reply *reply_out, struct llm_failure *failure_out, struct error *err)
{
    CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    json_auto_t *messages = messages_for(agent, request);
    json_t *llm = json_object_get(request->condenser, "llm");
    struct retry_notice telling = retry_notice_begin(agent);
    const struct llm_listener listener = retry_notice_listener(&telling);
    const struct llm_query question = {&choice, messages, NULL, USAGE_ID, &listener};

    secret_set(&key, json_text_or(llm, "api_key", ""));
    model_choose(agent->context, &agent->conversation, llm, &key, &choice);
    if (llm_query_run(agent, &question, reply_out, failure_out, err) < 0)
        return -1;
    return text_is_blank(reply_out->text) ? refuse_blank(reply_out, failure_out, err) : 0;
}

/* --- the result --- */

static json_t *forgotten_ids(const struct history *history, const struct model_view_range *range)
{
    json_t *ids = json_array();

    for (size_t i = 0; i < range->events.n; i++)
        json_push(ids, json_text_of(history->items[range->events.items[i]].id.text));
    for (size_t i = 0; i < range->summaries.n; i++) {
        CLEANUP(strbuf_done) struct strbuf id = STRBUF_INIT;

        strbuf_appendf(&id, "%s-summary", history->items[range->summaries.items[i]].id.text);
        json_push(ids, json_text_of(id.text));
    }
    return ids;
}

void summary_add(const struct agent *agent, const struct model_view_range *range,
                 const struct llm_reply *reply, struct event_list *events)
{
    json_auto_t *forgotten = forgotten_ids(&agent->history, range);

    event_add_condensation(events, &(struct condensation_parts){
                                       .forgotten = forgotten,
                                       .summary = reply->text,
                                       .offset = (int64_t)range->offset,
                                       .llm_response_id = reply->response_id,
                                   });
}
