#include <string.h>

#include "base/json.h"
#include "model/agent/agent_spec.h"
#include "model/agent/llm_spec.h"
#include "model/conversation/conversation.h"
#include "model/schema/validation_error.h"
#include "unit/model/model_test.h"

static const struct json_path body = {NULL, "agent", 0};
static const struct conversation_defaults with_server = {RUNTIME_LOCAL, "openai/house",
                                                         "http://house.test/v1", false};

static json_t *llm_of(const char *text)
{
    json_auto_t *input = json_of(text);
    json_auto_t *problems = json_array();
    json_t *llm = llm_spec_read(input, &with_server, &body, problems);

    assert_int_equal(json_array_size(problems), 0);
    return llm;
}

/* The server's endpoint must never see a user's key, nor a user's endpoint the server's. */
static void servers_endpoint_goes_with_its_model_alone(void **state)
{
    json_auto_t *silent = llm_of("{}");
    json_auto_t *same = llm_of("{'model': 'openai/house'}");
    json_auto_t *other = llm_of("{'model': 'openai/other'}");
    json_auto_t *own_key = llm_of("{'model': 'openai/house', 'api_key': 'k'}");
    json_auto_t *own_url = llm_of("{'base_url': 'http://mine.test'}");

    (void)state;
    assert_string_equal(json_text_or(silent, "model", ""), "openai/house");
    assert_string_equal(json_text_or(silent, "base_url", ""), "http://house.test/v1");
    assert_string_equal(json_text_or(same, "base_url", ""), "http://house.test/v1");
    assert_true(json_is_null(json_object_get(other, "base_url")));
    assert_true(json_is_null(json_object_get(own_key, "base_url")));
    assert_string_equal(json_text_or(own_url, "base_url", ""), "http://mine.test");
}

static void idle_timeout_follows_the_timeout(void **state)
{
    json_auto_t *silent = llm_of("{}");
    json_auto_t *given = llm_of("{'timeout': 20}");
    json_auto_t *both = llm_of("{'timeout': 20, 'stream_idle_timeout': null}");

    (void)state;
    assert_int_equal(json_int_or(silent, "stream_idle_timeout", 0), 300);
    assert_int_equal(json_int_or(given, "stream_idle_timeout", 0), 20);
    assert_true(json_is_null(json_object_get(both, "stream_idle_timeout")));
}

static void old_names_and_retired_members_are_understood(void **state)
{
    json_auto_t *llm = llm_of("{'service_id': 's', 'modify_params': true}");

    (void)state;
    assert_string_equal(json_text_or(llm, "usage_id", ""), "s");
    assert_null(json_object_get(llm, "modify_params"));
}

static json_t *agent_of(const char *text)
{
    json_auto_t *input = json_of(text);
    json_auto_t *problems = json_array();
    json_t *agent = agent_spec_read(input, &with_server, &body, problems);

    assert_int_equal(json_array_size(problems), 0);
    return agent;
}

static void wrapped_servers_are_unwrapped(void **state)
{
    json_auto_t *agent = agent_of("{'llm': {}, 'mcp_config': {'mcpServers': {'a': {'url': 'u'}}}}");
    json_auto_t *expected = json_of("{'a': {'url': 'u', 'enabled': true}}");

    (void)state;
    assert_json_equal(json_object_get(agent, "mcp_config"), expected);
}

static void prompt_arguments_lose_what_is_retired(void **state)
{
    json_auto_t *agent = agent_of(
        "{'llm': {}, 'system_prompt_kwargs': {'enable_browser': true, 'cli_mode': false}}");
    json_auto_t *expected = json_of("{'cli_mode': false, 'llm_security_analyzer': true}");

    (void)state;
    assert_json_equal(json_object_get(agent, "system_prompt_kwargs"), expected);
}

static void condenser_gets_its_defaults_and_foreign_ones_stay(void **state)
{
    json_auto_t *known =
        agent_of("{'llm': {}, 'condenser': {'kind': 'LLMSummarizingCondenser', 'llm': {}}}");
    json_auto_t *foreign = agent_of("{'llm': {}, 'condenser': {'kind': 'NoOpCondenser'}}");
    json_auto_t *none = json_of("{'kind': 'NoOpCondenser'}");

    (void)state;
    assert_int_equal(json_int_or(json_object_get(known, "condenser"), "max_size", 0), 240);
    assert_json_equal(json_object_get(foreign, "condenser"), none);
}

