#include <string.h>

#include "base/crypto.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "model/agent/agent_profile.h"
#include "model/agent/agent_settings.h"
#include "model/agent/settings_schema.h"
#include "model/conversation/conversation.h"
#include "model/schema/validation_error.h"
#include "model/secrets/secret_registry.h"
#include "model/secrets/secret_walk.h"
#include "unit/model/model_test.h"

static const struct json_path place = {NULL, "settings", 0};
static const struct conversation_defaults defaults = {.model = "scripted/hello"};

static json_t *settings_of(const char *text, size_t n_problems)
{
    json_auto_t *input = json_of(text);
    json_auto_t *problems = json_array();
    json_t *settings = agent_settings_read(input, &defaults, &place, problems);

    assert_int_equal(json_array_size(problems), n_problems);
    return settings;
}

/* Reading the result again gives the same: nothing is lost when settings are stored. */
static void settings_are_read_as_they_were_written(void **state)
{
    json_auto_t *first = settings_of("{'llm': {'model': 'm'}, 'tools': [{'name': 'terminal'}],"
                                     " 'mcp_config': {'a': {'url': 'http://x'}}}",
                                     0);
    json_auto_t *problems = json_array();
    json_auto_t *again = agent_settings_read(first, &defaults, &place, problems);

    (void)state;
    assert_int_equal(json_array_size(problems), 0);
    assert_json_equal(again, first);
}

static void settings_of_another_program_have_no_model(void **state)
{
    json_auto_t *settings = settings_of("{'agent_kind': 'acp', 'llm': {'model': 'm'}}", 0);

    (void)state;
    assert_true(agent_settings_are_acp(settings));
    assert_null(json_object_get(settings, "llm"));
    assert_string_equal(json_text_or(settings, "acp_server", ""), "claude-code");
}

/* One problem each, at this place and of this type. */
static void what_cannot_be_is_a_problem_each(void **state)
{
    static const struct {
        const char *settings;
        const char *path;
        const char *type;
    } cases[] = {
        {"{'condenser': {'max_size': 19}}", "settings.condenser.max_size", "greater_than_equal"},
        {"{'condenser': {'minimum_progress': 0}}", "settings.condenser.minimum_progress",
         "greater_than"},
        {"{'condenser': {'hard_context_reset_context_scaling': 0}}",
         "settings.condenser.hard_context_reset_context_scaling", "greater_than"},
        {"{'condenser': {'condenser_kind': 'magic'}}", "settings.condenser.condenser_kind",
         "literal_error"},
        {"{'verification': {'critic_threshold': 1.5}}", "settings.verification.critic_threshold",
         "less_than_equal"},
        {"{'tool_concurrency_limit': 0}", "settings.tool_concurrency_limit", "greater_than_equal"},
        {"{'mcp_config': {'a': {}}}", "settings.mcp_config.a", "value_error"},
        {"{'mcp_config': {'a': {'url': ''}}}", "settings.mcp_config.a", "value_error"},
        {"{'mcp_config': {'a': {'command': ''}}}", "settings.mcp_config.a", "value_error"},
        {"{'mcp_config': {'a': {'url': 'u', 'command': ''}}}", "settings.mcp_config.a",
         "value_error"},
        {"{'mcp_config': {'a': 'b'}}", "settings.mcp_config.a", "model_attributes_type"},
        {"{'mcp_config': {'mcpServers': {'a': {}}}}", "settings.mcp_config.a", "value_error"},
        {"{'llm': {'num_retries': 'many'}}", "settings.llm.num_retries", "int_parsing"},
        {"{'meta_profile_llms': {'x': {'timeout': []}}}", "settings.meta_profile_llms.x.timeout",
         "int_type"},
        {"{'agent_kind': 'other'}", "settings.agent_kind", "literal_error"},
        {"{'llm': 5}", "settings.llm", "dict_type"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].settings);
        json_auto_t *problems = json_array();
        json_auto_t *settings = agent_settings_read(input, &defaults, &place, problems);

        assert_non_null(settings);
        if (json_array_size(problems) != 1)
            fail_msg("%s: %s", cases[i].settings, json_dumps(problems, 0));
        assert_string_equal(problem_at(problems, cases[i].path), cases[i].type);
    }
}

static void limits_of_sections_are_allowed(void **state)
{
    json_auto_t *settings = settings_of("{'condenser': {'max_size': 20, 'minimum_progress': 0.01,"
                                        " 'hard_context_reset_context_scaling': 0.01},"
                                        " 'verification': {'critic_threshold': 1}}",
                                        0);

    (void)state;
    assert_int_equal(json_int_or(json_object_get(settings, "condenser"), "max_size", 0), 20);
}

