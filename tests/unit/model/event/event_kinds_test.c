/*
 * Kinds of events: the null members that the wire's objects have besides those stored, and the
 * names that filters may use.
 */
#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "model/event/event.h"
#include "unit/model/model_test.h"

/* {"kind": kind} gets these members, all of them null, and no others. */
static void assert_nulls(json_t *object, json_t *filled, const char *names)
{
    CLEANUP(strbuf_done) struct strbuf missing = STRBUF_INIT;
    const char *name = NULL;
    json_t *value = NULL;
    size_t n = 0;

    for (const char *at = names; *at != '\0'; n++) {
        size_t len = strcspn(at, " ");

        if (!json_is_null(json_object_getn(filled, at, len)))
            strbuf_appendf(&missing, " %.*s", (int)len, at);
        at += len + (at[len] == ' ');
    }
    if (missing.len > 0)
        fail_msg("%s lacks%s", json_dumps(object, 0), missing.text);
    json_object_foreach (filled, name, value) {
        if (json_object_get(object, name) == NULL)
            n--;
    }
    if (n != 0)
        fail_msg("%s has other members", json_dumps(filled, 0));
}

#define OF_A_TOOL "observation_type annotations meta"

static void each_kind_has_its_nulls(void **state)
{
    static const struct {
        const char *kind;
        const char *nulls;
    } rows[] = {
        {"ActionEvent", "parent_id reasoning_content responses_reasoning_item action critic_result"
                        " summary"},
        {"AgentErrorEvent", "parent_id classification"},
        {"Condensation", "parent_id summary summary_offset"},
        {"CondensationRequest", "parent_id"},
        {"CondensationSummaryEvent", "parent_id"},
        {"ConversationErrorEvent", "parent_id classification"},
        {"ConversationStateUpdateEvent", "parent_id"},
        {"HookExecutionEvent", "parent_id tool_name reason additional_context error action_id"
                               " message_id hook_input"},
        {"InterruptEvent", "parent_id"},
        {"MessageEvent", "parent_id llm_response_id sender critic_result"},
        {"ObservationEvent", "parent_id"},
        {"PauseEvent", "parent_id"},
        {"SecurityAnalysisEvent", "parent_id"},
        {"SystemPromptEvent", "parent_id dynamic_context"},
        {"UserRejectObservation", "parent_id"},
        {"TerminalAction", "timeout"},
        {"TerminalObservation", "command exit_code full_output_save_dir"},
        {"FileEditorAction", "file_text old_str new_str insert_line view_range"},
        {"FileEditorObservation", "path old_content new_content"},
        {"StartChildConversationAction", "title"},
        {"StartChildConversationObservation",
         "conversation_id parent_conversation_id status title url workspace isolation"},
        {"TaskAction", "description resume"},
        {"BrowserObservation", "screenshot_data full_output_save_dir"},
        {"TaskTool", OF_A_TOOL},
        {"TerminalTool", OF_A_TOOL},
        {"FileEditorTool", OF_A_TOOL},
        {"StartChildConversationTool", OF_A_TOOL},
        {"BrowserNavigateTool", OF_A_TOOL},
        {"BrowserClickTool", OF_A_TOOL},
        {"BrowserTypeTool", OF_A_TOOL},
        {"BrowserGetStateTool", OF_A_TOOL},
        {"BrowserGetContentTool", OF_A_TOOL},
        {"BrowserScrollTool", OF_A_TOOL},
        {"BrowserGoBackTool", OF_A_TOOL},
        {"BrowserListTabsTool", OF_A_TOOL},
        {"BrowserSwitchTabTool", OF_A_TOOL},
        {"BrowserCloseTabTool", OF_A_TOOL},
        {"BrowserGetStorageTool", OF_A_TOOL},
        {"BrowserSetStorageTool", OF_A_TOOL},
        {"TaskTrackerTool", OF_A_TOOL},
        {"FinishTool", OF_A_TOOL},
        {"ThinkTool", OF_A_TOOL},
        {"ThinkAction", ""},
        {"", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        json_auto_t *object = json_object();
        json_auto_t *filled = NULL;

        json_put_text(object, "kind", rows[i].kind);
        filled = json_deep_copy(object);
        event_fill_nulls(filled);
        assert_nulls(object, filled, rows[i].nulls);
    }
}

static void objects_without_kind_go_by_their_member(void **state)
{
    static const struct {
        const char *member;
        const char *nulls;
    } rows[] = {
        {"llm_message", "tool_calls tool_call_id name reasoning_content responses_reasoning_item"},
        {"tool_call", "responses_item_id"},
        {"tool_calls", "responses_item_id"},
        {"metadata", "username hostname working_dir py_interpreter_path"},
        {"other", ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        json_auto_t *object = json_of("{'a': 1}");
        json_auto_t *event = json_object();
        json_auto_t *list = json_array();

        json_put(event, rows[i].member, json_deep_copy(object));
        event_fill_nulls(event);
        assert_nulls(object, json_object_get(event, rows[i].member), rows[i].nulls);
        json_push(list, json_deep_copy(object));
        json_put(event, rows[i].member, json_incref(list));
        event_fill_nulls(event);
        assert_nulls(object, json_array_get(list, 0), rows[i].nulls);
    }
}

static void what_is_given_stays_and_free_members_are_left_alone(void **state)
{
    json_auto_t *event =
        json_of("{'kind': 'MessageEvent', 'sender': 'me', 'value': {'kind': 'MessageEvent'},"
                " 'arguments': [{'kind': 'MessageEvent'}]}");

    (void)state;
    event_fill_nulls(event);
    assert_json_is(event, "{'kind': 'MessageEvent', 'sender': 'me', 'parent_id': null,"
                          " 'llm_response_id': null, 'critic_result': null,"
                          " 'value': {'kind': 'MessageEvent'},"
                          " 'arguments': [{'kind': 'MessageEvent'}]}");
}

static void each_kind_has_the_name_of_its_class(void **state)
{
    static const char *const classes[] = {
        "openhands.sdk.event.llm_convertible.system.SystemPromptEvent",
        "openhands.sdk.event.llm_convertible.message.MessageEvent",
        "openhands.sdk.event.llm_convertible.action.ActionEvent",
        "openhands.sdk.event.llm_convertible.observation.ObservationEvent",
        "openhands.sdk.event.llm_convertible.observation.UserRejectObservation",
        "openhands.sdk.event.llm_convertible.observation.AgentErrorEvent",
        "openhands.sdk.event.conversation_error.ConversationErrorEvent",
        "openhands.sdk.event.conversation_state.ConversationStateUpdateEvent",
        "openhands.sdk.event.security.SecurityAnalysisEvent",
        "openhands.sdk.event.user_action.PauseEvent",
        "openhands.sdk.event.user_action.InterruptEvent",
        "openhands.sdk.event.condenser.CondensationRequest",
        "openhands.sdk.event.condenser.Condensation",
        "openhands.sdk.event.condenser.CondensationSummaryEvent",
        "openhands.sdk.event.hook_execution.HookExecutionEvent",
        "openhands.sdk.event.llm_completion_log.LLMCompletionLogEvent",
        "openhands.sdk.event.streaming_delta.StreamingDeltaEvent",
        "openhands.sdk.event.token.TokenEvent",
        "openhands.sdk.event.acp_tool_call.ACPToolCallEvent",
        "openhands.agent_server.models.ServerErrorEvent",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
        const char *name = strrchr(classes[i], '.') + 1;
        const char *found = event_kind_from_filter(classes[i]);
        const char *short_found = event_kind_from_filter(name);

        assert_string_equal(found != NULL ? found : "none", name);
        assert_string_equal(short_found != NULL ? short_found : "none", name);
    }
}

static void other_names_are_no_kinds(void **state)
{
    static const char *const names[] = {
        "openhands.sdk.event.token.PauseEvent",
        "openhands.sdk.event.user_actio.PauseEvent",
        "openhands.sdk.event.user_action2.PauseEvent",
        "openhands.sdk.event.user_actioX.PauseEvent",
        "Pause",
        "PauseEvents",
        "PauseEvent.",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        assert_null(event_kind_from_filter(names[i]));
}

int event_kind_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_nulls),
        cmocka_unit_test(objects_without_kind_go_by_their_member),
        cmocka_unit_test(what_is_given_stays_and_free_members_are_left_alone),
        cmocka_unit_test(each_kind_has_the_name_of_its_class),
        cmocka_unit_test(other_names_are_no_kinds),
    };

    return cmocka_run_group_tests_name("model/event kinds", tests, NULL, NULL);
}
