#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "model/tools/tool_check.h"
#include "unit/model/model_test.h"

struct call_case {
    const char *name;
    const char *arguments;
    const char *action; /* NULL: the call has a problem */
};

static void check_call(const struct conversation *conversation, const struct call_case *c)
{
    CLEANUP(tool_call_check_done) struct tool_call_check check = {0};
    CLEANUP(mem_freep) char *arguments = mem_dup_text(c->arguments);
    json_auto_t *expected = NULL;
    json_auto_t *kept = NULL;

    for (char *p = arguments; *p != '\0'; p++)
        *p = (char)(*p == '\'' ? '"' : *p);
    check_call_of(conversation, c->name, arguments, &check);
    kept = json_loads(check.arguments, 0, NULL);
    assert_true(json_is_object(kept));
    if (c->action == NULL) {
        assert_null(check.action);
        assert_null(check.summary);
        assert_non_null(check.problem);
        return;
    }
    assert_null(check.problem);
    assert_non_null(check.summary);
    expected = json_of(c->action);
    assert_json_equal(check.action, expected);
}

static void calls_are_repaired_checked_and_completed(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    static const struct call_case cases[] = {
        {"terminal", "{'command': 'ls'}",
         "{'command': 'ls', 'is_input': false, 'reset': false, 'kind': 'TerminalAction'}"},
        {"terminal", "{'command': 'ls', 'timeout': null}",
         "{'command': 'ls', 'is_input': false, 'reset': false, 'kind': 'TerminalAction'}"},
        {"terminal", "{'command': 'ls', 'timeout': 5, 'is_input': 'true'}",
         "{'command': 'ls', 'is_input': true, 'timeout': 5, 'reset': false,"
         " 'kind': 'TerminalAction'}"},
        {"terminal<|channel|>commentary", "{'command': 'ls'}",
         "{'command': 'ls', 'is_input': false, 'reset': false, 'kind': 'TerminalAction'}"},
        {"execute_bash", "{'command': 'ls', 'securtiy_risk': 'LOW'}",
         "{'command': 'ls', 'is_input': false, 'reset': false, 'kind': 'TerminalAction'}"},
        {"git", "{'command': 'status'}",
         "{'command': 'git status', 'is_input': false, 'reset': false, 'kind': 'TerminalAction'}"},
        {"git", "{'command': 'git status'}",
         "{'command': 'git status', 'is_input': false, 'reset': false, 'kind': 'TerminalAction'}"},
        {"pwd", "",
         "{'command': 'pwd', 'is_input': false, 'reset': false, 'kind': 'TerminalAction'}"},
        {"terminal", "{'command': ['echo ', 'hi']}",
         "{'command': 'echo hi', 'is_input': false, 'reset': false, 'kind': 'TerminalAction'}"},
        {"terminal", "{'command': 'a\nb'}",
         "{'command': 'a\\nb', 'is_input': false, 'reset': false, 'kind': 'TerminalAction'}"},
        {"file_editor", "{'path': '/a', 'view_range': '[1, 2] trailing'}",
         "{'command': 'view', 'path': '/a', 'view_range': [1, 2], 'kind': 'FileEditorAction'}"},
        {"str_replace_editor", "{'path': '/a', 'old_str': 'x', 'new_str': 'y'}",
         "{'command': 'str_replace', 'path': '/a', 'old_str': 'x', 'new_str': 'y',"
         " 'kind': 'FileEditorAction'}"},
        {"task_tracker", "{'command': 'plan', 'task_list': [{'title': 'a', 'zzz': 1}]}",
         "{'command': 'plan', 'task_list': [{'title': 'a', 'notes': '', 'status': 'todo'}],"
         " 'kind': 'TaskTrackerAction'}"},
        {"task_tracker", "{}", "{'command': 'view', 'task_list': [], 'kind': 'TaskTrackerAction'}"},
        {"think", "{'thought': 't', 'security_risk': 'wild', 'summary': 's'}",
         "{'thought': 't', 'kind': 'ThinkAction'}"},
        {"finish", "[1]", NULL},
        {"finish", "{'message': 5}", NULL},
        {"terminal", "{'cmd': 'ls'}", NULL},
        {"terminal", "{'command': 'ls', 'timeout': -1}", NULL},
        {"terminal", "{broken", NULL},
        {"file_editor", "{'command': 'erase', 'path': '/a'}", NULL},
        {"file_editor", "{'command': 'view'}", NULL},
        {"ls", "{'path': '/a'}", NULL},
        {"nosuch", "{'x': 1}", NULL},
        {"", "{}", NULL},
    };

    (void)state;
    start_default(&conversation);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_call(&conversation, &cases[i]);
}