static void ranges_are_told(void **state)
{
    static const struct {
        const char *settings;
        const char *problem;
    } cases[] = {
        {"{'condenser': {'max_size': 19}}",
         "{'type': 'greater_than_equal', 'loc': ['settings', 'condenser', 'max_size'],"
         " 'msg': 'Input should be greater than or equal to 20', 'input': 19,"
         " 'ctx': {'ge': 20.0}}"},
        {"{'condenser': {'minimum_progress': 0}}",
         "{'type': 'greater_than', 'loc': ['settings', 'condenser', 'minimum_progress'],"
         " 'msg': 'Input should be greater than 0', 'input': 0, 'ctx': {'gt': 0}}"},
        {"{'verification': {'critic_threshold': 2}}",
         "{'type': 'less_than_equal', 'loc': ['settings', 'verification', 'critic_threshold'],"
         " 'msg': 'Input should be less than or equal to 1', 'input': 2, 'ctx': {'le': 1.0}}"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].settings);
        json_auto_t *problems = json_array();
        json_auto_t *settings = agent_settings_read(input, &defaults, &place, problems);

        assert_non_null(settings);
        assert_json_is(json_array_get(problems, 0), cases[i].problem);
    }
}

static void sections_that_are_null_or_missing_get_their_defaults(void **state)
{
    json_auto_t *missing = settings_of("{}", 0);
    json_auto_t *older = settings_of("{'schema_version': 1}", 0);
    json_auto_t *null = settings_of("{'agent_context': null, 'condenser': null, 'llm': null,"
                                    " 'mcp_config': null, 'verification': null}",
                                    0);

    (void)state;
    assert_json_equal(null, missing);
    assert_json_equal(older, missing);
    assert_int_equal(json_int_or(missing, "schema_version", 0), 9);
    assert_string_equal(json_text_or(json_object_get(missing, "llm"), "model", ""),
                        "scripted/hello");
    assert_int_equal(json_int_or(json_object_get(missing, "condenser"), "max_size", 0), 240);
    assert_json_is(json_object_get(missing, "mcp_config"), "{}");
    assert_json_is(json_object_get(json_object_get(missing, "agent_context"), "skills"), "[]");
    assert_json_is(json_object_get(json_object_get(missing, "verification"), "critic_enabled"),
                   "false");
}

static void servers_keep_only_what_was_given(void **state)
{
    json_auto_t *settings =
        settings_of("{'mcp_config': {'mcpServers': {'a': {'url': 'http://x', 'cwd': null},"
                    " 'b': {'command': 'c', 'args': ['d'], 'enabled': false}}}}",
                    0);

    (void)state;
    assert_json_is(json_object_get(settings, "mcp_config"),
                   "{'a': {'url': 'http://x', 'enabled': true},"
                   " 'b': {'command': 'c', 'args': ['d'], 'enabled': false}}");
}

static void models_of_a_meta_profile_are_read(void **state)
{
    json_auto_t *settings = settings_of("{'meta_profile_llms': {'x': {}}}", 0);
    const json_t *llm = json_object_get(json_object_get(settings, "meta_profile_llms"), "x");

    (void)state;
    assert_string_equal(json_text_or(llm, "model", ""), "scripted/hello");
}

static void settings_of_conversations_are_checked(void **state)
{
    static const struct {
        const char *settings;
        const char *path; /* of a problem; NULL: none */
        const char *type;
    } cases[] = {
        {"{}", NULL, NULL},
        {"{'container_cpus': 0.5, 'worktree_base': 'ref', 'worktree_base_ref': 'v1'}", NULL, NULL},
        {"{'container_cpus': 0}", "settings.container_cpus", "greater_than"},
        {"{'worktree_base': 'ref'}", "settings.worktree_base_ref", "value_error"},
        {"{'worktree_base': 'ref', 'worktree_base_ref': ' '}", "settings.worktree_base_ref",
         "value_error"},
        {"{'worktree_base': 'head', 'worktree_base_ref': ' '}", NULL, NULL},
        {"{'max_iterations': 0}", "settings.max_iterations", "greater_than_equal"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].settings);
        json_auto_t *problems = json_array();
        json_auto_t *settings = conversation_settings_read(input, &place, problems);

        assert_non_null(settings);
        if (cases[i].path == NULL)
            assert_json_is(problems, "[]");
        else
            assert_string_equal(problem_at(problems, cases[i].path), cases[i].type);
    }
}

