#include "model/tools/mcp_config.h"

#include "base/json.h"
#include "model/conversation/conversation.h"
#include "unit/model/model_test.h"

static void servers_in_use_are_enabled_and_have_an_address(void **state)
{
    json_auto_t *spec =
        json_of("{'agent': {'mcp_config': {'a': {'url': 'http://a'}, 'b': {'command': 'b'},"
                " 'off': {'url': 'http://c', 'enabled': false}, 'none': {},"
                " 'empty': {'url': '', 'command': ''}, 'on': {'command': 'd', 'enabled': true}}}}");
    json_auto_t *bare = json_of("{'agent': {}}");
    json_auto_t *servers = mcp_servers_of(spec);
    json_auto_t *none = mcp_servers_of(bare);

    (void)state;
    assert_json_is(servers, "{'a': {'url': 'http://a'}, 'b': {'command': 'b'},"
                            " 'on': {'command': 'd', 'enabled': true}}");
    assert_json_is(none, "{}");
}

static void only_the_first_servers_are_used(void **state)
{
    json_auto_t *spec = json_of("{'agent': {'mcp_config': {}}}");
    json_t *config = json_object_get(json_object_get(spec, "agent"), "mcp_config");
    json_auto_t *servers = NULL;

    (void)state;
    for (char name[] = "a"; name[0] <= 'z'; name[0]++)
        json_put(config, name, json_of("{'command': 'x'}"));
    servers = mcp_servers_of(spec);
    assert_int_equal(json_object_size(servers), MCP_SERVERS_MAX);
    assert_non_null(json_object_get(servers, "p"));
    assert_null(json_object_get(servers, "q"));
}

static void a_transport_is_named_or_follows_from_the_address(void **state)
{
    static const struct {
        const char *server;
        enum mcp_transport transport;
    } cases[] = {
        {"{'command': 'x'}", MCP_STDIO},
        {"{'command': 'x', 'url': ''}", MCP_STDIO},
        {"{'command': 'x', 'url': 'http://a', 'transport': 'stdio'}", MCP_STDIO},
        {"{'url': 'http://a/mcp'}", MCP_STREAMABLE_HTTP},
        {"{'url': 'http://a/sse'}", MCP_SSE},
        {"{'url': 'http://a/sse/x'}", MCP_SSE},
        {"{'url': 'http://a/sse', 'transport': 'http'}", MCP_STREAMABLE_HTTP},
        {"{'url': 'http://a/x', 'transport': 'sse'}", MCP_SSE},
        {"{'url': 'http://a/x', 'type': 'sse'}", MCP_SSE},
        {"{'url': 'http://a/x', 'type': 'shttp'}", MCP_STREAMABLE_HTTP},
        {"{'url': 'http://a/x', 'transport': null}", MCP_STREAMABLE_HTTP},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *server = json_of(cases[i].server);

        if (mcp_server_transport(server) != cases[i].transport)
            fail_msg("%s", cases[i].server);
    }
}

static void a_call_takes_what_the_server_is_given(void **state)
{
    static const struct {
        const char *server;
        int64_t ms;
    } cases[] = {
        {"{}", 300000},
        {"{'timeout': 5}", 5000},
        {"{'timeout': 1}", 1000},
        {"{'timeout': 1.5}", 1500},
        {"{'timeout': 3600}", 3600000},
        {"{'timeout': 0}", 300000},
        {"{'timeout': 0.9}", 300000},
        {"{'timeout': -1}", 300000},
        {"{'timeout': 3601}", 300000},
        {"{'timeout': 'x'}", 300000},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        json_auto_t *server = json_of(cases[i].server);

        if (mcp_server_call_ms(server) != cases[i].ms)
            fail_msg("%s: %lld", cases[i].server, (long long)mcp_server_call_ms(server));
    }
}

static void a_program_needs_the_sandbox(void **state)
{
    struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *program =
        json_of("{'agent': {'mcp_config': {'a': {'url': 'http://a'}, 'b': {'command': 'b'}}}}");
    json_auto_t *remote = json_of("{'agent': {'mcp_config': {'a': {'url': 'http://a'}, 'b': "
                                  "{'command': 'b', 'enabled': false}}}}");

    (void)state;
    conversation.spec = program;
    assert_true(mcp_servers_need_sandbox(&conversation));
    conversation.spec = remote;
    assert_false(mcp_servers_need_sandbox(&conversation));
}

static void an_order_has_the_program_and_the_messages(void **state)
{
    json_auto_t *server =
        json_of("{'command': 'c', 'args': ['a'], 'env': {'N': 'v'}, 'cwd': '/d', 'url': null}");
    json_auto_t *messages = json_of("[{'id': 1}]");
    json_auto_t *order = mcp_server_order(server, messages, 1500);

    (void)state;
    assert_json_is(order, "{'command': 'c', 'args': ['a'], 'env': {'N': 'v'}, 'cwd': '/d',"
                          " 'timeout_ms': 1500, 'messages': [{'id': 1}]}");
}

static void a_program_is_what_starts_it(void **state)
{
    json_auto_t *server = json_of("{'command': 'c', 'args': ['a'], 'env': {'N': 'v'}, 'cwd': '/d',"
                                  " 'timeout': 3, 'enabled': true}");
    json_auto_t *program = mcp_server_program(server);

    (void)state;
    assert_json_is(program, "{'command': 'c', 'args': ['a'], 'env': {'N': 'v'}, 'cwd': '/d'}");
}

static void calls_over_the_older_transport_are_sequential(void **state)
{
    json_auto_t *spec =
        json_of("{'agent': {'mcp_config': {'a': {'url': 'http://a/sse'}, 'b': {'command': 'b'},"
                " 'c': {'url': 'http://a/mcp'}}}}");

    (void)state;
    assert_true(mcp_server_is_sequential(spec, "a"));
    assert_false(mcp_server_is_sequential(spec, "b"));
    assert_false(mcp_server_is_sequential(spec, "c"));
    assert_false(mcp_server_is_sequential(spec, "d"));
}

int mcp_config_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_in_use_are_enabled_and_have_an_address),
        cmocka_unit_test(only_the_first_servers_are_used),
        cmocka_unit_test(a_transport_is_named_or_follows_from_the_address),
        cmocka_unit_test(a_call_takes_what_the_server_is_given),
        cmocka_unit_test(a_program_needs_the_sandbox),
        cmocka_unit_test(an_order_has_the_program_and_the_messages),
        cmocka_unit_test(a_program_is_what_starts_it),
        cmocka_unit_test(calls_over_the_older_transport_are_sequential),
    };

    return cmocka_run_group_tests_name("model/mcp_config", tests, NULL, NULL);
}
