/*
 * Each builder's event, member by member.
 */
#include <string.h>

#include "base/json.h"
#include "model/event/event.h"
#include "unit/model/model_test.h"

#define CALL "00000000-0000-4000-8000-0000000000aa"

#define TEXT(text) "{'cache_prompt': false, 'type': 'text', 'text': '" text "'}"

/* The last event is of a kind and source, and its body has these members besides. */
static void assert_last(const struct event_list *list, const char *kind, const char *source,
                        const char *members)
{
    const struct event *event = &list->items[list->n - 1];
    json_auto_t *expected = json_of(members);

    assert_string_equal(event->kind, kind);
    assert_string_equal(event->source, source);
    json_put_text(expected, "kind", kind);
    json_put_text(expected, "source", source);
    assert_json_equal(event->json, expected);
}

static void prompts_have_tools_and_perhaps_a_context(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    json_auto_t *tools = json_of("[{'kind': 'ThinkTool'}]");

    (void)state;
    event_add_system_prompt(&list, "You are", tools, "Today");
    assert_last(&list, "SystemPromptEvent", "agent",
                "{'system_prompt': " TEXT("You are") ", 'tools': [{'kind': 'ThinkTool'}],"
                                                     " 'dynamic_context': " TEXT("Today") "}");
    event_add_system_prompt(&list, "You are", tools, "");
    assert_last(&list, "SystemPromptEvent", "agent",
                "{'system_prompt': " TEXT("You are") ", 'tools': [{'kind': 'ThinkTool'}]}");
    event_add_system_prompt(&list, "", tools, NULL);
    assert_last(&list, "SystemPromptEvent", "agent",
                "{'system_prompt': " TEXT("") ", 'tools': [{'kind': 'ThinkTool'}]}");
}

static void messages_have_a_source_and_a_role(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    json_auto_t *content = json_of("[" TEXT("Hi") "]");
    json_auto_t *skills = json_of("['s']");
    json_auto_t *extended = json_of("[" TEXT("more") "]");
    struct uuid id = UUID_INIT;

    (void)state;
    id = event_add_user_message(&list, content);
    assert_string_equal(id.text, list.items[0].id.text);
    assert_last(&list, "MessageEvent", "user",
                "{'llm_message': {'role': 'user', 'content': [" TEXT(
                    "Hi") "], 'thinking_blocks': []},"
                          " 'activated_skills': [], 'extended_content': []}");
    id = event_add_user_message_with(&list, content, skills, extended);
    assert_string_equal(id.text, list.items[1].id.text);
    assert_last(&list, "MessageEvent", "user",
                "{'llm_message': {'role': 'user', 'content': [" TEXT(
                    "Hi") "], 'thinking_blocks': []},"
                          " 'activated_skills': ['s'], 'extended_content': [" TEXT("more") "]}");
    id = event_add_environment_message(&list, "Go on");
    assert_string_equal(id.text, list.items[2].id.text);
    assert_last(&list, "MessageEvent", "environment",
                "{'llm_message': {'role': 'user', 'content': [" TEXT(
                    "Go on") "], 'thinking_blocks': []},"
                             " 'activated_skills': [], 'extended_content': []}");
    id = event_add_agent_message(&list, "Done", "because", "r1");
    assert_string_equal(id.text, list.items[3].id.text);
    assert_last(&list, "MessageEvent", "agent",
                "{'llm_message': {'role': 'assistant', 'content': [" TEXT(
                    "Done") "], 'thinking_blocks': [], 'reasoning_content': 'because'},"
                            " 'llm_response_id': 'r1', 'activated_skills': [],"
                            " 'extended_content': []}");
    (void)event_add_agent_message(&list, "", NULL, "r1");
    assert_last(&list, "MessageEvent", "agent",
                "{'llm_message': {'role': 'assistant', 'content': [], 'thinking_blocks': []},"
                " 'llm_response_id': 'r1', 'activated_skills': [], 'extended_content': []}");
}

