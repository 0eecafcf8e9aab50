#include "model/event/event.h"

#include <assert.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/error_class.h"

static const char SOURCE_AGENT[] = "agent";
static const char SOURCE_USER[] = "user";
static const char SOURCE_ENVIRONMENT[] = "environment";
static const char SOURCE_HOOK[] = "hook";

enum { LIST_FIRST_SIZE = 8, BODY_USUAL_BYTES = 1000 };

void event_list_done(struct event_list *list)
{
    if (list == NULL)
        return;
    for (size_t i = 0; i < list->n; i++) {
        json_decref(list->items[i].json);
        mem_free(list->items[i].text);
    }
    mem_free(list->items);
    *list = (struct event_list)EVENT_LIST_INIT;
}

void event_append_body(const struct event *event, struct strbuf *out)
{
    char timestamp[CLOCK_TEXT_BYTES];

    clock_format_naive(event->timestamp_us, timestamp);
    strbuf_reserve(out, BODY_USUAL_BYTES);
    strbuf_append(out, "{\"id\":\"");
    strbuf_append(out, event->id.text);
    strbuf_append(out, "\",\"timestamp\":\"");
    strbuf_append(out, timestamp);
    strbuf_append(out, "\",");
    json_append_rest(out, event->json);
}

void event_write_text(struct event *event)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    event_append_body(event, &text);
    mem_free(event->text);
    event->text_len = text.len;
    event->text = strbuf_take(&text);
}

/* Appends a new event; the pointer is valid until the next one is added. */
static struct event *list_add(struct event_list *list, const char *kind, const char *source)
{
    struct event *event = NULL;

    if (list->n == list->size) {
        list->size = list->size > 0 ? list->size * 2 : LIST_FIRST_SIZE;
        list->items = mem_resize(list->items, list->size * sizeof(*list->items));
    }
    event = &list->items[list->n++];
    *event = (struct event){.id = uuid_random(), .kind = kind, .source = source};
    event->json = json_object();
    json_put_text(event->json, "source", source);
    json_put_text(event->json, "kind", kind);
    return event;
}

static json_t *texts_or_none(const char *text)
{
    json_t *list = json_array();

    if (text != NULL && text[0] != '\0')
        json_push(list, text_content(text));
    return list;
}

void event_add_system_prompt(struct event_list *list, const char *prompt, json_t *tools,
                             const char *dynamic_context)
{
    struct event *event = list_add(list, "SystemPromptEvent", SOURCE_AGENT);

    json_put(event->json, "system_prompt", text_content(prompt));
    json_put(event->json, "tools", json_incref(tools));
    if (dynamic_context != NULL && dynamic_context[0] != '\0')
        json_put(event->json, "dynamic_context", text_content(dynamic_context));
}

static struct event *add_message(struct event_list *list, const char *source, const char *role,
                                 json_t *content)
{
    struct event *event = list_add(list, "MessageEvent", source);
    json_t *message = json_object();

    json_put_text(message, "role", role);
    json_put(message, "content", content);
    json_put(message, "thinking_blocks", json_array());
    json_put(event->json, "llm_message", message);
    json_put(event->json, "activated_skills", json_array());
    json_put(event->json, "extended_content", json_array());
    return event;
}

struct uuid event_add_user_message(struct event_list *list, json_t *content)
{
    return add_message(list, SOURCE_USER, "user", json_incref(content))->id;
}

struct uuid event_add_user_message_with(struct event_list *list, json_t *content,
                                        json_t *activated_skills, json_t *extended_content)
{
    struct event *event = add_message(list, SOURCE_USER, "user", json_incref(content));

    json_put(event->json, "activated_skills", json_incref(activated_skills));
    json_put(event->json, "extended_content", json_incref(extended_content));
    return event->id;
}

void event_list_set_sender(struct event_list *list, const char *sender)
{
    for (size_t i = 0; sender != NULL && i < list->n; i++) {
        const struct event *event = &list->items[i];

        if (text_equal(event->kind, "MessageEvent") && text_equal(event->source, SOURCE_USER))
            json_put_text(event->json, "sender", sender);
    }
}

struct uuid event_add_environment_message(struct event_list *list, const char *text)
{
    return add_message(list, SOURCE_ENVIRONMENT, "user", texts_or_none(text))->id;
}