static void grep_becomes_a_quoted_command(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(tool_call_check_done) struct tool_call_check check = {0};

    (void)state;
    start_default(&conversation);
    check_call_of(&conversation, "grep",
                  "{\"pattern\": \"it's; rm -rf /\", \"path\": \"a b\", \"include\": \"*.c\"}",
                  &check);
    assert_string_equal(json_text_or(check.action, "command", ""),
                        "grep -rnE --include='*.c' -e 'it'\\''s; rm -rf /' -- 'a b'");
}

/* An event that is nested deeper than our readers go could be stored, and never read again. */
static void objects_sent_as_text_are_no_deeper_than_others(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(tool_call_check_done) struct tool_call_check check = {0};
    CLEANUP(strbuf_done) struct strbuf deep = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = NULL;
    json_auto_t *arguments = json_object();

    (void)state;
    for (int i = 0; i < 1000; i++)
        strbuf_append(&deep, "{\"a\":");
    strbuf_append(&deep, "1");
    for (int i = 0; i < 1000; i++)
        strbuf_append_char(&deep, '}');
    json_put_text(arguments, "storage_state", deep.text);
    text = json_to_text(arguments);
    start_default(&conversation);
    json_put(conversation.spec, "has_browser", json_true());
    json_push(json_object_get(conversation_agent(&conversation), "tools"),
              json_of("{'name': 'browser_tool_set', 'params': {}}"));
    check_call_of(&conversation, "browser_set_storage", text, &check);
    assert_null(check.action);
    assert_non_null(strstr(check.problem, "storage_state"));
}

/* The official client refuses the whole conversation for one action that its model does not take.
 */
static void call_of_the_clients_tool_fits_its_schema(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    static const struct call_case cases[] = {
        {"show", "{'title': 'T', 'n': 2, 'summary': 'x', 'security_risk': 'LOW'}",
         "{'title': 'T', 'n': 2, 'kind': 'ClientAction_show'}"},
        {"show", "{'title': 'T', 'n': 2.0}",
         "{'title': 'T', 'n': 2.0, 'kind': 'ClientAction_show'}"},
        {"show", "{'title': 'T', 'n': null, 'rows': [[1, 2], []], 'more': {'a': [1]}}",
         "{'title': 'T', 'n': null, 'rows': [[1, 2], []], 'more': {'a': [1]}, 'kind': "
         "'ClientAction_show'}"},
        {"show", "{'title': 'T', 'any': [1, 'a'], 'ok': true, 'part': 1, 'maybe': 'm'}",
         "{'title': 'T', 'any': [1, 'a'], 'ok': true, 'part': 1, 'maybe': 'm', 'kind': "
         "'ClientAction_show'}"},
        {"note", "{'summary': 'its own'}", "{'summary': 'its own', 'kind': 'ClientAction_note'}"},
        {"show", "{}", NULL},
        {"show", "{'title': null}", NULL},
        {"show", "{'title': 5}", NULL},
        {"show", "{'title': 'T', 'n': 2.5}", NULL},
        {"show", "{'title': 'T', 'n': '2'}", NULL},
        {"show", "{'title': 'T', 'rows': [[1, 'a']]}", NULL},
        {"show", "{'title': 'T', 'rows': [1]}", NULL},
        {"show", "{'title': 'T', 'more': []}", NULL},
        {"show", "{'title': 'T', 'ok': 'yes'}", NULL},
        {"show", "{'title': 'T', 'part': '1'}", NULL},
        {"show", "{'title': 'T', 'maybe': 1}", NULL},
        {"show", "{'title': 'T', 'other': 1}", NULL},
        {"show", "{broken", NULL},
        {"note", "{}", NULL},
        {"bare", "{'a': 1}", NULL},
        {"bare", "{}", "{'kind': 'ClientAction_bare'}"},
    };

    (void)state;
    start_default(&conversation);
    json_put(
        conversation.spec, "client_tools",
        json_of("[{'name': 'show', 'parameters': {'type': 'object', 'required': ['title'], "
                "'properties': {'title': {'type': 'string'}, 'n': {'type': 'integer'}, 'rows': "
                "{'type': 'array', 'items': {'type': 'array', 'items': {'type': 'number'}}}, "
                "'more': {'type': 'object'}, 'any': {}, 'ok': {'type': 'boolean'}, 'part': "
                "{'type': 'number'}, 'maybe': {'type': ['string', 'null']}}}}, {'name': 'note', "
                "'parameters': {'type': 'object', 'required': ['summary'], 'properties': "
                "{'summary': {'type': 'string'}}}}, {'name': 'bare', 'parameters': {'type': "
                "'object'}}]"));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        check_call(&conversation, &cases[i]);
}