static void an_action_has_the_call_as_the_model_made_it(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    json_auto_t *action = json_of("{'kind': 'ThinkAction', 'thought': 't'}");
    struct action_parts parts = {
        .tool_name = "think",
        .tool_call_id = "c1",
        .arguments = "{}",
        .llm_response_id = "r1",
        .security_risk = "LOW",
        .summary = "thinks",
        .action = action,
        .thought = "Let me think",
        .reasoning = "because",
    };
    struct uuid id = UUID_INIT;

    (void)state;
    id = event_add_action(&list, &parts);
    assert_string_equal(id.text, list.items[0].id.text);
    assert_last(&list, "ActionEvent", "agent",
                "{'thought': [" TEXT(
                    "Let me think") "], 'reasoning_content': 'because', 'thinking_blocks': [],"
                                    " 'action': {'kind': 'ThinkAction', 'thought': 't'},"
                                    " 'tool_name': 'think', 'tool_call_id': 'c1', 'tool_call':"
                                    " {'id': 'c1', 'name': 'think', 'arguments': '{}',"
                                    "  'origin': 'completion'}, 'llm_response_id': 'r1',"
                                    " 'security_risk': 'LOW', 'summary': 'thinks'}");
    parts = (struct action_parts){.tool_name = "think",
                                  .tool_call_id = "c1",
                                  .arguments = "{",
                                  .llm_response_id = "r1",
                                  .security_risk = "UNKNOWN"};
    (void)event_add_action(&list, &parts);
    assert_last(&list, "ActionEvent", "agent",
                "{'thought': [], 'thinking_blocks': [], 'tool_name': 'think', 'tool_call_id': 'c1',"
                " 'tool_call': {'id': 'c1', 'name': 'think', 'arguments': '{',"
                "  'origin': 'completion'}, 'llm_response_id': 'r1', 'security_risk': 'UNKNOWN'}");
}

static void results_name_their_call(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    const struct call_ref call = {.action_id = {CALL}, .tool_name = "t", .tool_call_id = "c"};
    json_auto_t *observation = json_of("{'kind': 'ThinkObservation'}");

    (void)state;
    event_add_observation(&list, &call, observation);
    assert_last(&list, "ObservationEvent", "environment",
                "{'tool_name': 't', 'tool_call_id': 'c', 'action_id': '" CALL
                "', 'observation': {'kind': 'ThinkObservation'}}");
    event_add_agent_error(&list, &call, "no such tool");
    assert_last(&list, "AgentErrorEvent", "agent",
                "{'tool_name': 't', 'tool_call_id': 'c', 'error': 'no such tool',"
                " 'classification': {'kind': 'agent_action', 'retryable': true,"
                " 'user_action': 'retry'}}");
    event_add_rejection(&list, &call, "not now");
    assert_last(&list, "UserRejectObservation", "environment",
                "{'tool_name': 't', 'tool_call_id': 'c', 'action_id': '" CALL
                "', 'rejection_reason': 'not now', 'rejection_source': 'user'}");
    assert_string_equal(list.items[list.n - 1].result_of.text, CALL);
    event_add_hook_rejection(&list, &call, "not allowed");
    assert_last(&list, "UserRejectObservation", "environment",
                "{'tool_name': 't', 'tool_call_id': 'c', 'action_id': '" CALL
                "', 'rejection_reason': 'not allowed', 'rejection_source': 'hook'}");
    assert_string_equal(list.items[list.n - 1].result_of.text, CALL);
}

static void hooks_tell_what_they_said(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    json_auto_t *input = json_of("{'tool_name': 't'}");

    (void)state;
    event_add_hook_execution(&list, &(struct hook_parts){.event_type = "PreToolUse",
                                                         .command = "guard.sh",
                                                         .tool_name = "t",
                                                         .out = "o",
                                                         .err = "e",
                                                         .reason = "r",
                                                         .additional_context = "c",
                                                         .error = "f",
                                                         .action_id = "a",
                                                         .message_id = "m",
                                                         .input = input,
                                                         .exit_code = 2,
                                                         .is_success = true,
                                                         .is_blocked = true});
    assert_last(&list, "HookExecutionEvent", "hook",
                "{'hook_event_type': 'PreToolUse', 'hook_command': 'guard.sh', 'tool_name': 't',"
                " 'success': true, 'blocked': true, 'exit_code': 2, 'stdout': 'o', 'stderr': 'e',"
                " 'reason': 'r', 'additional_context': 'c', 'error': 'f', 'action_id': 'a',"
                " 'message_id': 'm', 'hook_input': {'tool_name': 't'}}");
    event_add_hook_execution(
        &list, &(struct hook_parts){
                   .event_type = "Stop", .command = "s", .out = "", .err = "", .exit_code = -1});
    assert_last(&list, "HookExecutionEvent", "hook",
                "{'hook_event_type': 'Stop', 'hook_command': 's', 'success': false, 'blocked':"
                " false, 'exit_code': -1, 'stdout': '', 'stderr': ''}");
    assert_false(uuid_is_set(&list.items[0].result_of));
}

static void a_list_takes_the_events_of_another(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    struct event_list more = EVENT_LIST_INIT;
    const struct call_ref call = {{CALL}, "t", "c"};

    (void)state;
    event_add_pause(&list);
    event_add_rejection(&more, &call, "no");
    event_add_interrupt(&more);
    event_list_append(&list, &more);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.items[1].id.text, more.items[0].id.text);
    assert_string_equal(list.items[1].result_of.text, CALL);
    assert_string_equal(list.items[2].id.text, more.items[1].id.text);
    event_list_done(&more);
    assert_last(&list, "InterruptEvent", "user", "{}");
}