struct uuid event_add_agent_message(struct event_list *list, const char *text,
                                    const char *reasoning, const char *llm_response_id)
{
    struct event *event = add_message(list, SOURCE_AGENT, "assistant", texts_or_none(text));

    json_put_text(json_object_get(event->json, "llm_message"), "reasoning_content", reasoning);
    json_put_text(event->json, "llm_response_id", llm_response_id);
    return event->id;
}

/* Sets a member of the last event: of its message if it is one. */
static void set_in_answer(struct event_list *list, const char *name, json_t *value)
{
    struct event *event = NULL;
    json_t *message = NULL;

    assert(list->n > 0);
    event = &list->items[list->n - 1];
    message = json_object_get(event->json, "llm_message");
    json_put(message != NULL ? message : event->json, name, json_incref(value));
}

void event_list_set_thinking(struct event_list *list, json_t *blocks)
{
    set_in_answer(list, "thinking_blocks", blocks);
}

void event_list_set_reasoning_item(struct event_list *list, json_t *item)
{
    set_in_answer(list, "responses_reasoning_item", item);
}

void event_list_set_extended(struct event_list *list, json_t *parts)
{
    assert(list->n > 0);
    json_put(list->items[list->n - 1].json, "extended_content", json_incref(parts));
}

void event_list_name_last(struct event_list *list, const struct uuid *id)
{
    assert(list->n > 0);
    list->items[list->n - 1].id = *id;
}

static json_t *tool_call_to_json(const struct action_parts *parts)
{
    json_t *call = json_object();

    json_put_text(call, "id", parts->tool_call_id);
    json_put_text(call, "name", parts->tool_name);
    json_put_text(call, "arguments", parts->arguments);
    json_put_text(call, "responses_item_id", parts->responses_item_id);
    json_put_text(call, "origin", parts->responses_item_id != NULL ? "responses" : "completion");
    return call;
}

struct uuid event_add_action(struct event_list *list, const struct action_parts *parts)
{
    struct event *event = list_add(list, "ActionEvent", SOURCE_AGENT);

    json_put(event->json, "thought", texts_or_none(parts->thought));
    json_put_text(event->json, "reasoning_content", parts->reasoning);
    json_put(event->json, "thinking_blocks", json_array());
    json_put(event->json, "action", json_incref(parts->action));
    json_put_text(event->json, "tool_name", parts->tool_name);
    json_put_text(event->json, "tool_call_id", parts->tool_call_id);
    json_put(event->json, "tool_call", tool_call_to_json(parts));
    json_put_text(event->json, "llm_response_id", parts->llm_response_id);
    json_put_text(event->json, "security_risk", parts->security_risk);
    json_put_text(event->json, "summary", parts->summary);
    return event->id;
}

/* Adds an event that is the result of a call. */
static struct event *add_result(struct event_list *list, const char *kind, const char *source,
                                const struct call_ref *call)
{
    struct event *event = list_add(list, kind, source);

    event->result_of = call->action_id;
    json_put_text(event->json, "tool_name", call->tool_name);
    json_put_text(event->json, "tool_call_id", call->tool_call_id);
    return event;
}

/* Without the empty extended_content of the original, which older clients refuse. */
void event_add_observation(struct event_list *list, const struct call_ref *call,
                           json_t *observation)
{
    struct event *event = add_result(list, "ObservationEvent", SOURCE_ENVIRONMENT, call);

    json_put(event->json, "observation", json_incref(observation));
    json_put_text(event->json, "action_id", call->action_id.text);
}

static void add_error(struct event_list *list, const struct call_ref *call, const char *text,
                      enum error_class class)
{
    struct event *event = add_result(list, "AgentErrorEvent", SOURCE_AGENT, call);

    json_put_text(event->json, "error", text);
    json_put(event->json, "classification", error_class_to_json(class));
}

void event_add_agent_error(struct event_list *list, const struct call_ref *call, const char *text)
{
    add_error(list, call, text, ERROR_CLASS_AGENT_ACTION);
}

void event_add_internal_error(struct event_list *list, const struct call_ref *call,
                              const char *text)
{
    add_error(list, call, text, ERROR_CLASS_INTERNAL);
}