static void settings_make_a_whole_agent(void **state)
{
    json_auto_t *input = json_of("{'llm': {}, 'persona': 'P', 'mcp_config': null}");
    json_auto_t *problems = json_array();
    json_auto_t *agent = agent_spec_from_settings(input, &with_server, &body, problems);
    json_auto_t *whole = agent_of("{'llm': {}, 'condenser': {'kind': 'LLMSummarizingCondenser',"
                                  " 'llm': {}}, 'persona': 'x', 'tools': [{'name': 'terminal'}]}");

    (void)state;
    assert_int_equal(json_array_size(problems), 0);
    assert_same_schema(agent, whole, "agent");
    assert_int_equal(json_array_size(json_object_get(agent, "tools")), 3);
    assert_string_equal(json_text_or(json_object_get(agent, "llm"), "usage_id", ""), "agent");
}

static void parts_of_a_pipeline_get_their_defaults(void **state)
{
    json_auto_t *agent =
        agent_of("{'llm': {}, 'condenser': {'kind': 'PipelineCondenser', 'condensers': ["
                 "{'kind': 'NoOpCondenser'}, {'kind': 'LLMSummarizingCondenser', 'llm': {}}]}}");
    json_t *parts = json_object_get(json_object_get(agent, "condenser"), "condensers");

    (void)state;
    assert_json_is(json_array_get(parts, 0), "{'kind': 'NoOpCondenser'}");
    assert_int_equal(json_int_or(json_array_get(parts, 1), "hard_context_reset_max_retries", 0), 5);
}

static void condenser_can_be_switched_off(void **state)
{
    json_auto_t *input = json_of("{'condenser': {'enabled': false}}");
    json_auto_t *problems = json_array();
    json_auto_t *agent = agent_spec_from_settings(input, &with_server, &body, problems);

    (void)state;
    assert_true(json_is_null(json_object_get(agent, "condenser")));
}

static void models_are_filled_in(void **state)
{
    static const struct conversation_defaults without_address = {RUNTIME_LOCAL, "openai/house",
                                                                 NULL, false};
    static const struct conversation_defaults without_model = {RUNTIME_LOCAL, NULL,
                                                               "http://house.test/v1", false};
    static const struct conversation_defaults of_bedrock = {RUNTIME_LOCAL, "bedrock/m",
                                                            "http://house.test", false};
    static const struct {
        const struct conversation_defaults *defaults;
        const char *llm;
        const char *model;
        const char *base_url; /* NULL: null */
    } cases[] = {
        {&of_bedrock, "{}", "bedrock/m", "http://house.test"},
        {&of_bedrock, "{'model': 'bedrock/m', 'aws_access_key_id': ' '}", "bedrock/m",
         "http://house.test"},
        {&of_bedrock, "{'model': 'bedrock/m', 'aws_access_key_id': 'a'}", "bedrock/m", NULL},
        {&with_server, "{'model': 'openai/house', 'aws_region_name': 'us-east-1'}", "openai/house",
         "http://house.test/v1"},
        {&without_address, "{}", "openai/house", NULL},
        {&without_model, "{}", "gpt-5.6", NULL},
        {&without_model, "{'model': 'm'}", "m", NULL},
        {&with_server, "{'model': 'openai/house', 'api_key': ' '}", "openai/house",
         "http://house.test/v1"},
        {&with_server, "{'model': 'openai/house', 'api_key': '**********'}", "openai/house",
         "http://house.test/v1"},
        {&with_server, "{'model': 'openai/house', 'base_url': 'http://mine.test'}", "openai/house",
         "http://mine.test"},
        {&with_server, "{'api_key': 'k'}", "openai/house", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].llm);
        json_auto_t *problems = json_array();
        json_auto_t *llm = llm_spec_read(input, cases[i].defaults, &body, problems);

        assert_string_equal(json_text_or(llm, "model", ""), cases[i].model);
        assert_string_equal(json_text_or(llm, "base_url", "none"),
                            cases[i].base_url != NULL ? cases[i].base_url : "none");
    }
}

static void keys_that_say_nothing_are_null(void **state)
{
    static const char *const members[] = {"api_key", "aws_access_key_id", "aws_secret_access_key",
                                          "aws_session_token"};
    static const char *const values[] = {"", " ", "**********"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(values); j++) {
            json_auto_t *input = json_object();
            json_auto_t *problems = json_array();
            json_auto_t *llm = NULL;

            json_put_text(input, members[i], values[j]);
            llm = llm_spec_read(input, &with_server, &body, problems);
            assert_true(json_is_null(json_object_get(llm, members[i])));
            json_put_text(input, members[i], "k");
            json_decref(llm);
            llm = llm_spec_read(input, &with_server, &body, problems);
            assert_string_equal(json_text_or(llm, members[i], ""), "k");
        }
    }
}