static void merge_goes_into_maps_and_replaces_lists(void **state)
{
    json_auto_t *base = json_of("{'a': {'b': 1, 'c': 2}, 'list': [1, 2], 'text': 'x'}");
    json_auto_t *change =
        json_of("{'a': {'b': null, 'd': {'e': null, 'f': 3}}, 'list': [3], 'text': null}");
    json_auto_t *expected = json_of("{'a': {'c': 2, 'd': {'f': 3}}, 'list': [3]}");

    (void)state;
    settings_merge(base, change);
    assert_json_equal(base, expected);
}

static void secrets_leave_and_return(void **state)
{
    json_auto_t *settings =
        settings_of("{'llm': {'model': 'm', 'api_key': 'hush-1', 'extra_headers': {'A': 'hush-2'}},"
                    " 'mcp_config': {'s': {'command': 'c', 'env': {'B': 'hush-3'},"
                    "  'auth': {'strategy': 'bearer', 'value': 'hush-4'}}},"
                    " 'verification': {'critic_api_key': 'hush-5'},"
                    " 'agent_context': {'secrets': {'C': 'hush-6', 'D': {'kind': 'StaticSecret',"
                    "  'value': 'hush-7'}}}}",
                    0);
    json_auto_t *clear = json_deep_copy(settings);
    json_auto_t *members = json_object();
    CLEANUP(mem_freep) char *shown = NULL;

    (void)state;
    secrets_take(&settings_secrets, settings, members);
    shown = json_to_text(settings);
    assert_null(strstr(shown, "hush"));
    assert_int_equal(json_object_size(members), 7);
    secrets_restore(&settings_secrets, settings, members);
    assert_json_equal(settings, clear);
}

static void marker_without_a_secret_is_null(void **state)
{
    json_auto_t *llm = json_of("{'api_key': '**********', 'extra_headers': {'A': '**********'}}");

    (void)state;
    secrets_restore(&llm_secrets, llm, NULL);
    assert_true(json_is_null(json_object_get(llm, "api_key")));
    assert_string_equal(json_text_or(json_object_get(llm, "extra_headers"), "A", "?"), "");
}

static void sealed_secrets_open_and_foreign_ones_are_problems(void **state)
{
    static const char foreign[] = "{'api_key': 'gAAAAABforeign', 'aws_session_token': 'plain'}";
    unsigned char key[CRYPTO_KEY_BYTES];
    json_auto_t *llm = json_of("{'model': 'm', 'api_key': 'hush', 'aws_session_token': null}");
    json_auto_t *clear = json_deep_copy(llm);
    json_auto_t *other = json_of(foreign);
    json_auto_t *problems = json_array();

    (void)state;
    crypto_random(key, sizeof(key));
    secrets_seal(&llm_secrets, llm, key);
    assert_true(text_starts_with(json_text_or(llm, "api_key", ""), "gAAAA"));
    secrets_open(&llm_secrets, llm, key, problems);
    assert_int_equal(json_array_size(problems), 0);
    assert_json_equal(llm, clear);
    secrets_open(&llm_secrets, other, key, problems);
    assert_int_equal(json_array_size(problems), 1);
    assert_string_equal(json_text_or(other, "aws_session_token", ""), "plain");
}

static void profiles_are_read_whole_or_refused(void **state)
{
    json_auto_t *input = json_of("{'llm_profile_ref': 'fast', 'id':"
                                 " '00000000-0000-4000-8000-000000000000', 'revision': 3}");
    json_auto_t *strange = json_of("{'llm_profile_ref': '', 'unheard_of': true}");
    json_auto_t *problems = json_array();
    json_auto_t *profile = agent_profile_read(input, &place, problems);
    json_auto_t *refused = NULL;

    (void)state;
    assert_int_equal(json_array_size(problems), 0);
    assert_null(json_object_get(profile, "id"));
    assert_null(json_object_get(json_object_get(profile, "verification"), "critic_api_key"));
    assert_int_equal(json_int_or(json_object_get(profile, "condenser"), "max_size", 0), 240);
    refused = agent_profile_read(strange, &place, problems);
    assert_non_null(refused);
    assert_int_equal(json_array_size(problems), 2);
}

static const char *last_tool(const json_t *profile)
{
    const json_t *tools = json_object_get(profile, "tools");

    return json_text_or(json_array_get(tools, json_array_size(tools) - 1), "name", "none");
}

