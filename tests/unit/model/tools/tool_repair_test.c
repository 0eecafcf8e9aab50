/*
 * Errors of models that are mended, names by which they call tools, and what a call's check keeps.
 */
#include <string.h>

#include "base/attr.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/tools/tool_check.h"
#include "model/tools/tool_repair.h"
#include "unit/model/model_test.h"

/* A whole call: the tool's name and the action, or the problem. Quotes are written '. */
struct call_case {
    const char *name;
    const char *arguments;
    const char *action; /* without the terminal's other members; NULL: refused */
};

static void check_calls(const char *spec_tools, const struct call_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(tool_call_check_done) struct tool_call_check check = {0};
        CLEANUP(strbuf_done) struct strbuf arguments = STRBUF_INIT;

        start_default(&conversation);
        json_put(conversation_agent(&conversation), "tools", json_of(spec_tools));
        json_put(conversation.spec, "has_browser", json_true());
        for (const char *at = cases[i].arguments; *at != '\0'; at++)
            strbuf_append_char(&arguments, (char)(*at == '\'' ? '"' : *at));
        check_call_of(&conversation, cases[i].name, arguments.text, &check);
        if (cases[i].action == NULL) {
            assert_null(check.action);
            assert_null(check.summary);
            assert_non_null(check.problem);
            continue;
        }
        if (check.problem != NULL)
            fail_msg("%s %s: %s", cases[i].name, cases[i].arguments, check.problem);
        (void)json_object_del(check.action, "is_input");
        (void)json_object_del(check.action, "reset");
        (void)json_object_del(check.action, "kind");
        assert_json_is(check.action, cases[i].action);
    }
}

#define TOOLS "[{'name': 'terminal'}, {'name': 'file_editor'}]"

static void other_names_mean_the_terminal_or_the_editor(void **state)
{
    static const struct call_case cases[] = {
        {"bash", "{'command': 'a'}", "{'command': 'a'}"},
        {"command", "{'command': 'a'}", "{'command': 'a'}"},
        {"execute", "{'command': 'a'}", "{'command': 'a'}"},
        {"execute_bash", "{'command': 'a'}", "{'command': 'a'}"},
        {"git", "{}", "{'command': 'git'}"},
        {"git", "{'command': 'gitk'}", "{'command': 'git gitk'}"},
        {"git", "{'command': 'git'}", "{'command': 'git'}"},
        {"reset", "{}", "{'command': 'reset'}"},
        {"reset", "{'command': 'x'}", "{'command': 'reset x'}"},
        {"find", "{}", "{'command': 'find'}"},
        {"find", "{'command': '.'}", NULL},
        {"ls", "{}", "{'command': 'ls'}"},
        {"pwd", "{'x': 1}", NULL},
        {"str_replace", "{'path': '/a'}", "{'command': 'view', 'path': '/a'}"},
        {"str_replace_editor", "{'path': '/a'}", "{'command': 'view', 'path': '/a'}"},
        {"grep", "{'pattern': 'a'}",
         "{'command': 'grep -rnE -e \\u0027a\\u0027 -- \\u0027.\\u0027'}"},
        {"grep", "{'pattern': 'a', 'path': 'b'}",
         "{'command': 'grep -rnE -e \\u0027a\\u0027 -- \\u0027b\\u0027'}"},
        {"grep", "{'path': 'b'}", NULL},
        {"terminal.run", "{'command': 'a'}", "{'command': 'a'}"},
        {"bash<x", "{'command': 'a'}", "{'command': 'a'}"},
        {"TerminalTool", "{'command': 'a'}", NULL},
        {"Terminal", "{'command': 'a'}", NULL},
        {"grepp", "{'pattern': 'a'}", NULL},
    };

    (void)state;
    check_calls(TOOLS, cases, ARRAY_SIZE(cases));
}

static void names_of_tools_that_the_agent_lacks_mean_nothing(void **state)
{
    static const struct call_case cases[] = {
        {"bash", "{'command': 'a'}", NULL},
        {"git", "{}", NULL},
        {"grep", "{'pattern': 'a'}", NULL},
        {"str_replace", "{'path': '/a'}", NULL},
    };

    (void)state;
    check_calls("[{'name': 'task_tracker'}]", cases, ARRAY_SIZE(cases));
}