static void add_rejection(struct event_list *list, const struct call_ref *call, const char *reason,
                          const char *rejection_source)
{
    struct event *event = add_result(list, "UserRejectObservation", SOURCE_ENVIRONMENT, call);

    json_put_text(event->json, "rejection_reason", reason);
    json_put_text(event->json, "rejection_source", rejection_source);
    json_put_text(event->json, "action_id", call->action_id.text);
}

void event_add_rejection(struct event_list *list, const struct call_ref *call, const char *reason)
{
    add_rejection(list, call, reason, "user");
}

void event_add_hook_rejection(struct event_list *list, const struct call_ref *call,
                              const char *reason)
{
    add_rejection(list, call, reason, "hook");
}

void event_add_hook_execution(struct event_list *list, const struct hook_parts *parts)
{
    json_t *json = list_add(list, "HookExecutionEvent", SOURCE_HOOK)->json;

    json_put_text(json, "hook_event_type", parts->event_type);
    json_put_text(json, "hook_command", parts->command);
    json_put_text(json, "tool_name", parts->tool_name);
    json_put(json, "success", json_boolean(parts->is_success));
    json_put(json, "blocked", json_boolean(parts->is_blocked));
    json_put(json, "exit_code", json_integer(parts->exit_code));
    json_put_text(json, "stdout", parts->out);
    json_put_text(json, "stderr", parts->err);
    json_put_text(json, "reason", parts->reason);
    json_put_text(json, "additional_context", parts->additional_context);
    json_put_text(json, "error", parts->error);
    json_put_text(json, "action_id", parts->action_id);
    json_put_text(json, "message_id", parts->message_id);
    if (parts->input != NULL)
        json_put(json, "hook_input", json_incref(parts->input));
}

void event_list_append(struct event_list *list, const struct event_list *more)
{
    for (size_t i = 0; i < more->n; i++) {
        struct event *event = list_add(list, more->items[i].kind, more->items[i].source);

        json_decref(event->json);
        *event = more->items[i];
        json_incref(event->json);
        event->text = NULL;
        event->text_len = 0;
    }
}

void event_add_conversation_error(struct event_list *list, const char *code, const char *detail)
{
    struct event *event = list_add(list, "ConversationErrorEvent", SOURCE_ENVIRONMENT);

    json_put_text(event->json, "code", code);
    json_put_text(event->json, "detail", detail);
    json_put(event->json, "classification", error_class_to_json(error_class_of(code, detail)));
}

void event_add_pause(struct event_list *list)
{
    (void)list_add(list, "PauseEvent", SOURCE_USER);
}

void event_add_interrupt(struct event_list *list)
{
    (void)list_add(list, "InterruptEvent", SOURCE_USER);
}

void event_add_condensation_request(struct event_list *list)
{
    (void)list_add(list, "CondensationRequest", SOURCE_ENVIRONMENT);
}

void event_add_condensation(struct event_list *list, const struct condensation_parts *parts)
{
    struct event *event = list_add(list, "Condensation", SOURCE_ENVIRONMENT);

    json_put(event->json, "forgotten_event_ids", json_incref(parts->forgotten));
    json_put_text(event->json, "summary", parts->summary);
    json_put(event->json, "summary_offset", json_integer((json_int_t)parts->offset));
    json_put_text(event->json, "llm_response_id", parts->llm_response_id);
}

void event_add_security_analysis(struct event_list *list, const struct analysis_parts *parts)
{
    struct event *event = list_add(list, "SecurityAnalysisEvent", SOURCE_ENVIRONMENT);

    json_put_text(event->json, "analyzer", parts->analyzer);
    json_put_text(event->json, "policy", parts->policy);
    json_put(event->json, "risks", json_incref(parts->risks));
    json_put(event->json, "details",
             parts->details != NULL ? json_incref(parts->details) : json_object());
}

void event_add_state(struct event_list *list, const char *key, json_t *value)
{
    struct event *event = list_add(list, "ConversationStateUpdateEvent", SOURCE_ENVIRONMENT);

    json_put_text(event->json, "key", key);
    json_put(event->json, "value", json_incref(value));
}

void event_add_status(struct event_list *list, enum execution_status status)
{
    json_auto_t *value = json_text_of(status_to_string(status));

    event_add_state(list, "execution_status", value);
}