static void derived_members_of_a_model_are_filled_in(void **state)
{
    json_auto_t *own = llm_of("{'auth_type': 'api_key', 'usage_id': 'u', 'service_id': 's'}");
    json_auto_t *subscription = llm_of("{'auth_type': 'subscription', 'service_id': 5}");

    (void)state;
    assert_json_is(json_object_get(own, "is_subscription"), "false");
    assert_string_equal(json_text_or(own, "usage_id", ""), "u");
    assert_json_is(json_object_get(subscription, "is_subscription"), "true");
    assert_string_equal(json_text_or(subscription, "usage_id", ""), "default");
}

struct agent_problem {
    const char *agent;
    const char *path;
    const char *type;
};

#define SUMMARIZING(members)                                                                       \
    "{'llm': {}, 'condenser': {'kind': 'LLMSummarizingCondenser', 'llm': {}, " members "}}"
#define PIPELINE(part)                                                                             \
    "{'llm': {}, 'condenser': {'kind': 'PipelineCondenser', 'condensers': [" part "]}}"

static void wrong_agents_are_refused(void **state)
{
    static const struct agent_problem cases[] = {
        {"{'kind': 'ACPAgent', 'llm': {}}", "agent", "value_error"},
        {"{}", "agent.llm", "missing"},
        {"{'llm': {'timeout': 'x'}}", "agent.llm.timeout", "int_parsing"},
        {"{'llm': {}, 'condenser': {}}", "agent.condenser", "value_error"},
        {"{'llm': {}, 'condenser': {'kind': 'LLMSummarizingCondenser'}}", "agent.condenser.llm",
         "missing"},
        {"{'llm': {}, 'condenser': {'kind': 'LLMSummarizingCondenser', 'llm': {'stream': true}}}",
         "agent.condenser.llm", "value_error"},
        {SUMMARIZING("'max_tokens': 0"), "agent.condenser.max_tokens", "greater_than_equal"},
        {SUMMARIZING("'minimum_progress': 1"), "agent.condenser.minimum_progress", "less_than"},
        {SUMMARIZING("'hard_context_reset_context_scaling': 0"),
         "agent.condenser.hard_context_reset_context_scaling", "greater_than"},
        {SUMMARIZING("'hard_context_reset_max_retries': 0"),
         "agent.condenser.hard_context_reset_max_retries", "greater_than_equal"},
        {SUMMARIZING("'max_size': 20, 'keep_first': 9"), "agent.condenser", "value_error"},
        {"{'llm': {}, 'condenser': {'kind': 'Stranger'}}", "agent.condenser", "value_error"},
        {PIPELINE("{'kind': 'Stranger'}"), "agent.condenser.condensers.0", "value_error"},
        {PIPELINE("{'kind': 'PipelineCondenser', 'condensers': []}"),
         "agent.condenser.condensers.0", "value_error"},
        {"{'llm': {}, 'condenser': {'kind': 'PipelineCondenser'}}", "agent.condenser.condensers",
         "value_error"},
        {"{'llm': {}, 'mcp_config': {'a': 5}}", "agent.mcp_config.a", "dict_type"},
        {"{'llm': {}, 'mcp_config': {'mcpServers': {'a': 5}}}", "agent.mcp_config.a", "dict_type"},
        {"{'llm': {}, 'tools': [{}]}", "agent.tools.0.name", "missing"},
        {"{'llm': {}, 'persona': ''}", "agent.persona", "string_too_short"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *input = json_of(cases[i].agent);
        json_auto_t *problems = json_array();
        json_auto_t *agent = agent_spec_read(input, &with_server, &body, problems);

        assert_non_null(agent);
        if (json_array_size(problems) != 1)
            fail_msg("%s: %s", cases[i].agent, json_dumps(problems, 0));
        assert_string_equal(problem_at(problems, cases[i].path), cases[i].type);
    }
}

static void an_agent_gets_all_its_parts(void **state)
{
    json_auto_t *agent =
        agent_of("{'llm': {}, 'agent_context': {'current_datetime': 'now'},"
                 " 'mcp_config': {'a': {'url': 'u', 'enabled': false}},"
                 " 'condenser': {'kind': 'LLMSummarizingCondenser', 'llm': {'model': 'm'}}}");

    (void)state;
    assert_string_equal(json_text_or(agent, "kind", ""), "Agent");
    assert_string_equal(
        json_text_or(json_object_get(agent, "agent_context"), "current_datetime", ""), "now");
    assert_json_is(json_object_get(agent, "mcp_config"), "{'a': {'url': 'u', 'enabled': false}}");
    assert_string_equal(json_text_or(json_object_get(agent, "condenser"), "kind", ""),
                        "LLMSummarizingCondenser");
    assert_string_equal(
        json_text_or(json_object_get(json_object_get(agent, "condenser"), "llm"), "model", ""),
        "m");
    assert_json_is(
        json_object_get(json_object_get(json_object_get(agent, "condenser"), "llm"), "timeout"),
        "300");
}

/* A date in the form of the wire, only if there is a context. */
static void a_context_has_a_date(void **state)
{
    json_auto_t *without = agent_of("{'llm': {}}");
    json_auto_t *with = agent_of("{'llm': {}, 'agent_context': {}}");
    const char *date = json_text_or(json_object_get(with, "agent_context"), "current_datetime", "");

    (void)state;
    assert_true(json_is_null(json_object_get(without, "agent_context")));
    assert_int_equal(strlen(date), strlen("2026-01-01T00:00:00.000000Z"));
    assert_int_equal(date[4], '-');
    assert_int_equal(date[26], 'Z');
}

static void the_arguments_of_a_prompt_say_whether_risks_are_judged(void **state)
{
    json_auto_t *given = agent_of("{'llm': {}, 'system_prompt_kwargs':"
                                  " {'llm_security_analyzer': false}}");

    (void)state;
    assert_json_is(json_object_get(given, "system_prompt_kwargs"),
                   "{'llm_security_analyzer': false}");
}

static json_t *agent_of_settings(const char *text, bool has_browser, json_t *problems)
{
    const struct conversation_defaults defaults = {RUNTIME_LOCAL, "openai/house", NULL,
                                                   has_browser};
    json_auto_t *input = json_of(text);

    return agent_spec_from_settings(input, &defaults, &body, problems);
}

#define TOOL(name) "{'name': '" name "', 'params': {}}"
#define STANDARD TOOL("terminal") ", " TOOL("file_editor") ", " TOOL("task_tracker")

static void tools_of_settings_are_the_standard_ones_or_those_given(void **state)
{
    static const struct {
        const char *settings;
        bool has_browser;
        const char *tools;
    } cases[] = {
        {"{}", false, "[" STANDARD "]"},
        {"{}", true, "[" STANDARD ", " TOOL("browser_tool_set") "]"},
        {"{'tools': null}", true, "[" STANDARD ", " TOOL("browser_tool_set") "]"},
        {"{'tools': []}", true, "[]"},
        {"{'tools': [{'name': 'terminal'}]}", true, "[" TOOL("terminal") "]"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *problems = json_array();
        json_auto_t *agent = agent_of_settings(cases[i].settings, cases[i].has_browser, problems);

        assert_json_is(problems, "[]");
        assert_json_is(json_object_get(agent, "tools"), cases[i].tools);
    }
}

static void settings_move_into_the_agent(void **state)
{
    json_auto_t *problems = json_array();
    json_auto_t *agent =
        agent_of_settings("{'llm': {'model': 'm', 'stream': true, 'usage_id': 'x'},"
                          " 'mcp_config': {'a': {'url': 'u'}}, 'persona': 'p',"
                          " 'agent_context': {'current_datetime': 'now'},"
                          " 'tool_concurrency_limit': 3, 'condenser': {'max_size': 100,"
                          " 'max_tokens': 7, 'keep_first': 4, 'minimum_progress': 0.5,"
                          " 'hard_context_reset_max_retries': 6,"
                          " 'hard_context_reset_context_scaling': 0.25}}",
                          false, problems);
    json_t *condenser = json_object_get(agent, "condenser");
    json_t *llm = json_object_get(condenser, "llm");

    (void)state;
    assert_json_is(problems, "[]");
    assert_json_is(json_object_get(agent, "mcp_config"), "{'a': {'url': 'u', 'enabled': true}}");
    assert_json_is(json_object_get(agent, "persona"), "'p'");
    assert_json_is(json_object_get(agent, "tool_concurrency_limit"), "3");
    assert_json_is(json_object_get(json_object_get(agent, "agent_context"), "current_datetime"),
                   "'now'");
    assert_json_is(json_object_get(json_object_get(agent, "llm"), "usage_id"), "'agent'");
    assert_json_is(json_object_get(json_object_get(agent, "llm"), "stream"), "true");
    assert_json_is(json_object_get(llm, "usage_id"), "'condenser'");
    assert_json_is(json_object_get(llm, "stream"), "false");
    assert_json_is(json_object_get(llm, "model"), "'m'");
    assert_int_equal(json_object_del(condenser, "llm"), 0);
    assert_json_is(condenser,
                   "{'kind': 'LLMSummarizingCondenser', 'max_size': 100, 'max_tokens': 7,"
                   " 'keep_first': 4, 'minimum_progress': 0.5,"
                   " 'hard_context_reset_max_retries': 6,"
                   " 'hard_context_reset_context_scaling': 0.25}");
}

static void settings_without_a_context_give_none(void **state)
{
    json_auto_t *problems = json_array();
    json_auto_t *agent = agent_of_settings("{}", false, problems);

    (void)state;
    assert_true(json_is_null(json_object_get(agent, "agent_context")));
}

static void a_condenser_without_work_is_none(void **state)
{
    json_auto_t *problems = json_array();
    json_auto_t *agent =
        agent_of_settings("{'condenser': {'condenser_kind': 'no_op'}}", false, problems);

    (void)state;
    assert_true(json_is_null(json_object_get(agent, "condenser")));
}

static void settings_of_another_program_are_refused(void **state)
{
    json_auto_t *problems = json_array();
    json_auto_t *agent = agent_of_settings("{'agent_kind': 'acp'}", false, problems);

    (void)state;
    assert_json_is(agent, "{}");
    assert_int_equal(json_array_size(problems), 1);
    assert_string_equal(problem_at(problems, "agent"), "value_error");
}

static void fallbacks_are_a_list_of_names(void **state)
{
    static const char *const wrong[] = {"{}", "{'fallback_llms': 'x'}", "{'fallback_llms': [1]}",
                                        "'x'", "[]"};
    json_auto_t *input = json_of("{'fallback_strategy': {'fallback_llms': ['a', 'b']}}");
    json_auto_t *none = json_of("{'fallback_strategy': null}");
    json_auto_t *problems = json_array();
    json_auto_t *llm = llm_spec_read(input, &with_server, &body, problems);
    json_auto_t *without = llm_spec_read(none, &with_server, &body, problems);

    (void)state;
    assert_json_is(json_object_get(llm, "fallback_strategy"),
                   "{'fallback_llms': ['a', 'b'], 'profile_store_dir': null}");
    assert_null(json_object_get(without, "fallback_strategy"));
    assert_int_equal(json_array_size(problems), 0);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
        json_auto_t *bad = json_object();
        json_auto_t *read = NULL;

        json_put(bad, "fallback_strategy", json_of(wrong[i]));
        read = llm_spec_read(bad, &with_server, &body, problems);
        assert_int_equal(json_array_size(problems), i + 1);
    }
}

int agent_spec_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_endpoint_goes_with_its_model_alone),
        cmocka_unit_test(idle_timeout_follows_the_timeout),
        cmocka_unit_test(old_names_and_retired_members_are_understood),
        cmocka_unit_test(wrapped_servers_are_unwrapped),
        cmocka_unit_test(prompt_arguments_lose_what_is_retired),
        cmocka_unit_test(condenser_gets_its_defaults_and_foreign_ones_stay),
        cmocka_unit_test(parts_of_a_pipeline_get_their_defaults),
        cmocka_unit_test(settings_make_a_whole_agent),
        cmocka_unit_test(condenser_can_be_switched_off),
        cmocka_unit_test(models_are_filled_in),
        cmocka_unit_test(keys_that_say_nothing_are_null),
        cmocka_unit_test(derived_members_of_a_model_are_filled_in),
        cmocka_unit_test(wrong_agents_are_refused),
        cmocka_unit_test(an_agent_gets_all_its_parts),
        cmocka_unit_test(a_context_has_a_date),
        cmocka_unit_test(the_arguments_of_a_prompt_say_whether_risks_are_judged),
        cmocka_unit_test(tools_of_settings_are_the_standard_ones_or_those_given),
        cmocka_unit_test(settings_move_into_the_agent),
        cmocka_unit_test(settings_without_a_context_give_none),
        cmocka_unit_test(a_condenser_without_work_is_none),
        cmocka_unit_test(settings_of_another_program_are_refused),
        cmocka_unit_test(fallbacks_are_a_list_of_names),
    };

    return cmocka_run_group_tests_name("model/agent_spec", tests, NULL, NULL);
}