static void members_are_mended(void **state)
{
    static const struct call_case cases[] = {
        {"terminal", "{'command': 'a', 'security_rort': 'LOW', 'securtiy_risk': 'LOW'}", NULL},
        {"terminal", "{'command': 'a', 'security_rort': 'LOW'}", "{'command': 'a'}"},
        {"terminal", "{'command': 'a', 'securtiy_risk': 'LOW'}", "{'command': 'a'}"},
        {"terminal", "{'command': 'a', 'security_riks': 'LOW'}", "{'command': 'a'}"},
        {"terminal", "{'command': 'a', 'timeout': null, 'other': null}", "{'command': 'a'}"},
        {"terminal", "{'command': ['a', ' b']}", "{'command': 'a b'}"},
        {"terminal", "{'command': ['a', 5]}", NULL},
        {"terminal", "{'command': []}", "{'command': ''}"},
        {"file_editor", "{'path': '/a', 'file_text': 'x'}",
         "{'command': 'create', 'path': '/a', 'file_text': 'x'}"},
        {"file_editor", "{'path': '/a', 'insert_line': 0, 'new_str': 'x'}",
         "{'command': 'insert', 'path': '/a', 'insert_line': 0, 'new_str': 'x'}"},
        {"file_editor", "{'path': '/a', 'old_str': 'x', 'insert_line': 1, 'file_text': 'y'}",
         "{'command': 'str_replace', 'path': '/a', 'old_str': 'x', 'insert_line': 1,"
         " 'file_text': 'y'}"},
        {"file_editor", "{'command': 'undo_edit', 'path': '/a', 'old_str': 'x'}",
         "{'command': 'undo_edit', 'path': '/a', 'old_str': 'x'}"},
        {"file_editor", "{}", NULL},
        {"file_editor", "{'path': '/a', 'view_range': '[1, 2]'}",
         "{'command': 'view', 'path': '/a', 'view_range': [1, 2]}"},
        {"file_editor", "{'path': '/a', 'view_range': '1, 2'}", NULL},
    };

    (void)state;
    check_calls(TOOLS, cases, ARRAY_SIZE(cases));
}

static void objects_and_lists_sent_as_text_are_read(void **state)
{
    static const struct call_case cases[] = {
        {"task_tracker", "{'command': 'plan', 'task_list': '[{\\'title\\': \\'a\\'}]'}",
         "{'command': 'plan', 'task_list': [{'title': 'a', 'notes': '', 'status': 'todo'}]}"},
        {"browser_set_storage", "{'storage_state': '{\\'a\\': 1} and more'}",
         "{'storage_state': {'a': 1}}"},
        {"browser_set_storage", "{'storage_state': 'a'}", NULL},
    };

    (void)state;
    check_calls("[{'name': 'task_tracker'}, {'name': 'browser_tool_set'}]", cases,
                ARRAY_SIZE(cases));
}

static void arguments_are_parsed_or_replaced(void **state)
{
    static const struct {
        const char *arguments;
        const char *kept;
        bool is_object;
    } cases[] = {
        {"{\"a\": 1}", "{\"a\": 1}", true},
        {"", "{}", true},
        {" \n", "{}", true},
        {"[1]", "{}", true},
        {"5", "{}", true},
        {"{\"a\": \"b\nc\td\"}", "{\"a\": \"b\\u000ac\\u0009d\"}", true},
        {"{\n\"a\": \"b\\\"\nc\"}", "{\n\"a\": \"b\\\"\\u000ac\"}", true},
        {"{\"a\": \"b\\\\\", \"c\":\n\"\x1f\"}", "{\"a\": \"b\\\\\", \"c\":\n\"\\u001f\"}", true},
        {"{",
         "{\"_openhands_malformed_tool_call\":true,"
         "\"error\":\"the arguments were not valid JSON\"}",
         false},
        {"{\"a\": \"\\",
         "{\"_openhands_malformed_tool_call\":true,"
         "\"error\":\"the arguments were not valid JSON\"}",
         false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf kept = STRBUF_INIT;
        json_auto_t *parsed = tool_repair_parse(cases[i].arguments, &kept);

        assert_string_equal(kept.text, cases[i].kept);
        assert_int_equal(json_is_object(parsed), cases[i].is_object);
    }
}

static void problems_are_told_without_values(void **state)
{
    static const struct {
        const char *name;
        const char *arguments;
        const char *problem;
    } cases[] = {
        {"terminal", "{}",
         "Error validating tool 'terminal': 1 validation error for TerminalAction\n"
         "command: Field required. Parameters provided: []"},
        {"terminal", "{\"cmd\": \"x\", \"timeout\": -1}",
         "Error validating tool 'terminal': 3 validation errors for TerminalAction\n"
         "command: Field required\ntimeout: Input should be greater than or equal to 0\n"
         "cmd: Extra inputs are not permitted. Parameters provided: ['cmd', 'timeout']"},
        {"bash", "{",
         "Error validating tool 'terminal': the arguments are not a JSON object."
         " Arguments: unparseable JSON"},
        {"other", "{",
         "Tool 'other' not found. Available: ['terminal', 'file_editor',"
         " 'task_tracker', 'finish', 'think']"},
    };
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    (void)state;
    start_default(&conversation);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(tool_call_check_done) struct tool_call_check check = {0};

        check_call_of(&conversation, cases[i].name, cases[i].arguments, &check);
        assert_string_equal(check.problem, cases[i].problem);
        assert_string_equal(check.security_risk, "UNKNOWN");
    }
}