static void problem_names_members_but_no_values(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(tool_call_check_done) struct tool_call_check check = {0};

    (void)state;
    start_default(&conversation);
    check_call_of(&conversation, "terminal", "{\"cmd\": \"hunter2\", \"timeout\": \"hunter2\"}",
                  &check);
    assert_null(strstr(check.problem, "hunter2"));
    assert_non_null(strstr(check.problem, "Error validating tool 'terminal': 3 validation errors"));
    assert_non_null(strstr(check.problem, "command: Field required"));
    assert_non_null(strstr(check.problem, "Parameters provided: ['cmd', 'timeout']"));
}

static void unknown_tool_is_told_what_there_is(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(tool_call_check_done) struct tool_call_check check = {0};

    (void)state;
    start_default(&conversation);
    check_call_of(&conversation, "nosuch", "{}", &check);
    assert_null(check.tool);
    assert_string_equal(check.problem,
                        "Tool 'nosuch' not found. Available: ['terminal', 'file_editor',"
                        " 'task_tracker', 'finish', 'think']");
}

static void broken_arguments_are_replaced_by_a_mark(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(tool_call_check_done) struct tool_call_check check = {0};
    json_auto_t *kept = NULL;

    (void)state;
    start_default(&conversation);
    check_call_of(&conversation, "terminal", "{\"command\": hunter2", &check);
    kept = json_loads(check.arguments, 0, NULL);
    assert_true(json_is_true(json_object_get(kept, "_openhands_malformed_tool_call")));
    assert_null(strstr(check.arguments, "hunter2"));
    assert_non_null(strstr(check.problem, "unparseable JSON"));
}

static void risk_counts_only_where_an_analyzer_listens(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(tool_call_check_done) struct tool_call_check without = {0};
    CLEANUP(tool_call_check_done) struct tool_call_check with = {0};
    CLEANUP(tool_call_check_done) struct tool_call_check wild = {0};
    CLEANUP(tool_call_check_done) struct tool_call_check silent = {0};
    json_auto_t *analyzer = json_of("{'kind': 'LLMSecurityAnalyzer'}");

    (void)state;
    start_default(&conversation);
    check_call_of(&conversation, "terminal", "{\"command\":\"ls\",\"security_risk\":\"HIGH\"}",
                  &without);
    json_put(conversation.spec, "security_analyzer", json_incref(analyzer));
    check_call_of(&conversation, "terminal", "{\"command\":\"ls\",\"security_risk\":\"HIGH\"}",
                  &with);
    check_call_of(&conversation, "terminal", "{\"command\":\"ls\",\"security_risk\":\"high\"}",
                  &wild);
    check_call_of(&conversation, "terminal", "{\"command\":\"ls\"}", &silent);
    assert_string_equal(without.security_risk, "UNKNOWN");
    assert_string_equal(with.security_risk, "HIGH");
    assert_null(wild.action);
    assert_string_equal(silent.security_risk, "UNKNOWN");
}

static void summary_is_made_where_there_is_none(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(tool_call_check_done) struct tool_call_check check = {0};

    (void)state;
    start_default(&conversation);
    check_call_of(&conversation, "terminal", "{\"command\":\"ls\",\"security_risk\":\"LOW\"}",
                  &check);
    assert_string_equal(check.summary, "terminal: {\"command\":\"ls\"}");
}

int tool_call_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_repaired_checked_and_completed),
        cmocka_unit_test(grep_becomes_a_quoted_command),
        cmocka_unit_test(objects_sent_as_text_are_no_deeper_than_others),
        cmocka_unit_test(call_of_the_clients_tool_fits_its_schema),
        cmocka_unit_test(problem_names_members_but_no_values),
        cmocka_unit_test(unknown_tool_is_told_what_there_is),
        cmocka_unit_test(broken_arguments_are_replaced_by_a_mark),
        cmocka_unit_test(risk_counts_only_where_an_analyzer_listens),
        cmocka_unit_test(summary_is_made_where_there_is_none),
    };

    return cmocka_run_group_tests_name("model/tool_call", tests, NULL, NULL);
}
