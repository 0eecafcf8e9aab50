#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "model/conversation/conversation.h"
#include "model/limits.h"
#include "model/tools/tools.h"
#include "unit/model/model_test.h"

#define START(members) "{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}}" members "}"

struct refusal_case {
    const char *request;
    const char *path;
    const char *type;
};

static void bad_requests_are_refused_with_the_place(void **state)
{
    static const struct refusal_case cases[] = {
        {"{'agent': {'llm': {}}}", "workspace", "missing"},
        {"{'workspace': {}, 'agent': {'llm': {}}}", "workspace.working_dir", "missing"},
        {"{'workspace': {'working_dir': ''}, 'conversation_runtime': 'docker',"
         " 'agent': {'llm': {}}}",
         "workspace.working_dir", "value_error"},
        {"{'workspace': {'working_dir': 'a'}, 'conversation_runtime': 'docker',"
         " 'agent': {'llm': {}}}",
         "workspace.working_dir", "value_error"},
        {"{'workspace': {'working_dir': 'a/../../etc'}, 'agent': {'llm': {}}}",
         "workspace.working_dir", "value_error"},
        {"{'workspace': {'working_dir': '/workspace/..'}, 'agent': {'llm': {}}}",
         "workspace.working_dir", "value_error"},
        {"{'workspace': {'working_dir': '/w', 'kind': 'RemoteWorkspace'}, 'agent': {'llm': {}}}",
         "workspace.kind", "literal_error"},
        {"{'workspace': {'working_dir': '/w'}, 'agent': {}}", "agent.llm", "missing"},
        {"{'workspace': {'working_dir': '/w'}, 'agent': 1}", "agent", "dict_type"},
        {"{'workspace': {'working_dir': '/w'}, 'agent': {'kind': 'ACPAgent'}}", "agent",
         "value_error"},
        {"{'workspace': {'working_dir': '/w'}, 'agent_settings': {'agent_kind': 'acp'}}",
         "agent_settings", "value_error"},
        {START(", 'max_iterations': 0"), "max_iterations", "greater_than_equal"},
        {START(", 'max_iterations': 'x'"), "max_iterations", "int_parsing"},
        {START(", 'max_budget_per_run': -1"), "max_budget_per_run", "greater_than_equal"},
        {START(", 'stuck_detection_thresholds': 3"), "stuck_detection_thresholds",
         "model_attributes_type"},
        {START(", 'stuck_detection_thresholds': {'monologue': 0}"),
         "stuck_detection_thresholds.monologue", "greater_than_equal"},
        {START(", 'stuck_detection_thresholds': {'action_error': 'often'}"),
         "stuck_detection_thresholds.action_error", "int_parsing"},
        {START(", 'initial_message': {'content': [], 'sender': 7}"), "initial_message.sender",
         "string_type"},
        {START(", 'conversation_id': 'x'"), "conversation_id", "uuid_parsing"},
        {START(", 'conversation_runtime': 'kubernetes'"), "conversation_runtime", "literal_error"},
        {START(", 'container': {'zz': 1}"), "container.zz", "extra_forbidden"},
        {START(", 'container': {'cpus': 0}"), "container.cpus", "greater_than_equal"},
        {START(", 'container': {'memory': 'lots'}"), "container.memory", "string_pattern_mismatch"},
        {START(", 'container': {'memory': '2.GB'}"), "container.memory", "string_pattern_mismatch"},
        {START(", 'confirmation_policy': {'kind': 'X'}"), "confirmation_policy", "value_error"},
        {START(", 'confirmation_policy': {'kind': 'ConfirmRisky', 'threshold': 'UNKNOWN'}"),
         "confirmation_policy.threshold", "literal_error"},
        {START(", 'security_analyzer': {'kind': 'X'}"), "security_analyzer", "value_error"},
        {START(", 'tags': {'A': 'x'}"), "tags.A", "value_error"},
        {START(", 'tags': {'a': 1}"), "tags.a", "string_type"},
        {START(", 'secrets': {'X': {'value': 'x'}}"), "secrets.X.kind", "missing"},
        {START(", 'secrets_encrypted': 'perhaps'"), "secrets_encrypted", "bool_parsing"},
        {START(", 'initial_message': {'content': [{'type': 'text'}]}"),
         "initial_message.content.0.text", "missing"},
        {START(", 'initial_message': {'content': 'go'}"), "initial_message.content", "list_type"},
        {"{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {},"
         " 'tools': [{'name': 'terminal'}, {'name': 'glob'}, {'name': 'nosuch'}]}}",
         "agent.tools.2", "value_error"},
        {START(", 'client_tools': [{'name': 'a', 'description': ''},"
               " {'name': 'a', 'description': ''}]"),
         "client_tools.1", "value_error"},
        {START(", 'client_tools': [{'name': 'a', 'description': '', 'parameters': {'type': "
               "'string'}}]"),
         "client_tools.0", "value_error"},
        {"{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}, 'condenser':"
         " {'kind': 'LLMSummarizingCondenser', 'llm': {'stream': true}}}}",
         "agent.condenser.llm", "value_error"},
        {START(", 'hook_config': {'x': []}"), "hook_config.x", "extra_forbidden"},
        {START(", 'hook_config': {'stop': [{'hooks': [{'type': 'zz', 'command': 'x'}]}]}"),
         "hook_config.stop.0.hooks.0.type", "literal_error"},
        {START(", 'security_analyzer': {'kind': 'EnsembleSecurityAnalyzer', 'analyzers': []}"),
         "security_analyzer.analyzers", "too_short"},
        {START(", 'security_analyzer': {'kind': 'EnsembleSecurityAnalyzer'}"),
         "security_analyzer.analyzers", "too_short"},
        {START(", 'security_analyzer': {'kind': 'EnsembleSecurityAnalyzer',"
               " 'analyzers': [{'kind': 'LLMSecurityAnalyzer'}, {}]}"),
         "security_analyzer.analyzers.1", "value_error"},
        {START(", 'plugins': [{}]"), "plugins.0.source", "missing"},
        {START(", 'agent_definitions': [{}]"), "agent_definitions.0.name", "missing"},
        {START(", 'agent_definitions': [{'name': 'a', 'level': 'b'}]"), "agent_definitions.0.level",
         "literal_error"},
        {START(", 'secrets': {'A': null}"), "secrets.A", "model_attributes_type"},
        {"{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}, 'persona': ''}}",
         "agent.persona", "string_too_short"},
        {"{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}, 'filter_tools_regex': '('}}",
         "agent.filter_tools_regex", "value_error"},
        {"{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}, 'filter_tools_regex': 'a)'}}",
         "agent.filter_tools_regex", "value_error"},
        {"{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}, 'filter_tools_regex': '[]'}}",
         "agent.filter_tools_regex", "value_error"},
        {"{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {}, 'filter_tools_regex':"
         " '(?<=a*)b'}}",
         "agent.filter_tools_regex", "value_error"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *problems = refusal_of(cases[i].request);

        assert_string_equal(problem_at(problems, cases[i].path), cases[i].type);
    }
}

static void relative_working_dir_is_below_the_workspace(void **state)
{
    static const struct {
        const char *sent;
        const char *kept;
    } cases[] = {
        {"workspace/project", "/workspace/project"},
        {"workspace", "/workspace"},
        {"./workspace/project/", "/workspace/project"},
        {"project", "/workspace/project"},
        {"workspaces/a", "/workspace/workspaces/a"},
        {".//a/b..c", "/workspace/a/b..c"},
        {".", "/workspace"},
        {"./", "/workspace"},
        {"", "/workspace"},
        {"/tmp/x/", "/tmp/x/"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        json_auto_t *request = json_of("{'workspace': {}, 'agent': {'llm': {'model': 'm'}}}");
        json_auto_t *secrets = NULL;

        json_put_text(json_object_get(request, "workspace"), "working_dir", cases[i].sent);
        start_conversation(request, &conversation, &secrets);
        assert_string_equal(conversation_working_dir(&conversation), cases[i].kept);
    }
}

static void what_is_kept_as_written_may_be_all_that_the_contract_says(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *request = json_of(
        START(", 'plugins': [{'source': 'x', 'more': 1}], 'security_analyzer': {'kind':"
              " 'EnsembleSecurityAnalyzer', 'analyzers': [{'kind': 'LLMSecurityAnalyzer'}]},"
              " 'agent_definitions': [{'name': 'a', 'tools': ['terminal'], 'hooks': null}],"
              " 'hook_config': {'stop': [{'hooks': [{'command': 'x'}]}]}"));
    json_auto_t *plugins = json_of("[{'source': 'x', 'more': 1}]");

    (void)state;
    json_put_text(json_object_get(request, "agent"), "filter_tools_regex", "^(?!x)[](]\\)$");
    start_conversation(request, &conversation, NULL);
    assert_json_equal(json_object_get(conversation.spec, "plugins"), plugins);
}

static void request_without_an_agent_is_refused(void **state)
{
    json_auto_t *problems = refusal_of("{'workspace': {'working_dir': '/w'}, 'agent': null}");

    (void)state;
    assert_int_equal(json_array_size(problems), 1);
    assert_string_equal(json_text_or(json_array_get(problems, 0), "type", ""), "value_error");
}

static void request_that_is_no_object_is_refused(void **state)
{
    json_auto_t *problems = refusal_of("[1]");

    (void)state;
    assert_string_equal(json_text_or(json_array_get(problems, 0), "type", ""),
                        "model_attributes_type");
}

static void given_id_is_taken_and_runtime_decides_the_sandbox(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *request = json_of(START(", 'conversation_id': '0b2c8359ca3b401fa00245d39680560a', "
                                         "'conversation_runtime': 'docker'"));

    (void)state;
    start_conversation(request, &conversation, NULL);
    assert_string_equal(conversation.id.text, "0b2c8359-ca3b-401f-a002-45d39680560a");
    assert_int_equal(conversation.runtime_kind, RUNTIME_DOCKER);
    assert_null(conversation.runtime_session);
}

static void silent_request_gets_the_defaults(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *request = json_of(START(""));

    (void)state;
    start_conversation(request, &conversation, NULL);
    assert_true(uuid_is_set(&conversation.id));
    assert_false(uuid_is_set(&conversation.parent_id));
    assert_int_equal(conversation.runtime_kind, RUNTIME_LOCAL);
    assert_null(conversation.runtime_session);
    assert_int_equal(conversation_max_iterations(&conversation), 500);
    assert_string_equal(conversation_working_dir(&conversation), "/w");
    assert_string_equal(json_text_or(conversation_llm(&conversation), "model", ""),
                        "scripted/hello");
}

static void form_of_the_other_client_is_understood(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *request = json_of("{'workspace': {'type': 'local', 'working_dir': '/w'},"
                                   " 'agent': {'llm': {'model': 'm'}}, 'stranger': 1}");
    json_auto_t *expected = json_of("{'working_dir': '/w', 'kind': 'LocalWorkspace'}");

    (void)state;
    start_conversation(request, &conversation, NULL);
    assert_json_equal(json_object_get(conversation.spec, "workspace"), expected);
}

static void initial_message_comes_back_normalised(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(secret_done) struct secret secrets = SECRET_INIT;
    const struct conversation_defaults defaults = {RUNTIME_DOCKER, NULL, NULL, false};
    json_auto_t *request = json_of(START(", 'initial_message': {'content': [{'text': 'hi'}]}"));
    json_auto_t *expected = json_of("[{'type': 'text', 'text': 'hi', 'cache_prompt': false}]");
    json_auto_t *content = NULL;
    json_auto_t *problems = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(conversation_from_request(request, &defaults, &conversation, &secrets,
                                               &content, &problems, &err),
                     0);
    assert_json_equal(content, expected);
    assert_int_equal(conversation.runtime_kind, RUNTIME_DOCKER);
}

static void the_browser_comes_where_there_is_one_and_it_is_wanted(void **state)
{
    static const struct {
        const char *container;
        bool is_there;
        bool is_given;
    } cases[] = {{"null", false, false},
                 {"null", true, true},
                 {"{'browser': true}", true, true},
                 {"{'browser': false}", true, false}};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        CLEANUP(secret_done) struct secret secrets = SECRET_INIT;
        const struct conversation_defaults defaults = {.has_browser = cases[i].is_there};
        json_auto_t *request = json_of("{'workspace': {'working_dir': '/w'},"
                                       " 'agent_settings': {'llm': {'model': 'm/m'}}}");
        json_auto_t *content = NULL;
        json_auto_t *problems = NULL;
        struct error err = ERROR_INIT;

        json_put(request, "container", json_of(cases[i].container));
        assert_int_equal(conversation_from_request(request, &defaults, &conversation, &secrets,
                                                   &content, &problems, &err),
                         0);
        assert_int_equal(tools_have_browser(&conversation), cases[i].is_given);
    }
}

/* A client imports every module that it is told: only names it knows may be in there. */
static void modules_are_the_creators_and_the_official_ones(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *request =
        json_of("{'workspace': {'working_dir': '/w'}, 'agent': {'llm': {},"
                " 'tools': [{'name': 'terminal'}, {'name': 'file_editor'}, {'name': 'glob'},"
                " {'name': 'read_file'}]},"
                " 'tool_module_qualnames': {'terminal': 'mine', 'other': 'theirs'}}");
    json_auto_t *expected = json_of("{'terminal': 'mine', 'other': 'theirs',"
                                    " 'file_editor': 'openhands.tools.file_editor.definition',"
                                    " 'glob': 'openhands.tools.glob.definition',"
                                    " 'read_file': 'openhands.tools.gemini.read_file.definition'}");

    (void)state;
    start_conversation(request, &conversation, NULL);
    assert_json_equal(json_object_get(conversation.spec, "tool_module_qualnames"), expected);
}

static void sizes_of_memory_are_taken_in_every_form(void **state)
{
    static const char *const sizes[] = {"512", "512m", "4g", "2GiB", "1.5 GB", "10b"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
        json_auto_t *request = json_of(START(", 'container': {}"));

        json_put_text(json_object_get(request, "container"), "memory", sizes[i]);
        start_conversation(request, &conversation, NULL);
        assert_string_equal(
            json_text_or(json_object_get(conversation.spec, "container"), "memory", ""), sizes[i]);
    }
}

/* A frame over 1 MiB would end the client's socket, again after every reconnect. */
static void huge_snapshot_leaves_members_out(void **state)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(strbuf_done) struct strbuf persona = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    json_auto_t *snapshot = NULL;
    json_t *value = NULL;

    (void)state;
    start_default(&conversation);
    for (int i = 0; i < EVENT_MAX_BYTES; i++)
        strbuf_append_char(&persona, 'x');
    json_put_text(conversation_agent(&conversation), "system_prompt", persona.text);
    conversation_append_snapshot(&conversation, 1, &text);
    assert_true(text.len < EVENT_MAX_BYTES);
    snapshot = json_loads(text.text, 0, NULL);
    value = json_object_get(snapshot, "value");
    assert_null(json_object_get(value, "agent"));
    assert_string_equal(json_text_or(value, "execution_status", ""), "idle");
    assert_non_null(json_object_get(value, "stats"));
}

int start_request_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_requests_are_refused_with_the_place),
        cmocka_unit_test(relative_working_dir_is_below_the_workspace),
        cmocka_unit_test(what_is_kept_as_written_may_be_all_that_the_contract_says),
        cmocka_unit_test(request_without_an_agent_is_refused),
        cmocka_unit_test(request_that_is_no_object_is_refused),
        cmocka_unit_test(given_id_is_taken_and_runtime_decides_the_sandbox),
        cmocka_unit_test(silent_request_gets_the_defaults),
        cmocka_unit_test(form_of_the_other_client_is_understood),
        cmocka_unit_test(initial_message_comes_back_normalised),
        cmocka_unit_test(the_browser_comes_where_there_is_one_and_it_is_wanted),
        cmocka_unit_test(sizes_of_memory_are_taken_in_every_form),
        cmocka_unit_test(huge_snapshot_leaves_members_out),
        cmocka_unit_test(modules_are_the_creators_and_the_official_ones),
    };

    return cmocka_run_group_tests_name("model/start_request", tests, NULL, NULL);
}
