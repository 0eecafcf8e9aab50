/*
 * Members of a start request that tables of their own check, and what of it the specification has.
 */
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/start/memory_size.h"
#include "unit/model/model_test.h"

#define START(members) "{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}}" members "}"

struct refusal_case {
    const char *request;
    const char *path;
    const char *type;
};

/* One problem each. */
static void assert_refusals(const struct refusal_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        json_auto_t *problems = refusal_of(cases[i].request);

        if (json_array_size(problems) != 1)
            fail_msg("%s: %s", cases[i].request, json_dumps(problems, 0));
        assert_string_equal(problem_at(problems, cases[i].path), cases[i].type);
    }
}

static void members_of_definitions_have_types(void **state)
{
    static const struct {
        const char *member;
        const char *type;
    } members[] = {
        {"'description': 5", "string_type"},
        {"'model': null", "string_type"},
        {"'color': 5", "string_type"},
        {"'tools': 'x'", "list_type"},
        {"'skills': 'x'", "list_type"},
        {"'system_prompt': 5", "string_type"},
        {"'source': 5", "string_type"},
        {"'level': 'x'", "literal_error"},
        {"'when_to_use_examples': 'x'", "list_type"},
        {"'hooks': 5", "model_attributes_type"},
        {"'permission_mode': 5", "string_type"},
        {"'max_iteration_per_run': 0", "greater_than_equal"},
        {"'max_budget_per_run': -1", "greater_than_equal"},
        {"'mcp_config': 5", "dict_type"},
        {"'profile_store_dir': 5", "string_type"},
        {"'condenser': 5", "dict_type"},
        {"'metadata': 5", "dict_type"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        CLEANUP(strbuf_done) struct strbuf request = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
        const char *name = members[i].member + 1;
        struct refusal_case refusal;

        strbuf_appendf(&request, START(", 'agent_definitions': [{'name': 'a'}, {'name': 'b', %s}]"),
                       members[i].member);
        strbuf_appendf(&path, "agent_definitions.1.%.*s", (int)strcspn(name, "'"), name);
        refusal = (struct refusal_case){request.text, path.text, members[i].type};
        assert_refusals(&refusal, 1);
    }
}

static void each_level_of_a_definition_is_known(void **state)
{
    static const char *const levels[] = {"'project'", "'user'",         "'builtin'",
                                         "'plugin'",  "'programmatic'", "null"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        json_auto_t *request = NULL;

        strbuf_appendf(&text, START(", 'agent_definitions': [{'name': 'a', 'level': %s}]"),
                       levels[i]);
        request = json_of(text.text);
        start_conversation(request, &conversation, NULL);
        assert_int_equal(json_array_size(json_object_get(conversation.spec, "agent_definitions")),
                         1);
    }
}

static void wrong_members_are_refused_once(void **state)
{
    static const struct refusal_case cases[] = {
        {START(", 'plugins': [{'source': 5}]"), "plugins.0.source", "string_type"},
        {START(", 'plugins': [{'source': 'x', 'ref': 5}]"), "plugins.0.ref", "string_type"},
        {START(", 'plugins': [{'source': 'x', 'repo_path': 5}]"), "plugins.0.repo_path",
         "string_type"},
        {START(", 'worktree_options': {'base': 'ref'}"), "worktree_options", "value_error"},
        {START(", 'worktree_options': {'ref': '-x'}"), "worktree_options.ref",
         "string_pattern_mismatch"},
        {START(", 'worktree_options': {'ref': ''}"), "worktree_options.ref",
         "string_pattern_mismatch"},
        {START(", 'worktree_options': {'ref': 'a b'}"), "worktree_options.ref",
         "string_pattern_mismatch"},
        {START(", 'worktree_options': {'branch_prefix': '/x'}"), "worktree_options.branch_prefix",
         "string_pattern_mismatch"},
        {START(", 'worktree_options': {'branch_prefix': 'x;'}"), "worktree_options.branch_prefix",
         "string_pattern_mismatch"},
        {START(", 'container': {'cpus': 0.009}"), "container.cpus", "greater_than_equal"},
        {START(", 'container': {'memory': ''}"), "container.memory", "string_pattern_mismatch"},
        {START(", 'container': {'memory': 'm'}"), "container.memory", "string_pattern_mismatch"},
        {START(", 'container': {'memory': '.5g'}"), "container.memory", "string_pattern_mismatch"},
        {START(", 'container': {'memory': '5x'}"), "container.memory", "string_pattern_mismatch"},
        {START(", 'container': {'memory': '5gg'}"), "container.memory", "string_pattern_mismatch"},
        {START(", 'container': {'memory': '5 gb '}"), "container.memory",
         "string_pattern_mismatch"},
        {START(", 'client_tools': [{'name': 'a', 'description': '', 'parameters':"
               " {'type': ['object']}}]"),
         "client_tools.0", "value_error"},
        {"{'workspace': {'working_dir': '../w'}, 'agent': {'llm': {}}}", "workspace.working_dir",
         "value_error"},
        {"{'workspace': {'working_dir': '/w'}, 'agent_settings': null}", "", "value_error"},
        {START(", 'agent_profile_id': '11111111-2222-4333-8444-555555555555'"), "", "value_error"},
        {"{'workspace': {'working_dir': '/w'}, 'agent_settings': {'tools': [{'name': 'nosuch'}]}}",
         "agent.tools.0", "value_error"},
        {START(", 'tags': {'a_b': 'x'}"), "tags.a_b", "value_error"},
        {"{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}, 'agent_context':"
         " {'secrets': {'A': {'value': 'x'}}}}}",
         "agent.agent_context.secrets.A.kind", "missing"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (cases[i].path[0] != '\0') {
            assert_refusals(&cases[i], 1);
        } else {
            json_auto_t *problems = refusal_of(cases[i].request);

            assert_int_equal(json_array_size(problems), 1);
            assert_json_is(json_object_get(json_array_get(problems, 0), "loc"), "['body']");
            assert_string_equal(json_text_or(json_array_get(problems, 0), "type", ""),
                                cases[i].type);
        }
    }
}

static void good_members_are_accepted(void **state)
{
    static const char *const requests[] = {
        START(", 'worktree_options': {'base': 'ref', 'ref': 'v1.0/a_b-c'}"),
        START(", 'worktree_options': {'branch_prefix': ''}"),
        START(", 'worktree_options': {'branch_prefix': 'me/x-'}"),
        START(", 'container': {'cpus': 0.01, 'memory': '0.5 TiB'}"),
        START(", 'container': {'memory': '1P'}"),
        START(", 'container': {'memory': '1K'}"),
        START(", 'container': {'memory': '1Ib'}"),
        START(", 'client_tools': [{'name': 'a', 'description': '', 'parameters': {}},"
              " {'name': 'b', 'description': '', 'parameters': {'type': 'object'}}]"),
        "{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}, 'tools': [{'name': 'mine'}]},"
        " 'client_tools': [{'name': 'mine', 'description': ''}]}",
        "{'workspace': {'working_dir': '/a..b/..c'}, 'agent': {'llm': {}}}",
        "{'workspace': {'working_dir': '/w'}, 'conversation_runtime': 'docker',"
        " 'agent': {'llm': {}}}",
        "{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}, 'agent_context':"
        " {'secrets': {'A': null}}}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        json_auto_t *request = json_of(requests[i]);

        start_conversation(request, &conversation, NULL);
        assert_non_null(conversation.spec);
    }
}

static void the_specification_keeps_what_was_given(void **state)
{
    static const char *const kept[] = {
        "workspace",
        "max_iterations",
        "stuck_detection",
        "stuck_detection_thresholds",
        "tags",
        "client_tools",
        "container",
        "worktree",
        "worktree_options",
        "plugins",
        "user_id",
        "autotitle",
        "title_llm_profile",
        "agent_definitions",
        "prompt",
        "agent_launch_additions",
        "hook_config",
        "tool_module_qualnames",
        "confirmation_policy",
        "security_analyzer",
    };
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *request = json_of(
        "{'workspace': {'working_dir': '/w', 'kind': 'LocalWorkspace'}, 'agent': {'llm': {}},"
        " 'max_iterations': 7, 'stuck_detection': false, 'stuck_detection_thresholds':"
        "  {'action_observation': 5, 'action_error': 6, 'monologue': 7, 'alternating_pattern': 8},"
        " 'tags': {'a': 'b'}, 'client_tools': [{'name': 'n', 'description': 'd', 'parameters': {},"
        "  'annotations': null}], 'container': {'memory': '1g', 'cpus': 1, 'browser': false},"
        " 'worktree': true, 'worktree_options': {'base': 'head', 'ref': null,"
        "  'branch_prefix': 'x/'}, 'plugins': [{'source': 's'}], 'user_id': 'u',"
        " 'autotitle': false, 'title_llm_profile': 't', 'agent_definitions': [{'name': 'a'}],"
        " 'prompt': 'p', 'agent_launch_additions': {'x': 1}, 'hook_config': {'pre_tool_use': [],"
        "  'post_tool_use': [], 'user_prompt_submit': [], 'session_start': [], 'session_end': [],"
        "  'stop': []}, 'tool_module_qualnames': {'x': 'y'},"
        " 'confirmation_policy': {'kind': 'AlwaysConfirm'},"
        " 'security_analyzer': {'kind': 'LLMSecurityAnalyzer'}}");

    (void)state;
    start_conversation(request, &conversation, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        assert_json_equal(json_object_get(conversation.spec, kept[i]),
                          json_object_get(request, kept[i]));
    assert_null(json_object_get(conversation.spec, "initial_message"));
    assert_null(json_object_get(conversation.spec, "has_browser"));
    assert_json_is(conversation.stats, "{'usage_to_metrics': {}}");
    assert_json_is(conversation.agent_state, "{}");
}

static void ids_and_runtimes_are_taken(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(secret_done) struct secret secrets = SECRET_INIT;
    const struct conversation_defaults defaults = {RUNTIME_DOCKER, NULL, NULL, false};
    json_auto_t *request =
        json_of(START(", 'parent_conversation_id': '0b2c8359-ca3b-401f-a002-45d39680560a',"
                      " 'conversation_runtime': 'local'"));
    json_auto_t *content = NULL;
    json_auto_t *problems = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(conversation_from_request(request, &defaults, &conversation, &secrets,
                                               &content, &problems, &err),
                     0);
    assert_string_equal(conversation.parent_id.text, "0b2c8359-ca3b-401f-a002-45d39680560a");
    assert_int_equal(conversation.runtime_kind, RUNTIME_LOCAL);
    assert_null(content);
}

static void official_modules_are_told_of_each_tool(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *request =
        json_of("{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}, 'tools': ["
                "{'name': 'terminal'}, {'name': 'file_editor'}, {'name': 'task_tracker'},"
                " {'name': 'browser_tool_set'}]}}");

    (void)state;
    start_conversation(request, &conversation, NULL);
    assert_json_is(json_object_get(conversation.spec, "tool_module_qualnames"),
                   "{'terminal': 'openhands.tools.terminal.definition',"
                   " 'file_editor': 'openhands.tools.file_editor.definition',"
                   " 'task_tracker': 'openhands.tools.task_tracker.definition',"
                   " 'browser_tool_set': 'openhands.tools.browser_use.definition'}");
}

static void secrets_leave_the_specification(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *request =
        json_of("{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {'api_key': 'k'},"
                " 'agent_context': {'secrets': {'A': 'a', 'B': 'b'}}},"
                " 'secrets': {'B': 'later', 'C': {'kind': 'LookupSecret', 'url': 'u',"
                "  'headers': {'H': 'h'}}}}");
    json_auto_t *secrets = NULL;

    (void)state;
    start_conversation(request, &conversation, &secrets);
    assert_json_is(secrets, "{'llm_api_key': 'k', 'secrets': {'A': 'a', 'B': 'later'}, 'members': {"
                            "'agent/llm/api_key': 'k', 'agent/agent_context/secrets/A': 'a',"
                            " 'agent/agent_context/secrets/B': 'b',"
                            " 'secret_registry/secret_sources/C/headers/H': 'h'}}");
    assert_json_is(json_object_get(conversation.spec, "secret_registry"),
                   "{'secret_sources': {"
                   "'A': {'kind': 'StaticSecret', 'value': '**********', 'description': null},"
                   " 'B': {'kind': 'StaticSecret', 'value': '**********', 'description': null},"
                   " 'C': {'kind': 'LookupSecret', 'url': 'u', 'headers': {'H': '**********'},"
                   "  'description': null}}}");
}

static void sizes_of_memory_are_bytes(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        {"0", 0},
        {"1", 1},
        {"512", 512},
        {"512b", 512},
        {"2k", 2048},
        {"2K", 2048},
        {"3m", 3145728},
        {"1g", 1073741824},
        {"1GiB", 1073741824},
        {"1.5 GB", 1610612736},
        {"1t", 1099511627776},
        {"1p", 1125899906842624},
        {"1ib", 1},
        {"0.5", 0},
        {"888P", 999799117276250112},
        {"889P", 0},
        {"", 0},
        {"m", 0},
        {"-1", 0},
        {"+1", 0},
        {" 1", 0},
        {".5g", 0},
        {"1  g", 0},
        {"1gx", 0},
        {"1gg", 0},
        {"1x", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (memory_size_bytes(cases[i].text) != cases[i].bytes)
            fail_msg("%s is %lld", cases[i].text, (long long)memory_size_bytes(cases[i].text));
    }
}

int start_members_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_definitions_have_types),
        cmocka_unit_test(each_level_of_a_definition_is_known),
        cmocka_unit_test(wrong_members_are_refused_once),
        cmocka_unit_test(good_members_are_accepted),
        cmocka_unit_test(the_specification_keeps_what_was_given),
        cmocka_unit_test(ids_and_runtimes_are_taken),
        cmocka_unit_test(official_modules_are_told_of_each_tool),
        cmocka_unit_test(secrets_leave_the_specification),
        cmocka_unit_test(sizes_of_memory_are_bytes),
    };

    return cmocka_run_group_tests_name("model/start members", tests, NULL, NULL);
}
