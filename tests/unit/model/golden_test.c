/*
 * Against recordings of the original server: the same request gives the same reply, events have the
 * same members.
 */
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/event/observation_text.h"
#include "model/tools/tool_check.h"
#include "unit/model/model_test.h"

static void start_golden(struct conversation *conversation)
{
    json_auto_t *request = golden("start-request.json");

    start_conversation(request, conversation, NULL);
}

/* Makes the members alike that differ from one conversation to the next. */
static void adopt(json_t *ours, json_t *theirs, const char *name)
{
    assert_int_equal(json_typeof(json_object_get(ours, name)),
                     json_typeof(json_object_get(theirs, name)));
    json_put(ours, name, json_incref(json_object_get(theirs, name)));
}

static void new_conversation_is_told_like_the_original(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *theirs = golden("info-new.json");
    json_auto_t *ours = NULL;

    (void)state;
    start_golden(&conversation);
    ours = conversation_info(&conversation);
    adopt(ours, theirs, "id");
    adopt(ours, theirs, "persistence_dir");
    adopt(ours, theirs, "created_at");
    adopt(ours, theirs, "updated_at");
    assert_json_equal(ours, theirs);
}

static void first_snapshot_is_like_the_original(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *theirs = golden("full-state-new.json");
    json_auto_t *ours = NULL;

    (void)state;
    start_golden(&conversation);
    conversation_append_snapshot(&conversation, 1, &text);
    ours = json_loads(text.text, 0, NULL);
    adopt(ours, theirs, "id");
    adopt(ours, theirs, "timestamp");
    adopt(json_object_get(ours, "value"), json_object_get(theirs, "value"), "id");
    adopt(json_object_get(ours, "value"), json_object_get(theirs, "value"), "persistence_dir");
    assert_json_equal(ours, theirs);
}

static void last_snapshot_has_the_schema_of_the_original(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *theirs = golden("full-state-end.json");
    json_t *value = json_object_get(theirs, "value");
    json_auto_t *ours = NULL;

    (void)state;
    start_golden(&conversation);
    conversation.status = STATUS_FINISHED;
    conversation.last_user_message_id = uuid_random();
    conversation.leaf_event_id = uuid_random();
    json_decref(conversation.stats);
    conversation.stats = json_incref(json_object_get(value, "stats"));
    ours = conversation_full_state(&conversation);
    assert_same_schema(ours, value, "value");
    assert_string_equal(json_text_or(ours, "execution_status", ""), "finished");
}

static void secret_registry_is_shown_without_values(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *theirs = golden("secret-registry.json");
    json_auto_t *request = golden("start-request.json");
    json_auto_t *info = NULL;

    (void)state;
    json_put(request, "secrets", json_incref(json_object_get(theirs, "secrets")));
    start_conversation(request, &conversation, NULL);
    info = conversation_info(&conversation);
    assert_json_equal(json_object_get(info, "secret_registry"), json_object_get(theirs, "info"));
}

static void hide_descriptions(json_t *json)
{
    const char *name = NULL;
    json_t *value = NULL;
    size_t i = 0;

    if (json_is_string(json_object_get(json, "description")))
        json_put_text(json, "description", "<description>");
    json_object_foreach (json, name, value)
        hide_descriptions(value);
    json_array_foreach (json, i, value)
        hide_descriptions(value);
}

static void functions_equal_the_original_but_for_words(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *theirs = golden("functions.json");
    json_auto_t *ours = NULL;

    (void)state;
    start_golden(&conversation);
    ours = functions_of(&conversation);
    hide_descriptions(ours);
    assert_json_equal(ours, theirs);
}

/* Models copy the order of a schema, so it is part of the contract. */
static void functions_have_the_order_of_the_original(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *theirs = golden("functions.json");
    json_auto_t *ours = NULL;

    (void)state;
    start_golden(&conversation);
    ours = functions_of(&conversation);
    for (size_t i = 0; i < json_array_size(theirs); i++) {
        const char *path[] = {"function", "parameters", "properties"};
        json_t *mine = json_array_get(ours, i);
        json_t *other = json_array_get(theirs, i);

        for (size_t j = 0; j < ARRAY_SIZE(path); j++) {
            mine = json_object_get(mine, path[j]);
            other = json_object_get(other, path[j]);
        }
        assert_same_schema(mine, other, "properties");
        for (void *a = json_object_iter(mine), *b = json_object_iter(other); b != NULL;
             a = json_object_iter_next(mine, a), b = json_object_iter_next(other, b))
            assert_string_equal(json_object_iter_key(a), json_object_iter_key(b));
    }
}

static void observations_read_like_the_original(void **state)
{
    json_auto_t *cases = golden("observations.json");
    json_t *item = NULL;
    size_t i = 0;

    (void)state;
    json_array_foreach (cases, i, item) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

        observation_append_text(json_object_get(item, "observation"), &text);
        assert_string_equal(text.text, json_text_or(item, "text", ""));
    }
}

static struct call_ref call_of(json_t *theirs)
{
    struct call_ref call = {.tool_name = json_text_or(theirs, "tool_name", ""),
                            .tool_call_id = json_text_or(theirs, "tool_call_id", "")};

    if (json_object_get(theirs, "action_id") != NULL)
        assert_true(uuid_parse(json_text_or(theirs, "action_id", ""), &call.action_id));
    return call;
}

static const char *first_text(json_t *parts)
{
    return json_text_or(json_array_get(parts, 0), "text", "");
}

