#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/event.h"
#include "unit/model/model_test.h"

static void events_have_distinct_ids_and_naive_times(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    json_auto_t *wire = NULL;

    (void)state;
    for (int i = 0; i < 20; i++)
        event_add_pause(&list);
    assert_int_equal(list.n, 20);
    assert_string_not_equal(list.items[0].id.text, list.items[19].id.text);
    list.items[3].timestamp_us = 1;
    wire = event_wire(&list.items[3]);
    assert_string_equal(json_text_or(wire, "timestamp", ""), "1970-01-01T00:00:00.000001");
    assert_string_equal(json_text_or(wire, "id", ""), list.items[3].id.text);
}

static void results_say_which_action_they_end(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    struct call_ref call = {.action_id = uuid_random(), .tool_name = "t", .tool_call_id = "c"};
    json_auto_t *observation = json_of("{'kind': 'ThinkObservation', 'content': []}");

    (void)state;
    event_add_observation(&list, &call, observation);
    event_add_agent_error(&list, &call, "no");
    event_add_rejection(&list, &call, "no");
    event_add_pause(&list);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(list.items[i].result_of.text, call.action_id.text);
    assert_false(uuid_is_set(&list.items[3].result_of));
    assert_null(json_object_get(list.items[1].json, "action_id"));
}

static void errors_say_whose_fault_they_are(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    struct call_ref call = {.action_id = uuid_random(), .tool_name = "t", .tool_call_id = "c"};
    json_auto_t *of_agent =
        json_of("{'kind': 'agent_action', 'retryable': true, 'user_action': 'retry'}");
    json_auto_t *of_sandbox =
        json_of("{'kind': 'internal', 'retryable': false, 'user_action': 'none'}");
    json_auto_t *of_account =
        json_of("{'kind': 'quota', 'retryable': false, 'user_action': 'settings'}");

    (void)state;
    event_add_agent_error(&list, &call, "no");
    event_add_internal_error(&list, &call, "no");
    event_add_conversation_error(&list, "MaxBudgetReached", "spent");
    assert_json_equal(json_object_get(list.items[0].json, "classification"), of_agent);
    assert_json_equal(json_object_get(list.items[1].json, "classification"), of_sandbox);
    assert_json_equal(json_object_get(list.items[2].json, "classification"), of_account);
}

static void senders_are_of_the_users_messages_alone(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    json_auto_t *content = json_array();

    (void)state;
    event_add_environment_message(&list, "try otherwise");
    event_add_user_message(&list, content);
    event_add_pause(&list);
    event_list_set_sender(&list, NULL);
    assert_null(json_object_get(list.items[1].json, "sender"));
    event_list_set_sender(&list, "planner");
    assert_null(json_object_get(list.items[0].json, "sender"));
    assert_string_equal(json_text_or(list.items[1].json, "sender", ""), "planner");
    assert_null(json_object_get(list.items[2].json, "sender"));
}

static void broken_bytes_never_reach_the_wire(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct call_ref call = {
        .action_id = uuid_random(), .tool_name = "\xc3", .tool_call_id = "\xfe"};

    (void)state;
    event_add_agent_error(&list, &call, "bad \xf0\x9f end");
    event_append_body(&list.items[0], &text);
    assert_true(utf8_is_valid(text.text, text.len));
}

/* The text is what the body was when it was written. */
static void text_stays_with_its_event(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    CLEANUP(event_list_done) struct event_list more = EVENT_LIST_INIT;
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;

    (void)state;
    event_add_pause(&list);
    event_add_pause(&list);
    event_write_text(&list.items[0]);
    list.items[0].timestamp_us = 1;
    event_write_text(&list.items[0]);
    event_append_body(&list.items[0], &body);
    assert_string_equal(list.items[0].text, body.text);
    assert_int_equal(list.items[0].text_len, body.len);
    assert_null(list.items[1].text);
    event_list_append(&more, &list);
    assert_int_equal(more.n, 2);
    assert_null(more.items[0].text);
}

static void empty_texts_make_no_parts(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    const json_t *message = NULL;

    (void)state;
    (void)event_add_agent_message(&list, "", "because", "r");
    message = json_object_get(list.items[0].json, "llm_message");
    assert_int_equal(json_array_size(json_object_get(message, "content")), 0);
    assert_string_equal(json_text_or(message, "reasoning_content", ""), "because");
}

static void nulls_are_filled_in_where_the_schema_is_known(void **state)
{
    json_auto_t *event =
        json_of("{'kind': 'ActionEvent', 'id': 'x', 'summary': 's',"
                " 'action': {'kind': 'TerminalAction', 'command': 'ls', 'is_input': false},"
                " 'tool_call': {'id': 'c', 'name': 'terminal', 'arguments': '{}'},"
                " 'llm_message': {'role': 'assistant', 'tool_calls': [{'id': 'c'}]},"
                " 'value': {'kind': 'PauseEvent'}, 'arguments': {'kind': 'PauseEvent'},"
                " 'other': {'kind': 'NewEvent'}}");
    json_auto_t *expected =
        json_of("{'kind': 'ActionEvent', 'id': 'x', 'summary': 's', 'parent_id': null,"
                " 'reasoning_content': null, 'responses_reasoning_item': null,"
                " 'critic_result': null, 'action': {'kind': 'TerminalAction', 'command': 'ls',"
                "  'is_input': false, 'timeout': null},"
                " 'tool_call': {'id': 'c', 'name': 'terminal', 'arguments': '{}',"
                "  'responses_item_id': null},"
                " 'llm_message': {'role': 'assistant', 'tool_call_id': null, 'name': null,"
                "  'reasoning_content': null, 'responses_reasoning_item': null,"
                "  'tool_calls': [{'id': 'c', 'responses_item_id': null}]},"
                " 'value': {'kind': 'PauseEvent'}, 'arguments': {'kind': 'PauseEvent'},"
                " 'other': {'kind': 'NewEvent'}}");

    (void)state;
    event_fill_nulls(event);
    assert_json_equal(event, expected);
}

static void filter_takes_short_and_long_names(void **state)
{
    (void)state;
    assert_string_equal(event_kind_from_filter("ActionEvent"), "ActionEvent");
    assert_string_equal(
        event_kind_from_filter("openhands.sdk.event.llm_convertible.action.ActionEvent"),
        "ActionEvent");
    assert_string_equal(event_kind_from_filter(
                            "openhands.sdk.event.conversation_state.ConversationStateUpdateEvent"),
                        "ConversationStateUpdateEvent");
    assert_null(event_kind_from_filter("openhands.sdk.event.action.ActionEvent"));
    assert_null(event_kind_from_filter("Foo"));
    assert_null(event_kind_from_filter(""));
    assert_null(event_kind_from_filter(".ActionEvent"));
}

int event_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_have_distinct_ids_and_naive_times),
        cmocka_unit_test(results_say_which_action_they_end),
        cmocka_unit_test(errors_say_whose_fault_they_are),
        cmocka_unit_test(senders_are_of_the_users_messages_alone),
        cmocka_unit_test(broken_bytes_never_reach_the_wire),
        cmocka_unit_test(text_stays_with_its_event),
        cmocka_unit_test(empty_texts_make_no_parts),
        cmocka_unit_test(nulls_are_filled_in_where_the_schema_is_known),
        cmocka_unit_test(filter_takes_short_and_long_names),
    };

    return cmocka_run_group_tests_name("model/event", tests, NULL, NULL);
}