/* Agent Canvas shows the switch, and sends it back with the tools that it read. */
static void switches_of_a_profile_are_tools(void **state)
{
    static const struct {
        const char *input;
        const char *last_tool;
    } cases[] = {
        {"{'llm_profile_ref': 'fast', 'enable_sub_agents': true}", "task_tool_set"},
        {"{'llm_profile_ref': 'fast', 'enable_sub_agents': false}", "none"},
        {"{'llm_profile_ref': 'fast', 'enable_sub_agents': false,"
         " 'tools': [{'name': 'terminal'}, {'name': 'task_tool_set'}]}",
         "terminal"},
        {"{'llm_profile_ref': 'fast', 'enable_sub_agents': true, 'tools': []}", "task_tool_set"},
        {"{'agent_kind': 'acp', 'enable_sub_agents': true}", "none"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].input);
        json_auto_t *problems = json_array();
        json_auto_t *profile = agent_profile_read(input, &place, problems);

        assert_int_equal(json_array_size(problems), 0);
        assert_null(json_object_get(profile, "enable_sub_agents"));
        assert_string_equal(last_tool(profile), cases[i].last_tool);
    }
}

static void references_filter_by_name(void **state)
{
    json_auto_t *map = json_of("{'A': 1, 'B': 2}");
    json_auto_t *refs = json_of("['A', 'C']");
    json_auto_t *none = json_of("[]");

    (void)state;
    refs_filter(NULL, map);
    assert_int_equal(json_object_size(map), 2);
    refs_filter(refs, map);
    assert_int_equal(json_object_size(map), 1);
    refs_filter(none, map);
    assert_int_equal(json_object_size(map), 0);
}

static void stored_name_is_behind_a_relative_address_alone(void **state)
{
    static const char *const others[] = {
        "{'url': 'https://x.test/api/settings/secrets/A'}",
        "{'url': '/api/settings/secrets/'}",
        "{'url': '/api/settings/secrets/A/b'}",
        "{'url': '/api/settings/secrets/A?x=1'}",
        "{'url': '/api/settings'}",
        "{'value': '/api/settings/secrets/A'}",
        "{'url': '/x'}",
        "'/api/settings/secrets/A'",
    };
    json_auto_t *source = json_of("{'url': '/api/settings/secrets/A_1'}");

    (void)state;
    assert_string_equal(secret_source_stored_name(source), "A_1");
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        json_auto_t *other = json_of(others[i]);

        assert_null(secret_source_stored_name(other));
    }
}

/* Every member that a form shows can be set: its key leads into what reading gives. */
static void schema_shows_members_that_are_there(void **state)
{
    json_auto_t *schema = settings_schema_of_agent("m");
    json_auto_t *settings = settings_of("{}", 0);
    json_t *section = NULL;
    json_t *field = NULL;
    size_t i = 0;
    size_t j = 0;

    (void)state;
    json_array_foreach (json_object_get(schema, "sections"), i, section) {
        json_array_foreach (json_object_get(section, "fields"), j, field) {
            const char *key = json_text_or(field, "key", "");
            const char *dot = strchr(key, '.');
            CLEANUP(mem_freep) char *first =
                mem_dup_bytes(key, dot != NULL ? (size_t)(dot - key) : strlen(key));
            json_t *node = json_object_get(settings, first);

            if (text_starts_with(key, "acp_"))
                continue;
            assert_non_null(dot != NULL ? json_object_get(node, dot + 1) : node);
        }
    }
}

int settings_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read_as_they_were_written),
        cmocka_unit_test(settings_of_another_program_have_no_model),
        cmocka_unit_test(what_cannot_be_is_a_problem_each),
        cmocka_unit_test(limits_of_sections_are_allowed),
        cmocka_unit_test(ranges_are_told),
        cmocka_unit_test(sections_that_are_null_or_missing_get_their_defaults),
        cmocka_unit_test(servers_keep_only_what_was_given),
        cmocka_unit_test(models_of_a_meta_profile_are_read),
        cmocka_unit_test(settings_of_conversations_are_checked),
        cmocka_unit_test(merge_goes_into_maps_and_replaces_lists),
        cmocka_unit_test(secrets_leave_and_return),
        cmocka_unit_test(marker_without_a_secret_is_null),
        cmocka_unit_test(sealed_secrets_open_and_foreign_ones_are_problems),
        cmocka_unit_test(profiles_are_read_whole_or_refused),
        cmocka_unit_test(switches_of_a_profile_are_tools),
        cmocka_unit_test(references_filter_by_name),
        cmocka_unit_test(stored_name_is_behind_a_relative_address_alone),
        cmocka_unit_test(schema_shows_members_that_are_there),
    };

    return cmocka_run_group_tests_name("model/settings", tests, NULL, NULL);
}