static void build_message(struct event_list *list, json_t *theirs)
{
    json_t *message = json_object_get(theirs, "llm_message");
    json_t *content = json_object_get(message, "content");

    if (text_equal(json_text_or(theirs, "source", ""), "user"))
        (void)event_add_user_message(list, content);
    else
        (void)event_add_agent_message(list, first_text(content), NULL,
                                      json_text_or(theirs, "llm_response_id", ""));
}

static void build_action(struct event_list *list, json_t *theirs)
{
    json_t *call = json_object_get(theirs, "tool_call");
    json_t *thought = json_object_get(theirs, "thought");
    struct action_parts parts = {
        .tool_name = json_text_or(theirs, "tool_name", ""),
        .tool_call_id = json_text_or(theirs, "tool_call_id", ""),
        .arguments = json_text_or(call, "arguments", ""),
        .llm_response_id = json_text_or(theirs, "llm_response_id", ""),
        .security_risk = json_text_or(theirs, "security_risk", ""),
        .summary = json_text_or(theirs, "summary", NULL),
        .action = json_object_get(theirs, "action"),
        .thought = json_array_size(thought) > 0 ? first_text(thought) : NULL,
    };

    (void)event_add_action(list, &parts);
}

/* Builds our event of that kind from what theirs says. */
static void build(struct event_list *list, json_t *theirs)
{
    const char *kind = json_text_or(theirs, "kind", "");
    struct call_ref call = call_of(theirs);

    if (text_equal(kind, "SystemPromptEvent"))
        event_add_system_prompt(list, "<system prompt>", json_object_get(theirs, "tools"), NULL);
    else if (text_equal(kind, "MessageEvent"))
        build_message(list, theirs);
    else if (text_equal(kind, "ActionEvent"))
        build_action(list, theirs);
    else if (text_equal(kind, "ObservationEvent"))
        event_add_observation(list, &call, json_object_get(theirs, "observation"));
    else if (text_equal(kind, "AgentErrorEvent"))
        event_add_agent_error(list, &call, json_text_or(theirs, "error", ""));
    else if (text_equal(kind, "UserRejectObservation"))
        event_add_rejection(list, &call, json_text_or(theirs, "rejection_reason", ""));
    else if (text_equal(kind, "ConversationErrorEvent"))
        event_add_conversation_error(list, json_text_or(theirs, "code", ""),
                                     json_text_or(theirs, "detail", ""));
    else if (text_equal(kind, "PauseEvent"))
        event_add_pause(list);
    else if (text_equal(kind, "InterruptEvent"))
        event_add_interrupt(list);
    else
        event_add_state(list, json_text_or(theirs, "key", ""), json_object_get(theirs, "value"));
}

static void every_kind_of_event_equals_the_original(void **state)
{
    json_auto_t *events = golden("events.json");
    json_t *theirs = NULL;
    size_t i = 0;

    (void)state;
    json_array_foreach (events, i, theirs) {
        CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
        json_auto_t *ours = NULL;

        build(&list, theirs);
        assert_int_equal(list.n, 1);
        ours = event_wire(&list.items[0]);
        adopt(ours, theirs, "id");
        adopt(ours, theirs, "timestamp");
        /* Older clients refuse a result with it. */
        if (text_equal(json_text_or(theirs, "kind", ""), "ObservationEvent"))
            (void)json_object_del(theirs, "extended_content");
        assert_json_equal(ours, theirs);
    }
}

static void tool_definitions_equal_the_original_but_for_words(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *events = golden("events.json");
    json_t *theirs = json_object_get(json_array_get(events, 0), "tools");
    json_auto_t *ours = NULL;

    (void)state;
    start_golden(&conversation);
    ours = definitions_of(&conversation);
    hide_descriptions(ours);
    assert_json_equal(ours, theirs);
}

/* Each recorded call of the model gives the recorded result. */
static void calls_become_the_actions_of_the_original(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *events = golden("events.json");
    json_t *event = NULL;
    size_t n_calls = 0;
    size_t i = 0;

    (void)state;
    start_golden(&conversation);
    json_array_foreach (events, i, event) {
        CLEANUP(tool_call_check_done) struct tool_call_check check = {0};
        json_t *call = json_object_get(event, "tool_call");

        if (call == NULL)
            continue;
        n_calls++;
        check_call_of(&conversation, json_text_or(call, "name", ""),
                      json_text_or(call, "arguments", ""), &check);
        assert_string_equal(check.arguments, json_text_or(call, "arguments", ""));
        assert_string_equal(check.security_risk, json_text_or(event, "security_risk", ""));
        if (json_object_get(event, "action") == NULL) {
            assert_null(check.action);
            assert_null(check.summary);
            assert_non_null(check.problem);
            continue;
        }
        assert_json_equal(check.action, json_object_get(event, "action"));
        assert_string_equal(check.summary, json_text_or(event, "summary", ""));
        assert_null(check.problem);
    }
    assert_true(n_calls > 5);
}

int golden_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_conversation_is_told_like_the_original),
        cmocka_unit_test(first_snapshot_is_like_the_original),
        cmocka_unit_test(last_snapshot_has_the_schema_of_the_original),
        cmocka_unit_test(secret_registry_is_shown_without_values),
        cmocka_unit_test(functions_equal_the_original_but_for_words),
        cmocka_unit_test(functions_have_the_order_of_the_original),
        cmocka_unit_test(observations_read_like_the_original),
        cmocka_unit_test(every_kind_of_event_equals_the_original),
        cmocka_unit_test(tool_definitions_equal_the_original_but_for_words),
        cmocka_unit_test(calls_become_the_actions_of_the_original),
    };

    return cmocka_run_group_tests_name("model/golden", tests, NULL, NULL);
}
