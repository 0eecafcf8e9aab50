#include "worker/agent/llm/risk_question.h"

#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "model/event/event.h"
#include "model/security/risk_text.h"
#include "model/tools/agent_tool.h"
#include "model/tools/tool_call.h"
#include "model/tools/tool_check.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/agent.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/messages.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/hooks/call_hooks.h"
#include "worker/agent/llm/policy.h"
#include "worker/context.h"

enum {
    CALLS_MAX_CHARS = 60000,
    THOUGHT_MAX_CHARS = 4000,
    EVENT_MAX_CHARS = 2000, /* of each text of an event */
    EVENTS_MAX_BYTES = 100000,
    WINDOW_EVENTS = 20,
};

void risk_calls_done(struct risk_calls *calls)
{
    strbuf_done(&calls->text);
}

static void append_clipped(struct strbuf *out, const char *text, size_t max_chars)
{
    size_t len = strlen(text);
    size_t end = utf8_offset(text, len, max_chars);

    strbuf_append_bytes(out, text, end);
    if (end < len)
        strbuf_append(out, " […]");
}

/* Masked and quoted. */
static void append_quoted(const struct agent *agent, const char *text, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf masked = STRBUF_INIT;

    secret_list_mask_text(&agent->secrets, text, &masked);
    risk_text_quote(out, masked.text);
}

/* --- the calls --- */

static void append_call(const struct tool_call_check *check, size_t number, struct strbuf *out)
{
    strbuf_appendf(out, "Call %zu: %s\n", number, check->tool->name);
    json_append_text(out, check->action);
    strbuf_append_char(out, '\n');
}

static void append_words(const struct llm_reply *reply, struct strbuf *out)
{
    if (text_is_blank(reply->text))
        return;
    strbuf_append(out, "The agent says: ");
    append_clipped(out, reply->text, THOUGHT_MAX_CHARS);
    strbuf_append_char(out, '\n');
}

/* True if the call can run; then it is added. */
static bool read_call(const struct agent *agent, const struct llm_tool_call *call, size_t number,
                      struct strbuf *out)
{
    CLEANUP(tool_call_check_done) struct tool_call_check check = {.tool = NULL};
    json_auto_t *withheld = NULL;

    tool_call_check(agent->tools, call->name, call->arguments, &check);
    if (check.action == NULL || check.tool == NULL)
        return false;
    withheld = secret_list_mask_call(&agent->secrets, &agent->conversation, &check);
    append_call(&check, number, out);
    return true;
}

void risk_calls_read(struct risk_calls *calls, const struct agent *agent,
                     const struct llm_reply *reply, const struct call_verdicts *verdicts)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct policy_call first = {.tool_name = ""};
    size_t end = 0;

    append_words(reply, &text);
    for (size_t i = 0; i < verdicts->n; i++) {
        if (verdicts->items[i].is_blocked ||
            !read_call(agent, &reply->calls[i], calls->n + 1, &text))
            continue;
        if (calls->n++ == 0)
            first.tool_name = reply->calls[i].name;
    }
    calls->is_talk = policy_is_talk(&first, calls->n);
    end = utf8_offset(text.text, text.len, CALLS_MAX_CHARS);
    calls->is_cut = end < text.len;
    strbuf_truncate(&text, end);
    append_quoted(agent, text.text, &calls->text);
}

/* --- the events before them --- */

/* True for what a model is told of as an event of the conversation. */
static bool is_told(const struct stored_event *event)
{
    static const char *const kinds[] = {"MessageEvent", "ActionEvent", "ObservationEvent",
                                        "AgentErrorEvent", "UserRejectObservation"};

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (stored_event_is(event, kinds[i]))
            return true;
    }
    return false;
}

/* The index of the n-th last event that is told. */
static size_t window_start(const struct history *history, int64_t n)
{
    size_t start = history->n;
    int64_t n_found = 0;

    for (size_t i = history->n; i > 0 && n_found < n; i--) {
        if (!is_told(&history->items[i - 1]))
            continue;
        start = i - 1;
        n_found++;
    }
    return start;
}

static void append_message(const json_t *message, struct strbuf *out)
{
    const json_t *content = json_object_get(message, "content");
    const json_t *calls = json_object_get(message, "tool_calls");

    strbuf_appendf(out, "[%s]\n", json_text_or(message, "role", ""));
    for (size_t i = 0; i < json_array_size(content); i++) {
        append_clipped(out, json_text_or(json_array_get(content, i), "text", "(an image)"),
                       EVENT_MAX_CHARS);
        strbuf_append_char(out, '\n');
    }
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *function = json_object_get(json_array_get(calls, i), "function");

        strbuf_appendf(out, "calls %s ", json_text_or(function, "name", ""));
        append_clipped(out, json_text_or(function, "arguments", ""), EVENT_MAX_CHARS);
        strbuf_append_char(out, '\n');
    }
}

static void append_messages(const struct history *history, size_t start, struct strbuf *out)
{
    CLEANUP(history_done) struct history part = HISTORY_INIT;
    json_auto_t *messages = json_array();

    part.items = mem_alloc_array(history->n - start, sizeof(*part.items));
    for (size_t i = start; i < history->n; i++) {
        if (is_told(&history->items[i]))
            part.items[part.n++] = stored_event_copy(&history->items[i]);
    }
    messages_append_as_said(messages, &part);
    for (size_t i = 0; i < json_array_size(messages); i++)
        append_message(json_array_get(messages, i), out);
}

/* Leaves the newest whole lines. */
static void cut_head(struct strbuf *text, size_t max_bytes)
{
    size_t n = 0;

    if (text->len <= max_bytes)
        return;
    n = text->len - max_bytes;
    n += strcspn(text->text + n, "\n");
    strbuf_remove_head(text, n);
}

static void append_events(const struct agent *agent, int64_t n_events, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    size_t start = window_start(&agent->history, n_events);

    if (start < agent->history.n)
        append_messages(&agent->history, start, &text);
    cut_head(&text, EVENTS_MAX_BYTES);
    append_quoted(agent, text.len > 0 ? text.text : "(none)", out);
}

/* --- the question --- */

static void append_instruction(const struct catalogue *catalogue, const json_t *guard,
                               struct strbuf *out)
{
    const char *experiences = json_text_or(guard, "safety_experiences", "");

    strbuf_append(out, catalogue_text(catalogue, TEXT_GUARD));
    if (text_is_blank(experiences))
        return;
    strbuf_append(out, "\n\n");
    catalogue_append(catalogue, TEXT_GUARD, "experiences",
                     (const struct text_value[]){{"experiences", experiences}}, 1, out);
}

json_t *risk_question_messages(const struct agent *agent, const json_t *guard,
                               const struct risk_calls *calls)
{
    CLEANUP(strbuf_done) struct strbuf instruction = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf events = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf request = STRBUF_INIT;
    const struct catalogue *catalogue = agent->context->catalogue;
    json_t *messages = json_array();

    append_instruction(catalogue, guard, &instruction);
    append_events(agent, json_int_or(guard, "history_window", WINDOW_EVENTS), &events);
    catalogue_append(
        catalogue, TEXT_GUARD, "request",
        (const struct text_value[]){{"events", events.text}, {"calls", calls->text.text}}, 2,
        &request);
    json_push(messages, messages_system(instruction.text));
    messages_append_user(messages, request.text);
    return messages;
}
