#include "worker/agent/llm/summary.h"

#include <string.h>

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
#include "worker/agent/llm/llm_query.h"
#include "worker/context.h"

#define USAGE_ID "condenser"
#define PREVIEW_CHARS 500
#define KEEP_FIRST 2
#define MINIMUM_PROGRESS 0.1
/* Their ids must fit into an event and leave room for the summary: see EVENT_MAX_BYTES. */
#define FORGOTTEN_MAX_EVENTS 20000

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
        .max_events = FORGOTTEN_MAX_EVENTS};
}

/* --- the request --- */

static void append_preview(struct strbuf *out, const char *text)
{
    size_t len = strlen(text);
    size_t end = utf8_offset(text, len, PREVIEW_CHARS);

    strbuf_append_bytes(out, text, end);
    if (end < len)
        strbuf_append(out, " […]");
}

static void append_message(struct strbuf *out, const json_t *message)
{
    const json_t *content = json_object_get(message, "content");
    const json_t *calls = json_object_get(message, "tool_calls");

    strbuf_appendf(out, "<%s>\n", json_text_or(message, "role", ""));
    for (size_t i = 0; i < json_array_size(content); i++) {
        append_preview(out, json_text_or(json_array_get(content, i), "text", "[an image]"));
        strbuf_append_char(out, '\n');
    }
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *function = json_object_get(json_array_get(calls, i), "function");

        strbuf_appendf(out, "calls %s ", json_text_or(function, "name", ""));
        append_preview(out, json_text_or(function, "arguments", ""));
        strbuf_append_char(out, '\n');
    }
}

static void append_summaries(const struct history *history, const struct model_view_range *range,
                             struct strbuf *out)
{
    for (size_t i = 0; i < range->summaries.n; i++) {
        const json_t *json = history->items[range->summaries.items[i]].json;

        strbuf_appendf(out, "<summary of what was forgotten before>\n%s\n",
                       json_text_or(json, "summary", ""));
    }
}

/* The events of the range as the model would read them, in order. */
static void append_events(const struct history *history, const struct model_view_range *range,
                          struct strbuf *out)
{
    struct history part = HISTORY_INIT;
    json_auto_t *messages = json_array();

    part.items = mem_alloc_array(range->events.n, sizeof(*part.items));
    for (size_t i = 0; i < range->events.n; i++) {
        part.items[part.n] = history->items[range->events.items[i]];
        part.items[part.n++].summary = NULL;
    }
    messages_append_as_said(messages, &part);
    mem_free(part.items);
    for (size_t i = 0; i < json_array_size(messages); i++)
        append_message(out, json_array_get(messages, i));
}

static json_t *messages_for(const struct agent *agent, const struct model_view_range *range)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_t *messages = json_array();

    append_summaries(&agent->history, range, &text);
    append_events(&agent->history, range, &text);
    json_push(messages, messages_system(catalogue_text(agent->context->catalogue, TEXT_SUMMARY)));
    messages_append_user(messages, text.text);
    return messages;
}

int summary_ask(struct agent *agent, const json_t *condenser, const struct model_view_range *range,
                struct llm_reply *reply_out, struct llm_failure *failure_out, struct error *err)
{
    CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
    CLEANUP(secret_done) struct secret key = SECRET_INIT;
    json_auto_t *messages = messages_for(agent, range);
    json_t *llm = json_object_get(condenser, "llm");
    struct retry_notice telling = retry_notice_begin(agent);
    const struct llm_listener listener = retry_notice_listener(&telling);
    const struct llm_query question = {&choice, messages, NULL, USAGE_ID, &listener};

    secret_set(&key, json_text_or(llm, "api_key", ""));
    model_choose(agent->context, &agent->conversation, llm, &key, &choice);
    return llm_query_run(agent, &question, reply_out, failure_out, err);
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