static void risks_are_taken_or_refused(void **state)
{
    static const struct {
        const char *name;
        const char *arguments;
        const char *risk; /* NULL: refused */
    } cases[] = {
        {"terminal", "{\"command\":\"a\",\"security_risk\":\"UNKNOWN\"}", "UNKNOWN"},
        {"terminal", "{\"command\":\"a\",\"security_risk\":\"LOW\"}", "LOW"},
        {"terminal", "{\"command\":\"a\",\"security_risk\":\"MEDIUM\"}", "MEDIUM"},
        {"terminal", "{\"command\":\"a\",\"security_risk\":\"HIGH\"}", "HIGH"},
        {"terminal", "{\"command\":\"a\",\"security_risk\":5}", NULL},
        {"terminal", "{\"command\":\"a\",\"security_risk\":\"\"}", NULL},
        {"think", "{\"thought\":\"a\",\"security_risk\":\"HIGH\"}", "UNKNOWN"},
        {"paint", "{\"security_risk\":\"HIGH\"}", "HIGH"},
        {"look", "{\"security_risk\":\"HIGH\"}", "UNKNOWN"},
        {"rate", "{\"security_risk\":\"HIGH\"}", "UNKNOWN"},
    };
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    (void)state;
    start_default(&conversation);
    json_put(conversation.spec, "security_analyzer", json_of("{'kind': 'LLMSecurityAnalyzer'}"));
    json_put(conversation.spec, "client_tools",
             json_of("[{'name': 'paint', 'parameters': {}}, {'name': 'look', 'parameters': {},"
                     " 'annotations': {'readOnlyHint': true}}, {'name': 'rate', 'parameters':"
                     " {'properties': {'security_risk': {}}}}]"));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(tool_call_check_done) struct tool_call_check check = {0};

        check_call_of(&conversation, cases[i].name, cases[i].arguments, &check);
        if (cases[i].risk == NULL) {
            assert_null(check.action);
            assert_non_null(strstr(check.problem, "security_risk: Input should be 'UNKNOWN', 'LOW',"
                                                  " 'MEDIUM' or 'HIGH'"));
            continue;
        }
        assert_string_equal(check.security_risk, cases[i].risk);
        assert_non_null(check.action);
    }
}

static void summaries_are_taken_or_made(void **state)
{
    static const struct {
        const char *name;
        const char *arguments;
        const char *summary;
    } cases[] = {
        {"terminal", "{\"command\":\"a\",\"summary\":\"lists\"}", "lists"},
        {"terminal", "{\"command\":\"a\",\"summary\":\" \"}", "terminal: {\"command\":\"a\"}"},
        {"terminal", "{\"command\":\"a\",\"summary\":5}", "terminal: {\"command\":\"a\"}"},
        {"paint", "{}", "paint: {}"},
        {"paint", "{\"summary\":\"paints\"}", "paints"},
        {"note", "{\"summary\":\"its own\"}", "note"},
    };
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    (void)state;
    start_default(&conversation);
    json_put(conversation.spec, "client_tools",
             json_of("[{'name': 'paint', 'parameters': {}}, {'name': 'note', 'parameters':"
                     " {'properties': {'summary': {}}}}]"));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(tool_call_check_done) struct tool_call_check check = {0};

        check_call_of(&conversation, cases[i].name, cases[i].arguments, &check);
        assert_string_equal(check.summary, cases[i].summary);
    }
}

static void made_summaries_are_cut(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(tool_call_check_done) struct tool_call_check check = {0};
    CLEANUP(strbuf_done) struct strbuf arguments = STRBUF_INIT;

    (void)state;
    start_default(&conversation);
    strbuf_append(&arguments, "{\"command\":\"");
    for (int i = 0; i < 500; i++)
        strbuf_append_char(&arguments, 'x');
    strbuf_append(&arguments, "\"}");
    check_call_of(&conversation, "terminal", arguments.text, &check);
    assert_int_equal(strlen(check.summary), 400);
    assert_memory_equal(check.summary, "terminal: {\"command\":\"xxx", 24);
}

static void a_done_check_is_empty(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    struct tool_call_check check = {0};

    (void)state;
    start_default(&conversation);
    check_call_of(&conversation, "terminal", "{\"command\":\"a\"}", &check);
    tool_call_check_done(&check);
    assert_null(check.action);
    assert_null(check.summary);
    assert_null(check.arguments);
    tool_call_check_done(NULL);
}

int tool_repair_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_names_mean_the_terminal_or_the_editor),
        cmocka_unit_test(names_of_tools_that_the_agent_lacks_mean_nothing),
        cmocka_unit_test(members_are_mended),
        cmocka_unit_test(objects_and_lists_sent_as_text_are_read),
        cmocka_unit_test(arguments_are_parsed_or_replaced),
        cmocka_unit_test(problems_are_told_without_values),
        cmocka_unit_test(risks_are_taken_or_refused),
        cmocka_unit_test(summaries_are_taken_or_made),
        cmocka_unit_test(made_summaries_are_cut),
        cmocka_unit_test(a_done_check_is_empty),
    };

    return cmocka_run_group_tests_name("model/tool repair", tests, NULL, NULL);
}