static void the_rest_says_what_happened(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    json_auto_t *ids = json_of("['e1', 'e2']");
    json_auto_t *risks = json_of("{'e1': 'HIGH'}");
    json_auto_t *value = json_of("{'a': 1}");

    (void)state;
    event_add_conversation_error(&list, "LLMError", "no answer");
    assert_last(&list, "ConversationErrorEvent", "environment",
                "{'code': 'LLMError', 'detail': 'no answer', 'classification':"
                " {'kind': 'unknown', 'retryable': false, 'user_action': 'none'}}");
    event_add_pause(&list);
    assert_last(&list, "PauseEvent", "user", "{}");
    event_add_interrupt(&list);
    assert_last(&list, "InterruptEvent", "user", "{}");
    event_add_condensation_request(&list);
    assert_last(&list, "CondensationRequest", "environment", "{}");
    event_add_condensation(&list, &(struct condensation_parts){ids, "all", 2, "r1"});
    assert_last(&list, "Condensation", "environment",
                "{'forgotten_event_ids': ['e1', 'e2'], 'summary': 'all', 'summary_offset': 2,"
                " 'llm_response_id': 'r1'}");
    event_add_security_analysis(&list, &(struct analysis_parts){"A", "P", risks, NULL});
    assert_last(&list, "SecurityAnalysisEvent", "environment",
                "{'analyzer': 'A', 'policy': 'P', 'risks': {'e1': 'HIGH'}, 'details': {}}");
    event_add_security_analysis(&list, &(struct analysis_parts){"A", "P", risks, value});
    assert_last(&list, "SecurityAnalysisEvent", "environment",
                "{'analyzer': 'A', 'policy': 'P', 'risks': {'e1': 'HIGH'}, 'details': {'a': 1}}");
    event_add_state(&list, "goal", value);
    assert_last(&list, "ConversationStateUpdateEvent", "environment",
                "{'key': 'goal', 'value': {'a': 1}}");
    event_add_status(&list, STATUS_WAITING_FOR_CONFIRMATION);
    assert_last(&list, "ConversationStateUpdateEvent", "environment",
                "{'key': 'execution_status', 'value': 'waiting_for_confirmation'}");
}

static void thinking_is_of_the_last_message_or_call(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    json_auto_t *blocks = json_of("[{'thinking': 'hm'}]");
    const struct action_parts parts = {.tool_name = "think",
                                       .tool_call_id = "c1",
                                       .arguments = "{}",
                                       .llm_response_id = "r1",
                                       .security_risk = "LOW"};

    (void)state;
    (void)event_add_agent_message(&list, "Done", NULL, "r1");
    event_list_set_thinking(&list, blocks);
    (void)event_add_action(&list, &parts);
    assert_json_is(json_object_get(list.items[1].json, "thinking_blocks"), "[]");
    event_list_set_thinking(&list, blocks);
    assert_json_is(
        json_object_get(json_object_get(list.items[0].json, "llm_message"), "thinking_blocks"),
        "[{'thinking': 'hm'}]");
    assert_null(json_object_get(list.items[0].json, "thinking_blocks"));
    assert_json_is(json_object_get(list.items[1].json, "thinking_blocks"), "[{'thinking': 'hm'}]");
}

static void the_last_event_takes_an_announced_id(void **state)
{
    CLEANUP(event_list_done) struct event_list list = EVENT_LIST_INIT;
    const struct uuid id = {CALL};

    (void)state;
    event_add_pause(&list);
    event_add_pause(&list);
    event_list_name_last(&list, &id);
    assert_string_not_equal(list.items[0].id.text, CALL);
    assert_string_equal(list.items[1].id.text, CALL);
}

static void a_done_list_is_empty(void **state)
{
    struct event_list list = EVENT_LIST_INIT;

    (void)state;
    event_add_pause(&list);
    event_list_done(&list);
    assert_int_equal(list.n, 0);
    assert_int_equal(list.size, 0);
    assert_null(list.items);
    event_list_done(NULL);
}

int event_builder_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompts_have_tools_and_perhaps_a_context),
        cmocka_unit_test(messages_have_a_source_and_a_role),
        cmocka_unit_test(an_action_has_the_call_as_the_model_made_it),
        cmocka_unit_test(results_name_their_call),
        cmocka_unit_test(hooks_tell_what_they_said),
        cmocka_unit_test(a_list_takes_the_events_of_another),
        cmocka_unit_test(the_rest_says_what_happened),
        cmocka_unit_test(thinking_is_of_the_last_message_or_call),
        cmocka_unit_test(the_last_event_takes_an_announced_id),
        cmocka_unit_test(a_done_list_is_empty),
    };

    return cmocka_run_group_tests_name("model/event builders", tests, NULL, NULL);
}
