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

static void condenser_can_be_switched_off(void **state)
{
    json_auto_t *input = json_of("{'condenser': {'enabled': false}}");
    json_auto_t *problems = json_array();
    json_auto_t *agent = agent_spec_from_settings(input, &with_server, &body, problems);

    (void)state;
    assert_true(json_is_null(json_object_get(agent, "condenser")));
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
        cmocka_unit_test(settings_make_a_whole_agent),
        cmocka_unit_test(condenser_can_be_switched_off),
    };

    return cmocka_run_group_tests_name("model/agent_spec", tests, NULL, NULL);
}
